package cli

import (
	"fmt"
	"strings"
)

// exitMeanings is what the help text and the man page say of exit codes, in
// order. Every code of the table exits is among them.
var exitMeanings = []struct {
	code int
	text string
}{
	{0, "done"},
	{1, "unsupported scheme"},
	{2, "bad usage"},
	{3, "malformed URL"},
	{5, "proxy not resolved"},
	{6, "host not resolved"},
	{7, "no connection"},
	{8, "a reply that makes no sense"},
	{9, "access denied (CWD refused)"},
	{13, "unusable answer to EPSV or PASV"},
	{17, "TYPE refused"},
	{18, "transfer incomplete"},
	{19, "refused for another cause"},
	{23, "local write error, or file exists"},
	{26, "netrc file cannot be used"},
	{28, "timed out"},
	{30, "active mode refused"},
	{35, "TLS handshake failed"},
	{36, "cannot resume"},
	{56, "connection lost"},
	{60, "certificate not trusted"},
	{64, "TLS wanted and not to be had"},
	{67, "login refused, or no password"},
	{78, "no such file"},
	{97, "proxy opens no connection"},
	{100, "digest mismatch, or none found"},
	{129, "ended by SIGHUP"},
	{130, "interrupted (SIGINT)"},
	{141, "standard output was closed"},
	{143, "ended by SIGTERM"},
}

// exitColumns sets the exit codes in two columns, to be read downwards.
func exitColumns() string {
	var b strings.Builder
	half := (len(exitMeanings) + 1) / 2
	for i, left := range exitMeanings[:half] {
		line := fmt.Sprintf("  %3d  %-33s", left.code, left.text)
		if i+half < len(exitMeanings) {
			right := exitMeanings[i+half]
			line += fmt.Sprintf("  %3d  %s", right.code, right.text)
		}
		b.WriteString(strings.TrimRight(line, " ") + "\n")
	}
	return b.String()
}

package cli

import (
	"fmt"
	"strings"
)

// exitMeanings describes the exit codes for the help text and the man page, in
// order. It includes every code in exits.
var exitMeanings = []struct {
	code int
	text string
}{
	{0, "done"},
	{1, "unsupported scheme"},
	{2, "bad usage"},
	{3, "malformed URL, or line of a list"},
	{5, "proxy not resolved"},
	{6, "host not resolved"},
	{7, "no connection to the host or proxy"},
	{8, "a reply that makes no sense, or a failure not listed here"},
	{9, "access denied, or no such directory (CWD refused)"},
	{13, "unusable answer to EPSV or PASV"},
	{17, "TYPE refused"},
	{18, "transfer incomplete"},
	{19, "refused for a reason other than absence"},
	{23, "local error: a file exists or fails, or too many are open"},
	{26, "netrc file cannot be used"},
	{28, "timed out: --connect-timeout, --timeout, --max-time or --speed-limit"},
	{30, "active mode refused"},
	{35, "TLS handshake failed"},
	{36, "cannot resume as -c asks for"},
	{56, "connection lost"},
	{60, "certificate not trusted"},
	{64, "TLS required but not offered"},
	{67, "login refused, or no password"},
	{78, "no such file, or none that matches"},
	{97, "the proxy refuses to connect to the host"},
	{100, "digest mismatch, or none found to verify against"},
	{129, "ended by SIGHUP"},
	{130, "interrupted (SIGINT)"},
	{141, "standard output was closed by its reader"},
	{143, "ended by SIGTERM"},
}

// exitLines lists the exit codes, one per line.
func exitLines() string {
	var b strings.Builder
	for _, e := range exitMeanings {
		fmt.Fprintf(&b, "  %3d  %s\n", e.code, e.text)
	}
	return b.String()
}

package cli

import (
	"strings"

	"example.com/ftpfetch/internal/printable"
)

// oneLine shortens and escapes text that may come from a server, for use within
// a line of output. Line ends become " / ".
func oneLine(s string) string {
	const most = 1000
	s = strings.ReplaceAll(strings.TrimRight(s, "\r\n"), "\r\n", "\n")
	s = strings.ReplaceAll(s, "\n", " / ")
	if len(s) > most {
		s = strings.ToValidUTF8(s[:most], "") + "..."
	}
	return printable.Line(s)
}

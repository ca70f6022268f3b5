package cli

import (
	"os"

	"golang.org/x/term"
)

// readHidden reads a line from the console without echo; io.EOF means that the
// end was typed in its place (Ctrl-Z).
func readHidden(console *os.File) (string, error) {
	line, err := term.ReadPassword(int(console.Fd()))
	return string(line), err
}

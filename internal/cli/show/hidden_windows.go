package show

import (
	"os"

	"golang.org/x/term"
)

// readHidden reads a line from the console without echo. It returns io.EOF if
// the user types Ctrl-Z instead.
func readHidden(console *os.File, _ func()) (string, error) {
	line, err := term.ReadPassword(int(console.Fd()))
	return string(line), err
}

//go:build unix

package cli

import (
	"os"

	"golang.org/x/sys/unix"
)

// readHidden reads a line from the terminal without echo. It returns io.EOF if
// the user types Ctrl-D instead, which term.ReadPassword ignores.
func readHidden(terminal *os.File) (string, error) {
	fd := int(terminal.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return "", err
	}
	hidden := *before
	hidden.Lflag &^= unix.ECHO
	hidden.Lflag |= unix.ICANON | unix.ISIG
	hidden.Iflag |= unix.ICRNL
	if err := unix.IoctlSetTermios(fd, setTermios, &hidden); err != nil {
		return "", err
	}
	defer func() { _ = unix.IoctlSetTermios(fd, setTermios, before) }()
	return readLine(terminal)
}

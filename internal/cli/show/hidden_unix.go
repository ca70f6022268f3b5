//go:build unix

package show

import (
	"os"

	"golang.org/x/sys/unix"
)

// readHidden reads a line from the terminal without echo. It returns io.EOF if
// the user types Ctrl-D instead, which term.ReadPassword ignores. While the process
// is stopped (Ctrl-Z) the echo is on, as the shell needs it; then readHidden asks
// again.
func readHidden(terminal *os.File, ask func()) (string, error) {
	fd := int(terminal.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return "", err
	}
	hidden := *before
	hidden.Lflag &^= unix.ECHO
	hidden.Lflag |= unix.ICANON | unix.ISIG
	hidden.Iflag |= unix.ICRNL
	remove := aroundStops(func() { _ = unix.IoctlSetTermios(fd, setTermios, before) }, func() {
		_ = unix.IoctlSetTermios(fd, setTermios, &hidden) // in the background this stops the process again
		ask()
	})
	defer func() {
		remove()
		_ = unix.IoctlSetTermios(fd, setTermios, before)
	}()
	if err := unix.IoctlSetTermios(fd, setTermios, &hidden); err != nil {
		return "", err
	}
	return ReadLine(terminal)
}

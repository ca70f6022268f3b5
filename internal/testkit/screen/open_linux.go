package screen

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// Open opens a pseudo-terminal. Writing to keyboard types; reading from it returns what is written to the terminal.
func Open(width, height int) (keyboard, terminal *os.File, err error) {
	keyboard, err = os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		return nil, nil, err
	}
	fd := int(keyboard.Fd())
	size := unix.Winsize{Row: uint16(height), Col: uint16(width)}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	err = errors.Join(err,
		unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0),
		unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &size))
	if err == nil {
		terminal, err = os.OpenFile(fmt.Sprint("/dev/pts/", n), os.O_RDWR|unix.O_NOCTTY, 0)
	}
	if err != nil {
		keyboard.Close()
		return nil, nil, err
	}
	return keyboard, terminal, nil
}

//go:build unix

package show

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// consoleIn and consoleOut are the device names of the controlling terminal.
const consoleIn, consoleOut = "/dev/tty", "/dev/tty"

// movesCursor reports whether a terminal of this type understands the sequences that move the cursor.
func movesCursor(_ *os.File, kind string) bool { return kind != "" && kind != "dumb" }

// readSecret reads a line without echo. It does not use [term.ReadPassword], which does not return at the end of the
// input (^D).
func readSecret(in *os.File) (string, error) {
	fd := int(in.Fd())
	before, err := unix.IoctlGetTermios(fd, getTermios)
	if err != nil {
		return "", err
	}
	silent := *before
	silent.Lflag = silent.Lflag&^unix.ECHO | unix.ICANON | unix.ISIG
	silent.Iflag |= unix.ICRNL
	if err := unix.IoctlSetTermios(fd, setTermios, &silent); err != nil {
		return "", err
	}
	defer func() { _ = unix.IoctlSetTermios(fd, setTermios, before) }()
	return ReadLine(in)
}

// inBackground reports whether out is the controlling terminal and another job is in its foreground.
func inBackground(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	group, err := 0, error(unix.ENOTTY)
	ask(f, func(fd int) { group, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP) })
	own, _ := unix.Getpgid(0)
	return err == nil && group != own
}

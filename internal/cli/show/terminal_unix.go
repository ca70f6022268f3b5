//go:build unix

package show

import (
	"io"
	"os"

	"golang.org/x/sys/unix"
)

// The device names of the terminal that the process belongs to.
const consoleIn, consoleOut = "/dev/tty", "/dev/tty"

// movesCursor reports whether a terminal of this type understands the sequences that move the cursor.
func movesCursor(_ *os.File, kind string) bool { return kind != "" && kind != "dumb" }

// inBackground reports whether out is the terminal that the process belongs to, and another job has it.
func inBackground(out io.Writer) bool {
	f, ok := out.(*os.File)
	if !ok {
		return false
	}
	group, err := unix.IoctlGetInt(int(f.Fd()), unix.TIOCGPGRP)
	own, _ := unix.Getpgid(0)
	return err == nil && group != own
}

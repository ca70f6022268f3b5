//go:build !windows

package cli

import "syscall"

// The device names of the terminal that the process belongs to.
const consoleIn, consoleOut = "/dev/tty", "/dev/tty"

// pipeClosed lists the errors of writing to a pipe without a reader.
var pipeClosed = []error{syscall.EPIPE}

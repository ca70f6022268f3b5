//go:build !windows

package cli

import "syscall"

// The names of the terminal that the process belongs to.
const consoleIn, consoleOut = "/dev/tty", "/dev/tty"

// pipeClosed is what writing to a pipe without a reader gives.
var pipeClosed = []error{syscall.EPIPE}

package cli

import "syscall"

// The names of the console that the process belongs to.
const consoleIn, consoleOut = "CONIN$", "CONOUT$"

// pipeClosed is what writing to a pipe without a reader gives; ERROR_NO_DATA
// is for one that is being closed.
var pipeClosed = []error{syscall.EPIPE, syscall.ERROR_BROKEN_PIPE, syscall.Errno(232)}

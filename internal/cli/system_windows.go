package cli

import "syscall"

// The device names of the console that the process belongs to.
const consoleIn, consoleOut = "CONIN$", "CONOUT$"

// pipeClosed lists the errors of writing to a pipe without a reader. The last is
// ERROR_NO_DATA: the pipe is being closed.
var pipeClosed = []error{syscall.EPIPE, syscall.ERROR_BROKEN_PIPE, syscall.Errno(232)}

func limitOfFiles() string { return "" }

package cli

import "syscall"

// pipeClosed lists the errors of writing to a pipe without a reader. The last is
// ERROR_NO_DATA: the pipe is being closed.
var pipeClosed = []error{syscall.EPIPE, syscall.ERROR_BROKEN_PIPE, syscall.Errno(232)}

func limitOfFiles() string { return "" }

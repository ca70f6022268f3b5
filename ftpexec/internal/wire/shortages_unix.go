//go:build !windows

package wire

import "syscall"

// shortages are the errors of a system call for which this process or this system has too little of something.
var shortages = []error{syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM}

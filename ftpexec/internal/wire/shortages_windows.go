package wire

import "syscall"

// shortages are WSAEMFILE and WSAENOBUFS, beside the names that package syscall invents.
var shortages = []error{syscall.Errno(10024), syscall.Errno(10055), syscall.EMFILE, syscall.ENFILE, syscall.ENOBUFS, syscall.ENOMEM}

//go:build !windows

package cli

import (
	"fmt"
	"syscall"
)

// pipeClosed lists the errors of writing to a pipe without a reader.
var pipeClosed = []error{syscall.EPIPE}

// limitOfFiles says how many files this process may have open, and how to raise
// that.
func limitOfFiles() string {
	var most syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_NOFILE, &most) != nil {
		return ""
	}
	return fmt.Sprintf("this process may open %d: ulimit -n raises that, ", most.Cur)
}

//go:build unix && !linux

package show

import "golang.org/x/sys/unix"

// suspend is as in suspend_linux.go.
func suspend() { _ = unix.Kill(unix.Getpid(), unix.SIGTTOU) }

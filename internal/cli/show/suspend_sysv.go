//go:build aix || solaris

package show

import "golang.org/x/sys/unix"

const getTermios, setTermios = unix.TCGETS, unix.TCSETS

// suspend is as in suspend_linux.go.
func suspend() { _ = unix.Kill(unix.Getpid(), unix.SIGTTOU) }

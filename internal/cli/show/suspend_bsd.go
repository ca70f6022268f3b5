//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package show

import "golang.org/x/sys/unix"

const getTermios, setTermios = unix.TIOCGETA, unix.TIOCSETA

// suspend is as in suspend_linux.go.
func suspend() { _ = unix.Kill(unix.Getpid(), unix.SIGTTOU) }

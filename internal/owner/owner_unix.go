//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

// Package owner tells whose a file is. In a directory that others can write to, anyone may have put it there.
package owner

import (
	"io/fs"
	"os"
	"syscall"
)

// NoWait makes open not wait for a FIFO's other end.
const NoWait = syscall.O_NONBLOCK

// Ours reports whether a file belongs to this user.
func Ours(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(stat.Uid) == os.Geteuid()
}

// Alone reports whether a file belongs to this user and no other may write to it.
func Alone(info fs.FileInfo) bool { return Ours(info) && info.Mode().Perm()&0o022 == 0 }

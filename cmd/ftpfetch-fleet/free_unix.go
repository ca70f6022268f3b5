//go:build unix

package main

import "syscall"

// freeIn returns the bytes that are free for this user on the disk of a directory, or -1.
func freeIn(dir string) int64 {
	var s syscall.Statfs_t
	if syscall.Statfs(dir, &s) != nil {
		return -1
	}
	return int64(s.Bavail) * int64(s.Bsize)
}

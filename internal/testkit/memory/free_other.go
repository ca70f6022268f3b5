//go:build !linux

package memory

// free returns 0: which file systems are in memory is known only of Linux.
func free(string) uint64 { return 0 }

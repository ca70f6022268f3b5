// Package memory has tests keep their temporary files in memory. Most of the time of tests that save many files is
// otherwise the flushing to the disk.
package memory

import "os"

// enough is how many free bytes a file system in memory must have.
const enough = 1 << 30

// Use has the tests of a package keep their temporary files in memory, if the system has a file system for that. Their
// TestMain calls it. If TMPDIR is set, they keep them there: TMPDIR=/tmp uses the disk.
func Use() {
	const shared = "/dev/shm"
	if os.Getenv("TMPDIR") != "" || free(shared) < enough {
		return
	}
	if dir, err := os.MkdirTemp(shared, "ftpfetch-"); err == nil {
		os.Remove(dir)
		os.Setenv("TMPDIR", shared)
	}
}

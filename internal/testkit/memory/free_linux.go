package memory

import "golang.org/x/sys/unix"

// free returns how many bytes are free on a file system in memory; 0 if dir is on no such file system, or on one that
// runs no programs.
func free(dir string) uint64 {
	var s unix.Statfs_t
	err := unix.Statfs(dir, &s)
	if err != nil || s.Type != unix.TMPFS_MAGIC || s.Flags&unix.MS_NOEXEC != 0 {
		return 0
	}
	return s.Bavail * uint64(s.Bsize)
}

package download

import (
	"syscall"
	"testing"
)

// mountSmall mounts a small file system at dir, if the tests have the rights to.
func mountSmall(dir, size string) error {
	return syscall.Mount("none", dir, "tmpfs", 0, "size="+size)
}

func unmount(t *testing.T, dir string) {
	if err := syscall.Unmount(dir, 0); err != nil {
		t.Error(err)
	}
}

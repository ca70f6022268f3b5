package download

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
)

// nameMax returns how many bytes a name in dir may have, at most 255: file
// systems that claim more may count UTF-16 units.
func (d *disk) nameMax(dir string) int {
	var s syscall.Statfs_t
	if err := d.statfs(dir, &s); err != nil || s.Namelen <= 0 {
		return 255
	}
	return int(min(s.Namelen, 255))
}

// statfs describes the file system that dir is on, or below a root will be on.
func (d *disk) statfs(dir string, s *syscall.Statfs_t) error {
	if d.root == nil {
		return syscall.Statfs(dir, s)
	}
	f, err := d.root.OpenFile(d.inside(dir), os.O_RDONLY|syscall.O_DIRECTORY, 0)
	if errors.Is(err, fs.ErrNotExist) && d.inside(dir) != "." {
		return d.statfs(filepath.Dir(dir), s)
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return syscall.Fstatfs(int(f.Fd()), s)
}

package download

import "syscall"

// nameMax returns how many bytes a name in dir may have, at most 255: file
// systems that claim more may count UTF-16 units.
func nameMax(dir string) int {
	var s syscall.Statfs_t
	if err := syscall.Statfs(dir, &s); err != nil || s.Namelen <= 0 {
		return 255
	}
	return int(min(s.Namelen, 255))
}

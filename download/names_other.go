//go:build !linux

package download

// nameMax returns how many bytes a name may have: the systems in use count 255
// bytes or 255 UTF-16 units, which are never more than the bytes.
func nameMax(string) int { return 255 }

//go:build !linux

package download

// nameMax returns how many bytes a name may have. Systems allow 255 bytes or 255
// UTF-16 units, and a name never has more UTF-16 units than bytes.
func (*disk) nameMax(string) int { return 255 }

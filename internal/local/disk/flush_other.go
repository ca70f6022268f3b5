//go:build !linux

package disk

import "os"

// StartFlush does nothing: only Linux can start to write a file without waiting.
func StartFlush(*os.File) {}

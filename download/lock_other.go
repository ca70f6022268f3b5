//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package download

import (
	"io/fs"
	"os"
)

// noFollow has no counterpart here.
const noFollow = 0

// lock has nothing to do on Windows, which does not remove a file that a
// program has open. Systems without advisory locks go without.
func lock(*os.File) error { return nil }

// removeUnlessHeld removes the left-over at path.
func removeUnlessHeld(path string, _ fs.FileInfo) error {
	if err := os.Remove(path); err != nil {
		return failure(path, "cannot be removed", err)
	}
	return nil
}

// isOurs cannot be told here.
func isOurs(fs.FileInfo) bool { return true }

func isInvalid(error) bool { return false }

// links cannot be told here.
func links(fs.FileInfo) uint64 { return 1 }

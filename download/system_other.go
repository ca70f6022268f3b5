//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package download

import (
	"io/fs"
	"os"
)

// noFollow has no counterpart here.
const noFollow = 0

// held has nothing to do on Windows, which does not remove a file that a program
// has open. Systems without advisory locks go without.
func held(*os.File) bool { return false }

// isOurs cannot be told here.
func isOurs(fs.FileInfo) bool { return true }

func isInvalid(error) bool { return false }

// inodeOf cannot be told here.
func inodeOf(fs.FileInfo) string { return "" }

// links cannot be told here.
func links(fs.FileInfo) uint64 { return 1 }

//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package partfile

import (
	"io/fs"
	"os"
)

// create makes a new file.
func (d *dir) create(name string, flag int, mode fs.FileMode) (*os.File, error) {
	return d.OpenFile(name, flag, mode)
}

// noFollow has no counterpart here.
const noFollow = 0

// inodeOf returns "": files have no such number here.
func inodeOf(fs.FileInfo) string { return "" }

// links returns 1: the number is unknown here.
func links(fs.FileInfo) uint64 { return 1 }

// openFiles returns how many files the process may open.
func openFiles() int { return 512 }

//go:build !linux

package partfile

import (
	"errors"
	"io/fs"
	"os"
)

// On Linux these do more.
func (d *dir) create(name string, flag int, mode fs.FileMode) (*os.File, error) {
	return d.OpenFile(name, flag, mode)
}
func (d *dir) renameNew(string, string) error { return errors.ErrUnsupported }
func openFiles() int                          { return 256 }

//go:build !linux

package partfile

import "errors"

// On Linux these do more.
func (d *dir) renameNew(string, string) error { return errors.ErrUnsupported }
func openFiles() int                          { return 256 }

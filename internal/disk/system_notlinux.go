//go:build !linux

package disk

import "errors"

// On Linux these do more.
func (d *Dir) renameNew(string, string) error { return errors.ErrUnsupported }
func OpenFiles() int                          { return 256 }

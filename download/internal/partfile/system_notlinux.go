//go:build !linux

package partfile

import "errors"

// renameNew is not there: a link does it.
func (d *dir) renameNew(string, string) error { return errors.ErrUnsupported }

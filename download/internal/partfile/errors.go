package partfile

import (
	"errors"

	"example.com/ftpfetch/internal/disk"
	"example.com/ftpfetch/internal/localfile"
)

// These errors tell causes apart.
var (
	ErrBusy    = errors.New("another run writes the file")
	ErrMoved   = disk.ErrMoved // look again
	ErrDiffers = errors.New("other bytes than those that are there")
	ErrBeyond  = errors.New("more bytes than the span has")

	errReplaced = errors.New("was replaced while it was written")
)

func failure(path, what string, err error) error { return disk.Failure(path, what, err) }

func refuse(path, reason string, cause error) error {
	return &localfile.Error{Path: path, Reason: reason, Err: cause}
}

func busy(path string) error { return refuse(path, "is being written by another run", ErrBusy) }

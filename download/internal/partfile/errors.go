package partfile

import (
	"errors"

	"example.com/ftpfetch/internal/localfile"
)

// These errors tell causes apart.
var (
	ErrBusy    = errors.New("another run writes the file")
	ErrMoved   = errors.New("changed while it was examined") // look again
	ErrDiffers = errors.New("other bytes than those that are there")
	ErrBeyond  = errors.New("more bytes than the span has")

	errReplaced   = errors.New("was replaced while it was written")
	errNotRegular = errors.New("is not a regular file")
)

// Failure is [localfile.Failure], but returns the cause of a context that ended.
func Failure(path, what string, err error) error {
	if end := (*ended)(nil); errors.As(err, &end) {
		return end.cause
	}
	return localfile.Failure(path, what, err)
}

func refuse(path, reason string, cause error) error {
	return &localfile.Error{Path: path, Reason: reason, Err: cause}
}

func busy(path string) error { return refuse(path, "is being written by another run", ErrBusy) }

// ended means that the context of a [Reader] has ended.
type ended struct{ cause error }

func (e *ended) Error() string { return e.cause.Error() }

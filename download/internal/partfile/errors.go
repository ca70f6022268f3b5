package partfile

import (
	"errors"

	"example.com/ftpfetch/internal/localfile"
)

// ErrLocal is every [Error]. The others tell causes apart.
var (
	ErrLocal   = errors.New("local file error")
	ErrBusy    = errors.New("another run writes the file")
	ErrForeign = errors.New("another file is in the way")
	ErrPart    = errors.New("partial file exists") // and nothing shows that this package wrote it
	ErrName    = errors.New("no usable local file name")
	ErrMoved   = errors.New("changed while it was examined") // look again
	ErrDiffers = errors.New("other bytes than those that are there")
	ErrBeyond  = errors.New("more bytes than the span has")

	errReplaced   = errors.New("was replaced while it was written")
	errNotRegular = errors.New("is not a regular file")
)

// Error says why something failed on the disk.
type Error struct {
	Path   string // the file or directory
	Reason string
	Err    error // the cause
}

func (e *Error) Error() string        { return e.Path + ": " + e.Reason }
func (e *Error) Unwrap() error        { return e.Err }
func (e *Error) Is(target error) bool { return target == ErrLocal }

// Failure wraps a system error in an [Error] about path: its Reason is what, such as
// "cannot be written", and why, without the path and the operation in the system's
// own text. It returns nil for nil, and the cause of a context that ended.
func Failure(path, what string, err error) error {
	if end := (*ended)(nil); errors.As(err, &end) {
		return end.cause
	}
	if err == nil {
		return nil
	}
	return &Error{Path: path, Reason: what + ": " + localfile.Cause(err).Error(), Err: err}
}

func busy(path string) error {
	return &Error{Path: path, Reason: "is being written by another run", Err: ErrBusy}
}

func replaced(path string) error {
	return &Error{Path: path, Reason: errReplaced.Error(), Err: errReplaced}
}

func naked(path string) error {
	return &Error{Path: path, Reason: "is in the way: nothing shows that this program wrote it", Err: ErrPart}
}

func othersFile(path string) error {
	return &Error{Path: path, Reason: "is in the way, and belongs to another user: remove it, or choose another place", Err: ErrForeign}
}

// ended means that the context of a [Reader] has ended.
type ended struct{ cause error }

func (e *ended) Error() string { return e.cause.Error() }

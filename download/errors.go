package download

import (
	"errors"
	"io/fs"
	"os"
	"slices"
)

// The causes that callers tell apart. Those of an [*Error] are [ErrLocal] too,
// in the sense of errors.Is.
var (
	ErrLocal  = errors.New("local file error")
	ErrExists = errors.New("file exists") // an *Error
	// ErrPart is a NAME.part that was left behind and holds something that is
	// not known to come from here; an *Error. See Overwrite and Continue.
	ErrPart = errors.New("partial file exists")
	// ErrForeign is a NAME.part or its journal that belongs to another user, or
	// something under the journal's name that is none: it is neither gone on
	// with nor replaced. An *Error.
	ErrForeign = errors.New("somebody else's file in the way")
	// ErrName is a last segment that cannot be a local file name; an *Error.
	ErrName = errors.New("no usable local file name")

	ErrResume     = errors.New("cannot resume")                     // what Continue asks for, or took
	ErrSize       = errors.New("not the expected size")             // Options.Size
	ErrChanged    = errors.New("the file changes while it is read") // on the server
	ErrDigest     = errors.New("digest mismatch")
	ErrUnverified = errors.New("nothing to verify the file with") // Options.Verify
)

// Error is why a file could not be brought, where the cause is not the
// transfer itself ([ftpexec.Error]).
type Error struct {
	Path   string // the file or directory in question; "" where it is the server's file
	Reason string // text, one line apart from what a name may hold
	Err    error  // the cause: one of the sentinels or a system error
}

// Error returns "path: reason".
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Reason
	}
	return e.Path + ": " + e.Reason
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// notLocal are the causes that the local side has no part in.
var notLocal = []error{ErrResume, ErrSize, ErrChanged, ErrDigest, ErrUnverified}

// Is reports whether target is [ErrLocal] and the failure is on the local side.
func (e *Error) Is(target error) bool { return target == ErrLocal && !slices.Contains(notLocal, e.Err) }

// failure makes an [Error] of a system error, without the path and operation
// that the system's own text repeats. No error stays none, and the end of a
// context is no failure of the disk.
func failure(path, what string, err error) error {
	var end *ended
	switch {
	case err == nil:
		return nil
	case errors.As(err, &end):
		return end.cause
	}
	return &Error{Path: path, Reason: what + ": " + cause(err).Error(), Err: err}
}

// cause returns the system's word inside err.
func cause(err error) error {
	var path *fs.PathError
	var link *os.LinkError
	switch {
	case errors.As(err, &path):
		return path.Err
	case errors.As(err, &link):
		return link.Err
	}
	return err
}

func exists(path string) error {
	return &Error{Path: path, Reason: "exists already", Err: ErrExists}
}

func busy(path string) error {
	return &Error{Path: path, Reason: "is being written by another run", Err: ErrLocal}
}

func replaced(path string) error {
	return &Error{Path: path, Reason: "was replaced while it was written", Err: ErrLocal}
}

func inTheWay(path string) error {
	return &Error{Path: path, Reason: "is in the way: it holds something that this program did not write", Err: ErrPart}
}

var (
	errNotRegular = errors.New("is no regular file")
	errMoved      = errors.New("changed while it was looked at")
)

// ended is the end of a diskReader's context.
type ended struct{ cause error }

func (e *ended) Error() string { return e.cause.Error() }

package localfile

import (
	"errors"
	"fmt"
	"io/fs"
)

// ErrLocal is every [Error] of the local side. The others tell causes apart.
var (
	ErrLocal = errors.New("local file error")
	ErrName  = errors.New("no usable local file name")
	ErrOther = fmt.Errorf("%w", fs.ErrExist) // and is not the one to retrieve; the Reason says what to do
)

// Error says why something failed, unless the transfer itself failed.
type Error struct {
	Path      string // the file or directory; "" if there is none
	Reason    string // one line, unless a file name in it has line ends
	Err       error  // the cause
	Elsewhere bool   // the local side is not at fault
}

// Error returns "path: reason".
func (e *Error) Error() string {
	if e.Path == "" {
		return e.Reason
	}
	return e.Path + ": " + e.Reason
}

func (e *Error) Unwrap() error        { return e.Err }
func (e *Error) Is(target error) bool { return target == ErrLocal && !e.Elsewhere }

// Failure wraps a system error in an [Error] about path: its Reason is what, such as "cannot be written", and why, without
// the path and the operation in the system's own text. It returns nil for nil.
func Failure(path, what string, err error) error {
	if err == nil {
		return nil
	}
	return &Error{Path: path, Reason: what + ": " + Cause(err).Error(), Err: err}
}

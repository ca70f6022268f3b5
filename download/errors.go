package download

import (
	"errors"
	"io/fs"
	"slices"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/localfile"
)

// Callers tell these causes apart with errors.Is. An [*Error] is also [ErrLocal],
// unless its cause is ErrResume or one of those after it.
var (
	ErrLocal = errors.New("local file error")
	ErrBusy  = errors.New("another run writes the file")
	// ErrPart means that NAME.part is in the way and that nothing shows that this
	// package wrote it. See Overwrite and Continue.
	ErrPart = errors.New("partial file exists")
	// ErrUnfinished means that NAME.part is in the way and holds an unfinished
	// download of this package. See Overwrite.
	ErrUnfinished = errors.New("unfinished download exists")
	// ErrForeign means that NAME.part or its journal belongs to another user, or
	// that the file under the journal's name is not a journal. It is neither
	// resumed nor replaced.
	ErrForeign = errors.New("another file is in the way")
	// ErrName means that the URL's last segment cannot be a local file name.
	ErrName = errors.New("no usable local file name")

	ErrResume     = errors.New("cannot resume")         // as Continue asks for
	ErrSize       = errors.New("not the expected size") // Options.Size
	ErrDigest     = errors.New("digest mismatch")
	ErrUnverified = errors.New("nothing to verify the file with") // Options.Verify
)

// Error says why a download failed, unless the transfer itself failed: then the
// error is an [ftpexec.Error].
type Error struct {
	Path   string // the local file or directory; "" if the server's file is at fault
	Reason string // one line, unless a file name in it has line ends
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

// notLocal are the causes that are not on the local side.
var notLocal = []error{ErrResume, ErrSize, ftpexec.ErrChanged, ErrDigest, ErrUnverified}

// Is reports whether err is [ErrLocal] and the failure is on the local side.
func (e *Error) Is(err error) bool { return err == ErrLocal && !slices.Contains(notLocal, e.Err) }

// failure wraps a system error in an [Error] about path: its Reason is what, such as
// "cannot be written", and why, without the path and the operation in the system's
// own text. It returns nil for nil, and the cause of a context that ended.
func failure(path, what string, err error) error {
	if end := (*ended)(nil); errors.As(err, &end) {
		return end.cause
	}
	if err == nil {
		return nil
	}
	return &Error{Path: path, Reason: what + ": " + localfile.Cause(err).Error(), Err: err}
}

func exists(path string) error {
	return &Error{Path: path, Reason: "already exists", Err: fs.ErrExist}
}

func noDirectory(dir string, err error) error {
	return &Error{Path: dir, Reason: "no such directory (create it first)", Err: err}
}

func namesDirectory(path string) error {
	return &Error{Path: path, Reason: "names a directory, not a file", Err: ErrName}
}

func busy(path string) error {
	return &Error{Path: path, Reason: "is being written by another run", Err: ErrBusy}
}

func replaced(path string) error {
	return &Error{Path: path, Reason: "was replaced while it was written", Err: ErrLocal}
}

func inTheWay(path string) error {
	return &Error{Path: path, Reason: "is in the way: nothing shows that this program wrote it", Err: ErrPart}
}

func othersFile(path string) error {
	return &Error{Path: path, Reason: "is in the way, and belongs to another user", Err: ErrForeign}
}

func unfinished(path string) error {
	return &Error{Path: path, Reason: "is in the way: it holds an unfinished download", Err: ErrUnfinished}
}

var (
	errNotRegular = errors.New("is not a regular file")
	errMoved      = errors.New("changed while it was examined")
)

// ended means that the context of a diskReader has ended.
type ended struct{ cause error }

func (e *ended) Error() string { return e.cause.Error() }

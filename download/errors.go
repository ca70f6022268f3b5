package download

import (
	"errors"
	"slices"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/ftpexec"
)

// Callers tell these causes apart with errors.Is. An [*Error] is also [ErrLocal],
// unless its cause is ErrResume or one of those after it.
var (
	ErrLocal = partfile.ErrLocal
	// ErrPart means that NAME.part is in the way: nothing shows that this package
	// wrote it, or with Continue it is another download's. See Overwrite and Continue.
	ErrPart = partfile.ErrPart
	// ErrName means that the URL's last segment cannot be a local file name.
	ErrName = partfile.ErrName

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

// public returns an error of package partfile as an [Error], and others as they are.
func public(err error) error {
	if e := (*partfile.Error)(nil); errors.As(err, &e) {
		return &Error{Path: e.Path, Reason: e.Reason, Err: e.Err}
	}
	return err
}

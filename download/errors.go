package download

import (
	"errors"
	"slices"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/urlparse"
)

// Callers tell these causes apart with errors.Is. An [*Error] is also [ErrLocal],
// unless its cause is ErrResume or one of those after it.
var (
	ErrLocal = partfile.ErrLocal
	ErrBusy  = partfile.ErrBusy // another run writes the file
	// ErrPart means that NAME.part is in the way and that nothing shows that this
	// package wrote it. See Overwrite and Continue.
	ErrPart = partfile.ErrPart
	// ErrUnfinished means that NAME.part is in the way and holds an unfinished
	// download of this package. See Overwrite.
	ErrUnfinished = errors.New("unfinished download exists")
	// ErrForeign means that NAME.part or its journal belongs to another user, or
	// that the file under the journal's name is not a journal. It is neither
	// resumed nor replaced.
	ErrForeign = partfile.ErrForeign
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

// LocalName returns the name under which to save the file that u names: its last
// segment, decoded and otherwise unchanged. The error is [ErrName] if the name
// would leave the directory, if the system cannot have such a file, or if this
// program gives such names to its own files, which a later run would trust.
func LocalName(u *urlparse.URL) (string, error) {
	if why := localfile.Unusable(u.Name); why != "" {
		return "", &Error{Path: u.Name, Reason: why, Err: ErrName}
	}
	return u.Name, nil
}

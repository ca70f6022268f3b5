// Package download brings what an ftp URL names to the local disk, or to any
// writer, so that a file is there whole or not at all.
//
// The two calls to use are [File] and, where the octets go elsewhere, [To]:
//
//	var c ftpexec.Client
//	u, err := urlparse.Parse("ftp://ftp.example.org/pub/x")
//	r, err := download.File(ctx, &c, u, "x", nil)
//
// A file appears under its final name only after every octet arrived, the
// server confirmed the end of the transfer (RFC 959 section 5.4), a digest that
// was asked for agreed, and the data reached the disk. Until then it is
// NAME.part in the same directory, with a journal NAME.part.json beside it. A
// failure that may pass is tried again from where it stopped; after any other
// the two files stay, and the next call goes on from there where the server
// still has the same file. docs/download.md has the rules.
package download

import (
	"context"
	"errors"
	"iter"
	"slices"
	"time"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
	"golang.org/x/time/rate"
)

// Source is where files come from: an [*ftpexec.Client], or an
// [*ftpexec.Session] for files that follow one another.
type Source interface {
	OpenFrom(ctx context.Context, u *urlparse.URL, offset int64) (*ftpexec.Response, error)
	Stat(ctx context.Context, u *urlparse.URL) (*ftpexec.Info, error)
	Hash(ctx context.Context, u *urlparse.URL, algorithm string) ([]byte, error)
	ListURL(ctx context.Context, u *urlparse.URL) iter.Seq2[ftpexec.Entry, error]
}

// Existing says what happens where the target already exists.
type Existing int

const (
	// Refuse reports [ErrExists] and touches nothing.
	Refuse Existing = iota
	// Overwrite replaces the target, and a NAME.part without a journal, once
	// the new file is whole. A symbolic link is replaced itself, not what it
	// points to.
	Overwrite
	// Skip leaves the target as it is and reports success.
	Skip
)

// Options changes how a file is retrieved. The zero value, and nil, refuse an
// existing target, go on with a partial file of their own, and try again
// [DefaultRetries] times.
type Options struct {
	Existing Existing
	// Newer retrieves a file only where the target is missing, or the server's
	// is newer or of another size; then the target is replaced.
	Newer bool
	// Continue takes the target, or a NAME.part without a journal, for the
	// begin of the file and retrieves the rest. Nothing but its length is
	// checked: see Sum. What it took is given up only with Overwrite or
	// NoResume, in later calls as well; else the error is [ErrResume].
	Continue bool
	// NoResume begins anew where a NAME.part with a journal is left.
	NoResume bool

	// Retries is how often a failure that may pass is tried again in a row
	// without progress; 0 means DefaultRetries, less than 0 never.
	Retries int
	// Wait waits before another try; nil uses a timer. It returns an error to
	// give up. Several connections may call it at the same time.
	Wait func(ctx context.Context, d time.Duration) error

	// Segments is how many connections bring one file at the same time; less
	// than 2 is one. More than one needs Parallel.
	Segments int
	// Parallel is the source for further connections, safe for concurrent use:
	// an *ftpexec.Client. nil means the first source where that is one.
	Parallel Source

	// Size is the size that the file must have, in octets, where it is known
	// from elsewhere. It does not count in ASCII type.
	Size *int64
	// Sum is the digest that the file must have; the zero value is none.
	Sum digest.Sum
	// Verify looks on the server for a digest that the file must have: in
	// lists beside it, then by HASH and its kin. That there is none is
	// [ErrUnverified]. Where Sum is set that one counts alone.
	Verify bool

	// Limit bounds the octets a second over all that share it; nil: no bound.
	Limit *rate.Limiter

	// Progress, if set, is called now and then from one goroutine while data
	// flows and once at its end, never after the function it was given to has
	// returned. done counts octets that were there before, too; it falls where
	// a transfer begins anew. total is -1 where the server did not tell the
	// size.
	Progress func(done, total int64)
	// Notify, if set, is told what else a person may want to know. Calls do
	// not overlap.
	Notify func(Event)

	checkpoint time.Duration // between two journals; 0 means checkpointInterval
}

// EventKind says what an [Event] tells.
type EventKind int

const (
	Noted     EventKind = iota // something worth a line
	Resumed                    // a partial file is gone on with, from Offset octets
	Restarted                  // what was there is given up; the transfer begins anew
	Retrying                   // a try failed with Err and the next one follows after Wait
)

// Event is something that happens on the way, for Options.Notify.
type Event struct {
	Kind   EventKind
	Text   string // one line for a person, but for what names in it hold; "" for Retrying
	Offset int64  // Resumed: octets that are there already
	Err    error  // Retrying
	Try    int    // Retrying: the tries so far without progress
	Tries  int    // Retrying: how many of them there may be
	Wait   time.Duration
}

// Reason says why a target was left alone.
type Reason int

const (
	_              Reason = iota
	ReasonExists          // it exists: [Skip]
	ReasonNotNewer        // the server's file is not newer: Options.Newer
	ReasonComplete        // it has as many octets as the server's file: Options.Continue
)

// Result describes a finished download. With an error only Path and Kept may
// be set.
type Result struct {
	Path     string    // as given; "" for [To]
	Size     int64     // octets of the file
	ModTime  time.Time // the server's, UTC; zero when unknown
	Skipped  bool      // the target was left alone
	Reason   Reason    // why it was left alone; 0 unless Skipped
	Resumed  int64     // octets that earlier runs had brought
	Kept     int64     // with an error: octets in NAME.part from which the next call goes on
	Verified string    // what the file's digest was compared with, such as "sha256 in SHA256SUMS"; "" nothing
	Text     bool      // in ASCII type: no size could be compared
}

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

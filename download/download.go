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
// server confirmed the end of the transfer (RFC 959 section 5.4), and the data
// reached the disk. Until then it is NAME.part in the same directory. On any
// error that file is removed and nothing stands under the final name.
package download

import (
	"errors"
	"time"
)

// Existing says what happens where the target already exists.
type Existing int

const (
	// Refuse reports [ErrExists] and touches nothing.
	Refuse Existing = iota
	// Overwrite replaces the target, and a left-over NAME.part, once the new
	// file is whole. A symbolic link is replaced itself, not what it points to.
	Overwrite
	// Skip leaves the target as it is and reports success.
	Skip
)

// Options changes how a target is written. The zero value, and nil, refuse an
// existing target and report no progress.
type Options struct {
	Existing Existing

	// Progress, if set, is called now and then from one goroutine while data
	// flows and once at its end, never after the function it was given to has
	// returned. done and total are octets; total is -1 where the server did
	// not tell the size.
	Progress func(done, total int64)
}

// Result describes a finished download.
type Result struct {
	Path    string    // as given; "" for [To]
	Size    int64     // octets written, or of the file left alone
	ModTime time.Time // the server's, UTC; zero when unknown
	Skipped bool      // the target existed and was left alone
}

// The causes that callers tell apart. Every one of them is an [ErrLocal] too,
// in the sense of errors.Is.
var (
	ErrLocal  = errors.New("local file error")
	ErrExists = errors.New("file exists")
	// ErrPart is a NAME.part that was left behind and holds something; see
	// Overwrite.
	ErrPart = errors.New("partial file exists")
	// ErrName is a last segment that cannot be a local file name.
	ErrName = errors.New("no usable local file name")
)

// Error is a failure on the local side.
type Error struct {
	Path   string // the file or directory in question; may be ""
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

// Is makes every Error an [ErrLocal].
func (e *Error) Is(target error) bool { return target == ErrLocal }

// orDefault gives a nil Options its meaning.
func (o *Options) orDefault() Options {
	if o == nil {
		return Options{}
	}
	return *o
}

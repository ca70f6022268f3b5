// Package download saves the file that an ftp URL names, whole or not at all, or copies it to any writer.
//
//	r, err := download.Get(ctx, "ftp://ftp.example.org/pub/x", "x", nil)
//
// is enough for a first program. [Options] adds verification, limits and progress. [File] and, for a writer, [To] take
// a parsed URL, and a Client with logins, TLS, proxies and connections to reuse:
//
//	var c ftpexec.Client
//	u, err := urlparse.Parse("ftp://me@ftp.example.org/pub/x")
//	r, err := download.File(ctx, &c, u, "x", nil)
//
// A file gets its final name only after every byte has arrived, the server has confirmed the end of the transfer (RFC
// 959 section 5.4), the digest, if one was asked for, has matched, and the data is on the disk. Until then it is called
// NAME.ftpfetch.part. After a failure that may pass, the download resumes where it stopped. After any other failure the
// part stays, with a journal, NAME.ftpfetch.json, beside it, if the next call can resume from it. The next call does so
// if the server still has the same file. A file whose digest is wrong becomes NAME.ftpfetch.bad. docs/download.md has
// the rules.
package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/download/internal/sums"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/urlparse"
)

// Source is where files come from. An [*ftpexec.Client] is one. A Source must be safe for concurrent use if
// Options.Segments asks for several connections, and for [Run].
type Source interface {
	Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error)
	Stat(ctx context.Context, u *urlparse.URL) (ftpexec.Entry, error)
	Hash(ctx context.Context, u *urlparse.URL, algorithm string) ([]byte, error)
	List(ctx context.Context, u *urlparse.URL) iter.Seq2[ftpexec.Entry, error]
	// Entries is for the trees of [Run].
	Entries(ctx context.Context, u *urlparse.URL) iter.Seq2[ftpexec.Entry, error]
}

// FullSource is a Source with which [Run] needs fewer round trips and logins. An [*ftpexec.Client] is one. A type that
// wraps a Client should have all these methods, or else Run does without them.
type FullSource interface {
	Source
	// EntriesEarly is [ftpexec.Client.EntriesEarly]: Run fetches files before a large listing is whole.
	EntriesEarly(
		ctx context.Context, u *urlparse.URL, entry func(ftpexec.Entry), login func(dir string),
	) iter.Seq2[ftpexec.Entry, error]
	// StatAll is [ftpexec.Client.StatAll]: Run asks for the times of many files at once.
	StatAll(ctx context.Context, urls []*urlparse.URL) iter.Seq2[ftpexec.Entry, error]
	// CloseIdleConnections makes room on a server that is full.
	CloseIdleConnections()
}

// full returns src, or a FullSource that does without what src lacks.
func full(src Source) FullSource {
	if full, ok := src.(FullSource); ok {
		return full
	}
	return plain{src}
}

// plain is a Source without the further methods of a FullSource.
type plain struct{ Source }

func (p plain) EntriesEarly(
	ctx context.Context, u *urlparse.URL, _ func(ftpexec.Entry), _ func(dir string),
) iter.Seq2[ftpexec.Entry, error] {
	return p.Entries(ctx, u)
}

// StatAll yields nothing: then the fetch of each file asks for its time.
func (plain) StatAll(context.Context, []*urlparse.URL) iter.Seq2[ftpexec.Entry, error] {
	return func(func(ftpexec.Entry, error) bool) {}
}

func (p plain) CloseIdleConnections() {
	if c, ok := p.Source.(interface{ CloseIdleConnections() }); ok {
		c.CloseIdleConnections()
	}
}

// Callers distinguish these causes with errors.Is. ErrLocal matches every failure on the local side.
var (
	ErrLocal      = localfile.ErrLocal
	ErrResume     = errors.New("cannot resume") // Continue would have to start over
	ErrDigest     = errors.New("digest mismatch")
	ErrUnverified = errors.New("nothing to verify the file with") // Options.Verify
)

// File retrieves the file that u names and saves it under path, whole or not at all. o may be nil.
//
// File checks for local obstacles before it asks the server for the file, such as an impossible name or a directory
// that is missing or not writable ([ErrLocal]). It refuses a device or FIFO: open it, and write to it with [To]. With
// Options.Root, path is relative to that directory, and File makes missing directories.
//
// Errors from the server are those of [ftpexec.Client.Do] and of reading its Body. After an error, NAME.ftpfetch.part
// keeps the bytes that arrived, if the next call can resume from them. After [ErrDigest] they are in NAME.ftpfetch.bad.
func File(ctx context.Context, src Source, u *urlparse.URL, path string, o *Options) (r Result, err error) {
	one := o.orZero()
	if err := one.check(); err != nil {
		return Result{}, err
	}
	alone := partfile.Group{Attempt: one.Attempt}
	place, err := alone.Find(one.Root, path)
	if err != nil {
		return Result{}, err
	}
	defer func() {
		place.Close(err != nil)
		if err = cmp.Or(err, alone.Dirs.Close()); err != nil {
			r = Result{Kept: r.Kept, Retries: r.Retries}
		}
	}()
	return save(ctx, place, func() *fetch { return newSingle(src, u, one) })
}

// newSingle returns a fetch that is not part of a run.
func newSingle(src Source, u *urlparse.URL, o Options) *fetch {
	f := newFetch(src, u, o, single{&o, u}, new(sums.Cache), false)
	f.silent = o.Events == nil
	return f
}

// Get is [File] for the text of a URL, with a Client of its own: anonymous unless the URL has a login.
func Get(ctx context.Context, url, path string, o *Options) (Result, error) {
	u, err := urlparse.Parse(url)
	if err != nil {
		return Result{}, err
	}
	var c ftpexec.Client
	defer c.CloseIdleConnections()
	return File(ctx, &c, u, path, o)
}

// To retrieves the file that u names and writes it to w as it arrives: after an error w may hold the start of the file.
// It does not close w. o may be nil. To refuses its fields that only concern files: Root, Existing, Segments and
// Commit. It retries a failure that may pass, and goes on at the byte where it stopped if the server can begin there. A
// digest can be compared only at the end: then w has the whole file, even if the digest is wrong and To returns an
// error.
func To(ctx context.Context, src Source, u *urlparse.URL, w io.Writer, o *Options) (Result, error) {
	one := o.orZero()
	if err := cmp.Or(one.check(), one.checkUnused()); err != nil {
		return Result{}, err
	}
	return fetchTo(ctx, newSingle(src, u, one), w, "")
}

// orZero returns the options, or the zero value for nil.
func (o *Options) orZero() Options {
	if o == nil {
		return Options{}
	}
	return *o
}

// checkUnused returns an error if o has a field that applies to local files only.
func (o *Options) checkUnused() error {
	name := ""
	switch {
	case o.Root != nil:
		name = "Root"
	case o.Existing != "":
		name = "Existing"
	case o.Segments != 0:
		name = "Segments"
	case o.Commit != nil:
		name = "Commit"
	default:
		return nil
	}
	return fmt.Errorf("To writes to a Writer and saves no file, so Options.%s has no effect: leave it out", name)
}

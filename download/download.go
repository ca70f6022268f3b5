// Package download brings what an ftp URL names to the local disk, or to any
// writer, so that a file is there whole or not at all.
//
// The two calls to use are [File] and, where the bytes go elsewhere, [To]:
//
//	var c ftpexec.Client
//	u, err := urlparse.Parse("ftp://ftp.example.org/pub/x")
//	r, err := download.File(ctx, &c, u, "x", nil)
//
// A file appears under its final name only after every byte arrived, the
// server confirmed the end of the transfer (RFC 959 section 5.4), a digest that
// was asked for agreed, and the data reached the disk. Until then it is
// NAME.part in the same directory, with a journal NAME.part.json beside it. A
// failure that may pass is tried again from where it stopped; after any other
// the two files stay, and the next call goes on from there where the server
// still has the same file. docs/download.md has the rules.
package download

import (
	"context"
	"iter"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

// Source is where files come from: an [*ftpexec.Client], or an
// [*ftpexec.Session] for files that follow one another.
type Source interface {
	OpenFrom(ctx context.Context, u *urlparse.URL, offset int64) (*ftpexec.Response, error)
	Stat(ctx context.Context, u *urlparse.URL) (*ftpexec.Info, error)
	Hash(ctx context.Context, u *urlparse.URL, algorithm string) ([]byte, error)
	List(ctx context.Context, u *urlparse.URL) iter.Seq2[ftpexec.Entry, error]
}

// Reason says why a target was left alone.
type Reason int

const (
	_              Reason = iota
	ReasonExists          // it exists: [Skip]
	ReasonNotNewer        // the server's file is not newer: Options.Newer
	ReasonComplete        // it has as many bytes as the server's file: Options.Continue
)

// Result describes a finished download. With an error only Path and Kept may
// be set.
type Result struct {
	Path     string    // as given; "" for [To]
	Size     int64     // bytes of the file
	ModTime  time.Time // the server's, UTC; zero when unknown
	Skipped  bool      // the target was left alone
	Reason   Reason    // why it was left alone; 0 unless Skipped
	Resumed  int64     // bytes that earlier runs had brought
	Kept     int64     // with an error: bytes in NAME.part from which the next call goes on
	Verified string    // what the file's digest was compared with, such as "sha256 in SHA256SUMS"; "" nothing
	Text     bool      // in ASCII type: no size could be compared
}

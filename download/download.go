// Package download saves the file that an ftp URL names, whole or not at all, or
// copies it to any writer.
//
// The two calls to use are [File] and, for a writer, [To]:
//
//	var c ftpexec.Client
//	u, err := urlparse.Parse("ftp://ftp.example.org/pub/x")
//	r, err := download.File(ctx, &c, u, "x", nil)
//
// A file gets its final name only after every byte has arrived, the server has
// confirmed the end of the transfer (RFC 959 section 5.4), the digest, if one was
// asked for, has matched, and the data is on the disk. Until then it is called
// NAME.part and has a journal, NAME.part.json, beside it. After a failure that
// may pass the download resumes from where it stopped. After any other failure
// the two files stay, and the next call resumes if the server still has the same
// file. docs/download.md has the rules.
package download

import (
	"context"
	"iter"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

// Source is where files come from: an [*ftpexec.Client], or an
// [*ftpexec.Session] to retrieve files one after another.
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
	ModTime  time.Time // the server's, UTC; zero if unknown
	Skipped  bool      // the target was left alone
	Reason   Reason    // why it was left alone; 0 unless Skipped
	Resumed  int64     // bytes from earlier runs
	Kept     int64     // after an error: bytes in NAME.part from which the next call resumes
	Verified string    // what the digest was compared with, such as "sha256 in SHA256SUMS"; "" if nothing
	Text     bool      // the transfer was in ASCII type: its size was not compared
}

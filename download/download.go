// Package download saves the file that an ftp URL names, whole or not at all, or copies it to any writer.
//
//	r, err := download.Get(ctx, "ftp://ftp.example.org/pub/x", "x", nil)
//
// is enough for a first program; with [Options] it verifies, limits and shows the download. [File] and, for a writer, [To]
// take a parsed URL, and a Client with logins, TLS, proxies and connections to keep:
//
//	var c ftpexec.Client
//	u, err := urlparse.Parse("ftp://me@ftp.example.org/pub/x")
//	r, err := download.File(ctx, &c, u, "x", nil)
//
// A file gets its final name only after every byte has arrived, the server has confirmed the end of the transfer (RFC 959
// section 5.4), the digest, if one was asked for, has matched, and the data is on the disk. Until then it is called
// NAME.ftpfetch.part. After a failure that may pass the download resumes from where it stopped. After any other failure the
// part stays, with a journal, NAME.ftpfetch.json, beside it, if the next call can resume from it, which it does if the server
// still has the same file; a file whose digest is wrong becomes NAME.ftpfetch.bad. docs/download.md has the rules.
package download

import (
	"context"
	"errors"
	"fmt"
	"iter"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/download/internal/sums"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/urlparse"
)

// Source is where files come from: an [*ftpexec.Client]. It is safe for concurrent use if Options.Segments asks for
// several connections.
type Source interface {
	Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error)
	Stat(ctx context.Context, u *urlparse.URL) (ftpexec.Entry, error)
	Hash(ctx context.Context, u *urlparse.URL, algorithm string) ([]byte, error)
	List(ctx context.Context, u *urlparse.URL) iter.Seq2[ftpexec.Entry, error]
	Entries(ctx context.Context, u *urlparse.URL) iter.Seq2[ftpexec.Entry, error] // of package batch, for trees
}

// member is what package batch's Source for one file of many has besides. An error that is [ftpexec.ErrTooMany] goes back
// to it.
type member interface {
	Extra() Source          // for all connections of the file but the first
	Arrived()               // all bytes are there: what follows does not need the source
	Place() *partfile.Place // of the file, which has been looked at
	Lists() *sums.Cache     // of all files
}

// Callers tell these causes apart with errors.Is. ErrLocal is every failure on the local side.
var (
	ErrLocal      = localfile.ErrLocal
	ErrResume     = errors.New("cannot resume") // as Continue asks for
	ErrDigest     = errors.New("digest mismatch")
	ErrUnverified = errors.New("nothing to verify the file with") // Options.Verify
)

// because returns an error with this text that is not [ErrLocal].
func because(cause error, format string, args ...any) error {
	return &localfile.Error{Reason: fmt.Sprintf(format, args...), Err: cause, Elsewhere: true}
}

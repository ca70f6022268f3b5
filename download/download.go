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
	"iter"
	"os"
	"time"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/internal/decide"
	"example.com/ftpfetch/download/internal/fetch"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/urlparse"
)

// Source is where files come from: an [*ftpexec.Client]. It is safe for concurrent use if Options.Segments asks for
// several connections.
type Source interface {
	Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error)
	Stat(ctx context.Context, u *urlparse.URL) (ftpexec.Entry, error)
	Hash(ctx context.Context, u *urlparse.URL, algorithm string) ([]byte, error)
	List(ctx context.Context, u *urlparse.URL) iter.Seq2[ftpexec.Entry, error]
	// Entries is for the trees of package batch.
	Entries(ctx context.Context, u *urlparse.URL) iter.Seq2[ftpexec.Entry, error]
}

// Callers distinguish these causes with errors.Is. ErrLocal is every failure on the local side.
var (
	ErrLocal      = localfile.ErrLocal
	ErrResume     = fetch.ErrResume // of Continue
	ErrDigest     = fetch.ErrDigest
	ErrUnverified = fetch.ErrUnverified // Options.Verify
)

// Existing says what happens to a target that exists. The zero value leaves it as it is: that is a success if it has the
// size and time of the server's file, or the digest in Options.Sum, and else [fs.ErrExist].
type Existing string

const (
	// Skip leaves the target as it is and reports success.
	Skip = Existing(decide.Skip)
	// Overwrite replaces the target once the new file is whole: a symbolic link itself, not what it points to.
	Overwrite = Existing(decide.Overwrite)
	// Newer replaces the target if the server's file is newer or of another size, and else leaves it and reports success.
	Newer = Existing(decide.Newer)
	// Continue uses the target as the start of the file and retrieves the rest. It checks only its length, its time and its
	// last bytes: see Options.Sum. The target is copied, and stays until the whole file replaces it. A call that would have
	// to start over ends with [ErrResume].
	Continue = Existing(decide.Continue)
	// NewerOrContinue is Newer, but uses a target that is shorter and no older as Continue does.
	NewerOrContinue = Existing(decide.NewerOrContinue)
)

// Options changes how a file is retrieved. The zero value and nil replace no target, resume a partial file of an
// earlier call, and retry five times.
type Options struct {
	// Existing says what happens to a target that exists.
	Existing Existing
	// NoResume starts over even if there is a part that could be resumed.
	NoResume bool

	// Root, if not nil, is the directory that the download must not leave: the path is relative to it, and no symbolic
	// link leads out of it. Missing directories below Root are made, with mode 0777 less umask; a run that fails removes
	// those that it made and that are empty. A device or FIFO is refused. The caller closes Root.
	Root *os.Root

	// Retries is how many times in a row, without progress, a failure that may pass is retried; less than 0: never. 0 is five,
	// but not if the server was never reached: it refuses the connection, or does not answer, or no route leads to it. That
	// is taken for a wrong address. A host without an address in DNS is never retried.
	Retries int

	// Segments is how many connections fetch one file at the same time, at most 64; less than 2 means one.
	Segments int

	// Size is the size that the file must have, in bytes; nil means any. Not in ASCII type. The error is [ftpexec.ErrChanged].
	Size *int64
	// Sum is the digest that the file must have; the zero value means any.
	Sum digest.Sum
	// Verify looks on the server for a digest that the file must have: in lists beside it, then by HASH and similar
	// commands. If there is none the error is [ErrUnverified]. If Sum is set, only Sum counts.
	Verify bool

	// Limit limits the bytes per second of all downloads that share it; nil means no limit. A [rate.Limiter] is one. WaitN
	// is called before n bytes are written, and waits until they may be. Its error ends the download. If Limit has a method
	// Burst() int, as [rate.Limiter] has, n is at most what that returns, and else at most 32 KiB.
	//
	// [rate.Limiter]: https://pkg.go.dev/golang.org/x/time/rate#Limiter
	Limit interface {
		WaitN(ctx context.Context, n int) error
	}

	// Events, if set, is called with what happens. Calls do not overlap, and none comes after the function that was given
	// it has returned.
	Events func(Event)
	// Commit, if set, is called when a file is complete, verified and flushed to the disk, just before it gets its name. The
	// Result is the one that [File] is about to return. The caller may record the file there: a file that File has named is
	// always one that Commit was called for. The opposite does not hold: if the process is killed, or the name cannot be
	// given, the record speaks of a file that does not exist yet, or of an earlier one; the next run calls Commit again. An
	// error of Commit fails the download, which returns it as it is. The part stays as after any failure, so that the next
	// run resumes. Commit is not called for a target that is left alone, nor by [To], nor for a device or FIFO.
	Commit func(Result) error

	checkpoint time.Duration // time between two journals; 0 means a second
}

// EventKind says what an [Event] is about.
type EventKind string

const (
	// Noted is something worth a line. If Wait is not 0 a try has failed with Err, and the next one follows after Wait.
	Noted EventKind = "noted"
	// Progress comes regularly and once at the end. Done includes bytes from earlier runs; it falls if a transfer starts over.
	Progress EventKind = "progress"
	// Started comes, in a run of package batch, when the server is asked about a file or a directory. A file that is there
	// already and needs no server has none.
	Started EventKind = "started"
	// Ended comes, in a run of package batch, once for every file, and for every directory that could not be listed whole.
	Ended EventKind = "ended"
)

// Event is something that happens during a download, for Options.Events.
type Event struct {
	Kind EventKind
	// Text is one line, unless a file name in it has line ends. With Wait it says which retry in a row without progress
	// this is, "1 of 5".
	Text  string
	Done  int64 // bytes that are there
	Total int64 // bytes of the file; -1 if the server did not give it
	Err   error
	Wait  time.Duration
}

// Result describes a finished download. With an error only Kept may be set.
type Result struct {
	Size int64 // bytes of the file
	// ModTime is the server's time of the file, UTC. If the server gave none, or if it cannot be set, ModTime is the time
	// of the local file with Commit, and else zero.
	ModTime  time.Time
	Left     string     // why the target was left alone, such as "already there"; "" if it was not
	Resumed  int64      // bytes from earlier runs
	Kept     int64      // after an error: bytes in the part from which the next call resumes
	Verified string     // what the digest was compared with: "sha256 in SHA256SUMS"; "" if nothing
	Checked  time.Time  // when that was, and Sum was computed from the bytes; UTC
	Sum      digest.Sum // the digest of the file's bytes; the zero value if none was computed
}

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

// AutoSegments is the value of [Options.Segments] with which a transfer finds the number of connections.
const AutoSegments = fetch.AutoSegments

// Source is where files come from. An [*ftpexec.Client] is one. A Source must be safe for concurrent use if
// Options.Segments asks for several connections.
type Source interface {
	Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error)
	Stat(ctx context.Context, u *urlparse.URL) (ftpexec.Entry, error)
	Hash(ctx context.Context, u *urlparse.URL, algorithm string) ([]byte, error)
	List(ctx context.Context, u *urlparse.URL) iter.Seq2[ftpexec.Entry, error]
	// Entries is for the trees of package batch.
	Entries(ctx context.Context, u *urlparse.URL) iter.Seq2[ftpexec.Entry, error]
}

// Callers distinguish these causes with errors.Is. ErrLocal matches every failure on the local side.
var (
	ErrLocal      = localfile.ErrLocal
	ErrResume     = fetch.ErrResume // of Continue
	ErrDigest     = fetch.ErrDigest
	ErrUnverified = fetch.ErrUnverified // Options.Verify
)

// Existing says what happens to a target that exists. The zero value leaves the target as it is. That is a success if
// the target has the size and time of the server's file, or the digest in Options.Sum, and otherwise the error is
// [fs.ErrExist].
type Existing string

const (
	// Skip leaves the target as it is and reports success.
	Skip = Existing(decide.Skip)
	// Overwrite replaces the target once the new file is whole. It replaces a symbolic link itself, not the file that
	// the link points to.
	Overwrite = Existing(decide.Overwrite)
	// Newer replaces the target if the server's file is newer or has another size. Otherwise it leaves the target and
	// reports success.
	Newer = Existing(decide.Newer)
	// Continue uses the target as the start of the file and retrieves the rest. It compares only the target's size,
	// time and last bytes; to compare all bytes, set Options.Sum. Continue copies the target, which stays until the
	// whole file replaces it. If the call would have to start over, it fails with [ErrResume].
	Continue = Existing(decide.Continue)
	// NewerOrContinue is like Newer, but continues a target that is shorter and no older, as Continue does.
	NewerOrContinue = Existing(decide.NewerOrContinue)
)

// Options changes how a file is retrieved. The zero value and nil replace no target, resume a partial file of an
// earlier call, and retry five times.
type Options struct {
	// Existing says what happens to a target that exists.
	Existing Existing
	// NoResume starts over even if a part could be resumed.
	NoResume bool

	// Root, if not nil, is the directory that the download must not leave. The path is relative to it, and symbolic
	// links out of it are not followed. The download makes missing directories below Root, with mode 0777 less umask;
	// if it fails, it removes those that it made and that are empty. It refuses a device or FIFO. The caller closes
	// Root.
	Root *os.Root

	// Retries is how many times in a row, without progress, a failure that may pass is retried; less than 0 means
	// never, and 0 means five. With 0, there are no retries if the server was never reached, because it refuses the
	// connection, does not answer, or has no route to it: the address is probably wrong. A host without an address in
	// DNS is never retried.
	Retries int

	// Segments is how many connections fetch one file at the same time, at most 64; 0 and 1 mean one. With AutoSegments
	// the transfer begins with one and uses more, at most 16, as long as they make it faster.
	Segments int

	// Size is the size that the file must have, in bytes; nil means any. It does not apply in ASCII type. The error is
	// [ftpexec.ErrChanged].
	Size *int64
	// Sum is the digest that the file must have; the zero value means any.
	Sum digest.Sum
	// Verify looks on the server for a digest that the file must have: in lists beside it, then by HASH and similar
	// commands, then in lists of the two directories above. If there is none, the error is [ErrUnverified]. If Sum is
	// set, only Sum counts.
	Verify bool

	// Limit limits the bytes per second of all downloads that share it; nil means no limit. A [rate.Limiter] is one.
	// The download calls WaitN before it writes n bytes. WaitN waits until the limit allows them; its error ends the
	// download. If Limit has a method Burst() int, as [rate.Limiter] has, n is at most the result of Burst, and
	// otherwise at most 32 KiB.
	//
	// [rate.Limiter]: https://pkg.go.dev/golang.org/x/time/rate#Limiter
	Limit interface {
		WaitN(ctx context.Context, n int) error
	}

	// Events, if set, is called for each event. Calls do not overlap, and there are none after [File], [Get] or [To]
	// has returned.
	Events func(Event)
	// Commit, if set, is called when a file is complete, verified and flushed to the disk, just before it gets its
	// name. The Result is the one that [File] is about to return. Commit may record the file: File never names a file
	// without calling Commit first. But a record may exist without the file: if the process is killed or the rename
	// fails, the target is missing or still an earlier file, and the next run calls Commit again. If Commit returns an
	// error, the download fails with that error. The part stays as after any failure, so that the next run resumes.
	// Commit is not called for a target that is left alone, nor by [To], nor for a device or FIFO.
	Commit func(Result) error

	checkpoint time.Duration // interval between journals; 0 means a second
}

// EventKind says what an [Event] is about.
type EventKind string

const (
	// Noted is something worth a line. If Wait is not 0, a try has failed with Err, and the next try follows after
	// Wait.
	Noted EventKind = "noted"
	// Progress comes regularly and once at the end. Done includes bytes from earlier runs. It decreases if a transfer
	// starts over.
	Progress EventKind = "progress"
	// Started comes, in a run of package batch, before the run asks the server about a file or a directory. There is
	// none for a file that is already complete and needs no server.
	Started EventKind = "started"
	// Ended comes, in a run of package batch, once for every file, and for every directory that could not be listed whole.
	Ended EventKind = "ended"
)

// Event is something that happens during a download, for Options.Events.
type Event struct {
	Kind EventKind
	// Text is one line, unless a file name in it has line ends. With Wait it counts the retries in a row without
	// progress: "1 of 5".
	Text  string
	Done  int64 // bytes of the file so far
	Total int64 // bytes of the whole file; -1 if unknown
	Err   error
	Wait  time.Duration
}

// Result describes a finished download. With an error only Kept may be set.
type Result struct {
	Size int64 // bytes of the file
	// ModTime is the time of the server's file, in UTC. If the server reported none, or if the local file cannot get
	// it, ModTime is the time of the local file if Commit is set, and otherwise zero.
	ModTime  time.Time
	Left     string     // why the target was left alone, such as "already there"; "" if it was not
	Resumed  int64      // bytes from earlier runs
	Kept     int64      // after an error: bytes in the part from which the next call resumes
	Verified string     // what the digest was compared with: "sha256 in SHA256SUMS"; "" if nothing
	Checked  time.Time  // when Sum was computed and compared, in UTC
	Sum      digest.Sum // the digest of the file's bytes; the zero value if none was computed
}

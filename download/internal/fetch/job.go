// Package fetch retrieves one file to its place on the disk, or to a writer, and verifies it. Packages download and
// batch both use it. [File] asks package decide what happens to the target, fills the gaps of the part over one or more
// connections, retries, compares the digest, and gives the file its name with package partfile.
package fetch

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"sync"
	"time"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/internal/decide"
	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/download/internal/sums"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/retry"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/timing"
	"example.com/ftpfetch/urlparse"
)

// Source has the methods of download.Source that a fetch uses.
type Source interface {
	Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error)
	Stat(ctx context.Context, u *urlparse.URL) (ftpexec.Entry, error)
	Hash(ctx context.Context, u *urlparse.URL, algorithm string) ([]byte, error)
	List(ctx context.Context, u *urlparse.URL) iter.Seq2[ftpexec.Entry, error]
}

// These are causes of errors. Package download exports them.
var (
	ErrResume     = errors.New("cannot resume")
	ErrDigest     = errors.New("digest mismatch")
	ErrUnverified = errors.New("nothing to verify the file with")
)

// Options has the fields of download.Options that are not functions, under the same names. Packages download and batch
// copy them; a test in each checks that every field is copied.
type Options struct {
	decide.Flags
	Retries  int
	Segments int
	Size     *int64
	Sum      digest.Sum
	Limit    Limit
}

// Result is a download.Result.
type Result struct {
	Size     int64
	ModTime  time.Time
	Left     string
	Resumed  int64
	Kept     int64
	Verified string
	Checked  time.Time
	Sum      digest.Sum
}

// Event is something that happens: progress, or else something worth a line.
type Event struct {
	Progress    bool
	Done, Total int64
	Text        string
	Err         error
	Wait        time.Duration
}

// Record is what an earlier run recorded about a target: the digest of its bytes and, if the digest was compared, with
// what and when.
type Record struct {
	Sum      digest.Sum
	Verified string
	Checked  time.Time
	Told     time.Time // the server's time if the disk could not keep it, or zero
}

// Job is a file to fetch, and what the caller knows about it. Source, URL and, for [File], Place must be set. The
// functions may be nil.
type Job struct {
	Options
	Source Source
	URL    *urlparse.URL
	Place  *partfile.Place // where to save the file; Look has been called
	Lists  *sums.Cache     // the lists of digests that the run has read

	Checkpoint time.Duration // time between two journals; 0 means checkpointInterval

	// These are for a file of many.
	Many   bool         // the caller retries when a crowded server refuses a connection
	Listed decide.Stamp // exact size and time from the listing of the file's directory
	// Relist lists the directory again. It is nil unless the file is one of a tree.
	Relist func(context.Context) (size int64, err error)
	// Record returns the record of the target that info describes, or nil if there is none or the recorded time is
	// before newest.
	Record func(newest time.Time, info fs.FileInfo) *Record

	// The fetch calls these to tell or to ask the caller.
	Begin func() error // the fetch is about to use the server; an error ends the fetch
	// Further asks for one more connection, and returns the URL to use it for: that of the job or another one of the
	// same file; nil means that there is none to be had now. If it is nil, there is no limit. Freed says that such a
	// connection is not used any more; the error says why it failed, or is nil.
	Further func() *urlparse.URL
	Freed   func(*urlparse.URL, error)
	Wanted  func() bool // reports whether another file waits for a connection that this one could free
	Follows func() bool // reports whether another file of the server follows: see ftpexec.Request.More
	Arrived func()      // all bytes have arrived, and the rest does not need the server
	// In these two, told is the server's time if the disk has made another of it, or zero.
	Compared func(r Result, told time.Time) error // the digest of a target that stays was compared
	Commit   func(r Result, told time.Time) error // see download.Options
	Tell     func(Event)                          // calls do not overlap
}

// progressInterval is the time between two Progress events, and checkpointInterval the time between two journals.
const progressInterval = 100 * time.Millisecond
const checkpointInterval = time.Second

// job is a Job that is being done.
type job struct {
	Job
	key     string // of URL, for journals
	retry   *retry.Retrier
	begun   bool
	sought  bool     // expected has looked for a digest
	check   *check   // the digest to compare; nil if there is none
	lacking []string // lists of digests that are there and have none of the file, with the reasons
	refused string   // how the server refused to compute a digest
	reports bool     // report has started Progress events
	quiet   func()   // stops them
}

func newJob(from Job) *job {
	j := &job{Job: from, key: from.URL.Key(), quiet: func() {}}
	j.Checkpoint = cmp.Or(j.Checkpoint, checkpointInterval)
	if j.Lists == nil {
		j.Lists = new(sums.Cache)
	}
	if tell := j.Tell; tell != nil {
		var one sync.Mutex
		j.Tell = func(e Event) {
			one.Lock()
			defer one.Unlock()
			tell(e)
		}
	}
	j.retry = retry.New(retry.Policy{
		Retries: j.Retries, ReturnCrowded: j.Many,
		Tell: func(err error, try int, wait time.Duration) {
			which := fmt.Sprintf("%d of %d", try, retry.Count(j.Retries))
			j.tell(Event{Err: err, Text: which, Wait: wait})
		},
	})
	return j
}

func (j *job) tell(e Event) {
	if j.Tell != nil {
		j.Tell(e)
	}
}

func (j *job) note(text string) { j.tell(Event{Text: text}) }

// reading tells the user that the run is about to read n bytes of the file at path, if that takes a while.
func (j *job) reading(path string, n int64) {
	if n >= 1<<30 { // this takes seconds
		j.note(fmt.Sprintf("%s: reading %d bytes to check them", path, n))
	}
}

// report starts to send the result of count as an event at each progressInterval, until quiet is called. Later calls do
// nothing. count only reads counters, so it does not slow the data down.
func (j *job) report(count func() (done, total int64)) {
	if j.Tell == nil || j.reports {
		return
	}
	j.reports = true
	tell := func() {
		done, total := count()
		j.tell(Event{Progress: true, Done: done, Total: total})
	}
	tell()
	end := timing.Every(progressInterval, tell)
	j.quiet = func() {
		end()
		tell()
	}
}

// inTree reports whether the file was found in the listing of a directory.
func (j *job) inTree() bool { return j.Relist != nil }

// text reports whether the transfer is in ASCII type, which has neither a comparable size nor offsets.
func (j *job) text() bool { return j.URL.Type == urlparse.TypeASCII }

// begin calls Begin once, before the server is needed.
func (j *job) begin() error {
	if j.begun || j.Begin == nil {
		return nil
	}
	j.begun = true
	return j.Begin()
}

// ask asks the server for the size and time of its file. If the server refuses to report either, ask returns unknown
// values and no error: only RETR shows whether the file exists.
func (j *job) ask(ctx context.Context) (said decide.Stamp, err error) {
	if err := j.begin(); err != nil {
		return said, err
	}
	err = j.retry.Do(ctx, func() error {
		info, err := j.Source.Stat(ctx, j.URL)
		said = decide.Stamp{Size: info.Size, Time: info.ModTime}
		if e, ok := errors.AsType[*ftpexec.Error](err); ok && e.Stage == ftpexec.StageTransfer && e.Code == 550 {
			said = decide.Unknown
			return nil
		}
		return err
	})
	return said, err
}

// dated reports whether pieces of a file with this time may be joined. Without a time only the size and the laps can be
// compared, which is enough only if Existing says to continue.
func (j *job) dated(modTime time.Time) bool { return !modTime.IsZero() || j.Resumes() }

// sized returns an error if n is known and is not Options.Size. what is the subject of the message.
func (j *job) sized(what string, n int64) error {
	if want := j.Size; want != nil && n >= 0 && n != *want && !j.text() {
		return errorf(ftpexec.ErrChanged, "%s %d bytes, not the expected %d", what, n, *want)
	}
	return nil
}

// errorf returns an error with this cause and text. The error does not blame the local side.
func errorf(cause error, format string, args ...any) error {
	return &localfile.Error{Reason: fmt.Sprintf(format, args...), Err: cause, Elsewhere: true}
}

// Package fetch takes one file from its URL to its place on the disk, or to a writer, verified: it is the engine of
// packages download and batch, for one file and for a million. [File] decides with package decide what happens to what is
// there, fills the gaps of the part over one connection or several, retries, compares the digest, and gives the file its
// name with package partfile.
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
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/retry"
	"example.com/ftpfetch/urlparse"
)

// Source is what a fetch needs of a download.Source.
type Source interface {
	Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error)
	Stat(ctx context.Context, u *urlparse.URL) (ftpexec.Entry, error)
	Hash(ctx context.Context, u *urlparse.URL, algorithm string) ([]byte, error)
	List(ctx context.Context, u *urlparse.URL) iter.Seq2[ftpexec.Entry, error]
}

// The causes of errors, which package download exports.
var (
	ErrResume     = errors.New("cannot resume")
	ErrDigest     = errors.New("digest mismatch")
	ErrUnverified = errors.New("nothing to verify the file with")
)

// Options are the fields of download.Options that are not functions, by the same names. Packages download and batch copy
// them; a test in each holds that they pass every field on.
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

// Event is something that happens: progress, or else what is worth a line.
type Event struct {
	Progress    bool
	Done, Total int64
	Text        string
	Err         error
	Wait        time.Duration
}

// Record is what an earlier run has recorded of a file that is there: the digest of its bytes, and with what that was
// compared and when, if it was.
type Record struct {
	Sum      digest.Sum
	Verified string
	Checked  time.Time
}

// Job is a file to fetch, and what the caller knows about it. Source, URL and, for [File], Place must be set. A function
// that is nil is not called.
type Job struct {
	Options
	Source Source
	URL    *urlparse.URL
	Place  *partfile.Place // where the file is to be; it has been looked at
	Lists  *sums.Cache     // of the lists of digests that files of the run have needed

	Checkpoint time.Duration // time between two journals; 0 means checkpointInterval

	// One of many.
	Many   bool         // a connection that a crowded server refuses is not retried here
	Listed decide.Stamp // what the listing of the file's directory says exactly
	// Relist lists the directory again. It is nil unless the file is one of a tree.
	Relist func(context.Context) (size int64, err error)
	// Record returns the record of a file that is there, or nil if there is none that is newer than newest.
	Record func(newest time.Time, info fs.FileInfo) *Record

	// What the caller is told.
	Begin    func() error       // the server is needed from now on; an error ends the fetch
	Further  func() int         // how many connections a file may have besides the first
	Refused  func(error)        // a further connection was refused because there are too many
	Follows  func() bool        // whether another file of the server follows: see ftpexec.Request.More
	Arrived  func()             // all bytes are there, and what follows does not need the server
	Compared func(Result) error // a file that is left alone had its digest compared
	Commit   func(Result) error // see download.Options
	Tell     func(Event)        // calls do not overlap
}

// progressInterval is the time between two Progress events, and checkpointInterval the time between two journals.
const progressInterval = 100 * time.Millisecond
const checkpointInterval = time.Second

// job is a Job at work.
type job struct {
	Job
	key     string // of URL, which journals write
	retry   *retry.Retrier
	begun   bool
	sought  bool   // a digest to compare was looked for,
	check   *check // and this is it; nil if there is none
	reports bool   // there are Progress events
	quiet   func() // ends them
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

// reading tells that the run first reads n bytes of the file at path, if that takes a while.
func (j *job) reading(path string, n int64) {
	if n >= 1<<30 { // which takes seconds
		j.note(fmt.Sprintf("%s: reading %d bytes to check them", path, n))
	}
}

// report tells the result of count at each progressInterval from the first call on, until quiet is called. It only
// reads counters and does not slow the data down.
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
	end := retry.Every(progressInterval, tell)
	j.quiet = func() {
		end()
		tell()
	}
}

// inTree reports whether the file was found in the listing of a directory.
func (j *job) inTree() bool { return j.Relist != nil }

// text reports whether the transfer is in ASCII type, which has neither a comparable size nor offsets.
func (j *job) text() bool { return j.URL.Type == urlparse.TypeASCII }

// begin says once that the server is needed.
func (j *job) begin() error {
	if j.begun || j.Begin == nil {
		return nil
	}
	j.begun = true
	return j.Begin()
}

// ask asks the server for its file's size and time. If the server refuses to tell anything nothing is known: only RETR
// shows whether there is a file.
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

// dated reports whether pieces of a file with this time may be joined. Without a time only Continue says so: the size and
// the laps are all that can be compared.
func (j *job) dated(modTime time.Time) bool { return !modTime.IsZero() || j.Resumes() }

// sized returns an error if something has n bytes, which may be unknown, and Options.Size says another number.
func (j *job) sized(what string, n int64) error {
	if want := j.Size; want != nil && n >= 0 && n != *want && !j.text() {
		return errorf(ftpexec.ErrChanged, "%s %d bytes, not the expected %d", what, n, *want)
	}
	return nil
}

// errorf returns an error with this cause and text. The local side is not at fault.
func errorf(cause error, format string, args ...any) error {
	return &localfile.Error{Reason: fmt.Sprintf(format, args...), Err: cause, Elsewhere: true}
}

package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/internal/decide"
	"example.com/ftpfetch/download/internal/sums"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/retry"
	"example.com/ftpfetch/internal/local/ledger"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/timing"
	"example.com/ftpfetch/urlparse"
)

// fetch is one URL whose file is being fetched: to a file (type file), or to a writer (type stream).
type fetch struct {
	Options
	src    FullSource
	url    *urlparse.URL
	key    string // of url, for journals
	caller caller
	lists  *sums.Cache  // the lists of digests that the run has read
	listed decide.Stamp // exact size and time from the listing of the file's directory
	inTree bool         // the file was found in that listing

	retry      *retry.Retrier
	retries    atomic.Int64 // failures that were retried
	begun      bool
	saidBefore bool     // what stat returned is from before the file's turn
	sought     bool     // expected has looked for a digest
	check      *check   // the digest to compare; nil if there is none
	lacking    []string // lists of digests that are there and have none of the file, with the reasons
	refused    string   // how the server refused to compute a digest
	silent     bool     // nobody wants Progress events
	reports    bool     // report has started them
	quiet      func()   // stops them
	telling    sync.Mutex
}

// caller is whoever wants the file: a call of [File] or [To], or a run of many files.
type caller interface {
	// begin says that the fetch is about to use the server. An error ends the fetch.
	begin() error
	// said returns what the server has said of the file before, once, or nil if it was not asked.
	said() *decide.Stamp
	// askAhead may ask the server about other files, now that it has answered about this one.
	askAhead(ctx context.Context)
	// spare returns the URL for one more connection, which is that of the fetch or another one of the same file. It
	// returns nil if there is no connection to be had now.
	spare() *urlparse.URL
	// giveBack says that a connection from spare is not used any more. err says why it failed, or is nil.
	giveBack(u *urlparse.URL, err error)
	// wanted reports whether another file waits for a connection that this fetch could give back.
	wanted() bool
	// follows reports whether another file of the server follows: see [ftpexec.Request.More].
	follows() bool
	// arrived says that all bytes have arrived, and the rest does not need the server.
	arrived()
	// relist lists the file's directory again and returns the size that the file has now.
	relist(ctx context.Context) (size int64, err error)
	// recorded returns the record of the target that info describes, or nil if there is none or the recorded time is
	// before newest.
	recorded(newest time.Time, info fs.FileInfo) *record
	// before returns what an earlier run recorded about the file, if the caller wants to fetch it only once; else nil.
	before() *ledger.Record
	// takesOver says that the fetch has the part of an earlier run now, which may soon be gone. target is what has the name
	// of the file, or nil; unnamed reports whether the part may be that of a file that was recorded with a size.
	takesOver(target fs.FileInfo, unnamed func(size int64) bool) error
	// remembers reports whether the caller would believe the record of a file that is nowhere.
	remembers() bool
	// stays says that the target stays. compared means that its digest was compared just now. told is the server's time
	// if the disk has made another of it, or zero.
	stays(r Result, told time.Time, compared bool) error
	// commits reports whether commit wants to know of the file.
	commits() bool
	// announcement returns what says that the file is about to get its name, if commit says so only after that; or nil.
	announcement() func() error
	// commit says that the file is about to get its name: see [Options.Commit]. told is as for stays.
	commit(r Result, told time.Time) error
	// tell gets each event. Its calls do not overlap.
	tell(e Event)
}

// record is what an earlier run recorded about a target: the digest of its bytes and, if the digest was compared, with
// what and when.
type record struct {
	sum      digest.Sum
	verified string
	checked  time.Time
	told     time.Time // the server's time if the disk could not keep it, or zero
}

// single is the caller of a fetch that is not part of a run.
type single struct {
	*Options
	url *urlparse.URL
}

func (single) begin() error                            { return nil }
func (single) said() *decide.Stamp                     { return nil }
func (single) askAhead(context.Context)                {}
func (s single) spare() *urlparse.URL                  { return s.url }
func (single) giveBack(*urlparse.URL, error)           {}
func (single) wanted() bool                            { return false }
func (single) follows() bool                           { return false }
func (single) arrived()                                {}
func (single) relist(context.Context) (int64, error)   { return -1, nil }
func (single) recorded(time.Time, fs.FileInfo) *record { return nil }
func (single) before() *ledger.Record                  { return nil }
func (single) remembers() bool                         { return false }
func (single) stays(Result, time.Time, bool) error     { return nil }
func (single) announcement() func() error              { return nil }
func (s single) commits() bool                         { return s.Commit != nil }
func (s single) commit(r Result, _ time.Time) error    { return s.Commit(r) }

func (single) takesOver(fs.FileInfo, func(int64) bool) error { return nil }

func (s single) tell(e Event) {
	if s.Events != nil {
		s.Events(e)
	}
}

// progressInterval is the time between two Progress events, and checkpointInterval the time between two journals.
const progressInterval = 100 * time.Millisecond
const checkpointInterval = time.Second

// newFetch returns the fetch of a URL. lists are the lists of digests that the caller has read. crowds reports whether
// the caller retries when a crowded server refuses a connection.
func newFetch(src Source, u *urlparse.URL, o Options, c caller, lists *sums.Cache, crowds bool) *fetch {
	f := &fetch{
		Options: o, src: full(src), url: u, key: u.Key(), caller: c, lists: lists, quiet: func() {},
		listed: decide.Unknown,
	}
	f.checkpoint = cmp.Or(f.checkpoint, checkpointInterval)
	f.retry = retry.New(retry.Policy{
		Retries: o.Retries, Unreached: o.RetryUnreached, ReturnCrowded: crowds,
		Tell: func(err error, try int, wait time.Duration) {
			f.retries.Add(1)
			which := fmt.Sprintf("%d of %d", try, retry.Count(o.Retries))
			f.tell(Event{Kind: Noted, Err: err, Text: which, Wait: wait})
		},
	})
	return f
}

func (f *fetch) tell(e Event) {
	f.telling.Lock()
	defer f.telling.Unlock()
	f.caller.tell(e)
}

func (f *fetch) note(text string) { f.tell(Event{Kind: Noted, Text: text}) }

// reading tells the user that the run is about to read n bytes of the file at path, if that takes a while.
func (f *fetch) reading(path string, n int64) {
	if n >= 1<<30 { // this takes seconds
		f.note(fmt.Sprintf("%s: reading %d bytes to check them", path, n))
	}
}

// report starts to send the result of count as an event at each progressInterval, until quiet is called. Later calls do
// nothing. count only reads counters, so it does not slow the data down.
func (f *fetch) report(count func() (done, total int64)) {
	if f.silent || f.reports {
		return
	}
	f.reports = true
	tell := func() {
		done, total := count()
		f.tell(Event{Kind: Progress, Done: done, Total: total})
	}
	tell()
	end := timing.Every(progressInterval, tell)
	f.quiet = func() {
		end()
		tell()
	}
}

// text reports whether the transfer is in ASCII type, which has neither a comparable size nor offsets.
func (f *fetch) text() bool { return f.url.Type == urlparse.TypeASCII }

// begin tells the caller once, before the server is needed.
func (f *fetch) begin() error {
	if f.begun {
		return nil
	}
	f.begun = true
	return f.caller.begin()
}

// stat asks the server for the size and time of the file, unless it has said them before. The values that the server does
// not give are unknown.
func (f *fetch) stat(ctx context.Context) (decide.Stamp, error) {
	if said := f.caller.said(); said != nil {
		f.saidBefore = true
		return *said, nil
	}
	f.saidBefore = false
	if err := f.begin(); err != nil {
		return decide.Unknown, err
	}
	said := decide.Unknown
	var refusal error // which is an answer too
	err := f.retry.Do(ctx, func() error {
		e, err := f.src.Stat(ctx, f.url)
		refusal = nil
		if err == nil {
			said = decide.Stamp{Size: e.Size, Time: e.ModTime}
		} else if refused(err) {
			refusal = err
			return nil
		}
		return err
	})
	if err = cmp.Or(err, refusal); err == nil {
		f.caller.askAhead(ctx)
	}
	return said, err
}

// refused reports whether err is the server's reply to a question about a file: it is not there, or the server does not
// tell.
func refused(err error) bool {
	e, ok := errors.AsType[*ftpexec.Error](err)
	return ok && e.Stage == ftpexec.StageTransfer && e.Code == 550
}

// ask is stat for a file that may be fetched. If the server refuses to report anything, ask returns unknown values and
// no error: only RETR shows whether the file exists.
func (f *fetch) ask(ctx context.Context) (decide.Stamp, error) {
	said, err := f.stat(ctx)
	if refused(err) {
		return decide.Unknown, nil
	}
	return said, err
}

// mayJoin reports whether pieces of a file with this time may be joined. Without a time only the size and the
// overlaps can be compared, which is enough only if Existing says to continue.
func (f *fetch) mayJoin(modTime time.Time) bool { return !modTime.IsZero() || f.flags().Resumes() }

// checkSize returns an error if n is known and is not Options.Size. what is the subject of the message.
func (f *fetch) checkSize(what string, n int64) error {
	if want := f.Size; want != nil && n >= 0 && n != *want && !f.text() {
		return errorf(ftpexec.ErrChanged, "%s %d bytes, not the expected %d", what, n, *want)
	}
	return nil
}

// errorf returns an error with this cause and text. The error does not blame the local side.
func errorf(cause error, format string, args ...any) error {
	return &localfile.Error{Reason: fmt.Sprintf(format, args...), Err: cause, Elsewhere: true}
}

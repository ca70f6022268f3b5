package download

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ftpfetch/download/internal/decide"
	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/retry"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/internal/timing"
	"example.com/ftpfetch/urlparse"
)

// maxChanges is how often a transfer starts over because the server's file has changed. After that it fails with
// ftpexec.ErrChanged.
const maxChanges = 3

// transfer fetches the bytes that the part lacks.
type transfer struct {
	*fetch
	part     *partfile.Part
	stale    string       // why to drop the part's bytes once the server has opened the file; "" means not to
	segments int          // connections to use at most
	search   search       // finds the number of connections if Options.Segments asks for it
	opened   atomic.Int64 // nanoseconds from a request to its first byte, the last time
	server   struct {
		noRestart string      // why REST cannot be used; "" if it can
		omitted   atomic.Bool // it once omitted a size or time that it had reported before
		changes   int         // how often its file has changed
	}

	mu sync.Mutex
	tally
}

// tally counts what has arrived since the transfer last started over.
type tally struct {
	resumed   int64 // bytes from earlier runs
	responses int   // responses that brought bytes of the file; 1 for all earlier runs
	confirmed bool  // the server has confirmed the end of the file
}

// redo is the error of a try that makes the next try start over, without a pause.
type redo struct {
	why     string
	changed bool // the server's file has changed; else REST cannot be used
}

func (r *redo) Error() string { return r.why }

// errNoREST means that the server does not support REST.
var errNoREST = &redo{why: "the server cannot start in the middle of a file"}

// errMisplaced means that two responses have different bytes at the same offset.
var errMisplaced = &redo{
	why: "what is there differs from the server's file, or the server does not start where it is asked to",
}

// errBeyond means that a response to REST went on beyond the file's end. Then no response to REST can be trusted, even
// if its overlap matches.
var errBeyond = &redo{why: "the server does not start where it is asked to"}

// run tries until the part has every byte and the server has confirmed the end of the file.
func (t *transfer) run(ctx context.Context) error {
	transferring, over := context.WithCancel(ctx)
	defer t.checkpoints(transferring)()
	defer over() // a file that is whole needs no checkpoint any more
	defer func() { t.quiet() }()
	high, _ := t.count()
	for {
		err := t.try(ctx)
		if failed := t.part.Health(); failed != nil || err == nil {
			return failed
		}
		n, _ := t.count()
		if over, ok := errors.AsType[*redo](err); ok {
			err = t.learn(over)
		} else {
			err = t.retry.Again(ctx, err, n-high)
		}
		if err != nil {
			return err
		}
		high = max(high, n)
	}
}

// checkpoints writes the journal while bytes arrive, until its result is called or ctx ends: first after t.checkpoint,
// then up to four times as often, as long as that takes at most a tenth of the time. It also has the system write the
// bytes to the disk as they come, so that little is left for the last flush.
func (t *transfer) checkpoints(ctx context.Context) (stop func()) {
	const often = 4
	next := time.Now().Add(t.checkpoint)
	return timing.Every(t.checkpoint/often, func() {
		t.part.StartFlush()
		begun := time.Now()
		if begun.Before(next) {
			return
		}
		_ = t.part.Checkpoint(ctx)
		now := time.Now()
		next = now.Add(min(9*now.Sub(begun), t.checkpoint))
	})
}

// count returns how many bytes the part has, and how many the file has, or -1.
func (t *transfer) count() (done, total int64) {
	s := t.part.Snapshot()
	return s.Done.Octets(), s.Size
}

// learn prepares the next try after a try that ended with over.
func (t *transfer) learn(over *redo) error {
	if over.changed {
		t.stale = over.why
		t.server.changes++
		t.retry.Anew()
		if t.server.changes > maxChanges {
			const what = "the file is changing on the server"
			return errorf(ftpexec.ErrChanged, "%s: %s", what, over.why)
		}
		return nil
	}
	t.server.noRestart = over.why
	if over != errBeyond {
		return nil
	}
	t.part.DropFrom(t.part.Snapshot().Adopted)
	if err := t.mayDiscard(over.why); err != nil {
		return err
	}
	return t.startOver(over.why) // at once, because the journal vouches for bytes that may be wrong
}

// try fetches the gaps in the part, in order, and checks at the end that all pieces are of one file.
func (t *transfer) try(ctx context.Context) error {
	why, err := t.forgo()
	for err == nil {
		s := t.part.Snapshot()
		if why != "" || len(s.Done) == 0 && !t.confirmed {
			s = partfile.State{Size: -1} // no bytes are kept, so the file may have any size and time
		}
		gap, complete := t.next(s)
		if complete && why == "" {
			if err := t.checkUnchanged(ctx); err != nil {
				return err
			}
			return t.asListed(ctx)
		}
		err = t.step(ctx, s, gap, why)
		why = ""
	}
	return err
}

// forgo returns why the transfer cannot resume from the part, or "". It returns an error if the transfer must not start
// over.
func (t *transfer) forgo() (why string, err error) {
	s := t.part.Snapshot()
	switch {
	case t.stale != "":
		why = t.stale
	case len(s.Done) == 0:
		return "", nil
	case t.text():
		why = decide.CannotResumeText
	case t.server.noRestart != "":
		why = t.server.noRestart
	case s.Size < 0:
		why = "the server does not report the file's size"
	case t.mayJoin(s.ModTime):
		return "", nil
	default:
		why = undated
	}
	return why, t.mayDiscard(why)
}

// startOver drops all bytes of the part.
func (t *transfer) startOver(why string) error {
	t.note(why + ": starting over")
	if t.check != nil {
		t.check.reset()
	}
	t.stale = ""
	t.tally = tally{}
	return t.part.Reset()
}

// next returns the first gap in s. The end of the gap is -1 if the size is unknown. If no bytes are missing but the
// server has not confirmed the end, the gap is the last byte.
func (t *transfer) next(s partfile.State) (gap partfile.Span, complete bool) {
	if s.Size < 0 {
		return partfile.Span{Start: s.Done.End(), End: -1}, t.confirmed
	}
	if missing := s.Done.Missing(s.Size); len(missing) > 0 {
		return missing[0], false
	}
	if !t.confirmed {
		t.part.DropFrom(s.Size - 1)
	}
	return partfile.Span{Start: s.Size - 1, End: s.Size}, t.confirmed
}

// step fetches a gap in s, or all gaps over several connections if the options ask for them and the file is large
// enough. If why is not "", the gap is the whole file, and step drops the part's bytes once the server has opened the
// file.
func (t *transfer) step(ctx context.Context, s partfile.State, gap partfile.Span, why string) error {
	resp, err := t.openListed(ctx, s, gap.Start)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if why != "" {
		if err := t.startOver(why); err != nil {
			return err
		}
	}
	if len(s.Done) > 0 && !t.part.Described() {
		t.resumed = s.Done.Octets()
		t.responses = 1
		t.note(fmt.Sprintf("resuming at %s", printable.Size(t.resumed)))
	}
	t.part.Describe(resp.Size, resp.ModTime)
	t.report(t.count)
	divisible := t.server.noRestart == "" && resp.Size >= 2*minSegment && t.mayJoin(resp.ModTime)
	if t.segments > 1 && divisible {
		if t.part.Scatters() {
			return t.parallel(ctx, resp)
		}
		t.segments = 1
		t.note(t.part.Name() + ": the disk takes bytes only in order: using one connection")
	}
	if gap.End < 0 {
		gap.End = resp.Size
	}
	_, err = t.copySpan(ctx, resp, gap, t.check)
	return err
}

// overlapSize is how many bytes before its span a response also covers. They are compared with the part, because they
// differ if a server does not start where it is asked to.
const overlapSize = 512

// openListed is open for the URL of the job. If the name begins or ends with a blank, the file must have the size in
// the listing of its directory: see errBlanks. It may have changed since the listing, so openListed lists it again
// first.
func (t *transfer) openListed(ctx context.Context, s partfile.State, start int64) (*ftpexec.Response, error) {
	resp, err := t.open(ctx, t.url, s, start)
	if err != nil || t.listedAs(resp.Size) {
		return resp, err
	}
	resp.Body.Close() // the listing may need its connection
	t.listed.Size, err = t.caller.relist(ctx)
	if err != nil {
		return nil, err
	}
	if t.listedAs(resp.Size) {
		resp, err = t.open(ctx, t.url, s, start)
		if err != nil || t.listedAs(resp.Size) {
			return resp, err
		}
		resp.Body.Close()
	}
	return nil, errBlanks(resp.Size, t.listed.Size)
}

// listedAs reports whether a file of this size may be the one that the listing names, which is a question only for a
// name that begins or ends with a blank.
func (t *transfer) listedAs(size int64) bool {
	return !t.inTree || t.text() || !hasBlankEnd(t.url.Name) ||
		size < 0 || t.listed.Size < 0 || size == t.listed.Size
}

// hasBlankEnd reports whether a name begins or ends with a blank.
func hasBlankEnd(name string) bool { return strings.TrimSpace(name) != name }

// errBlanks returns the error for a name with a blank at an end that brought a file of another size than its listing
// says. Relays and servers that cut such blanks report and send the file of the shorter name: only the listing shows
// it.
func errBlanks(came, listed int64) error {
	return errorf(ftpexec.ErrChanged, "the server's file has %s, but the listing of its directory says %d: "+
		"the server, or a relay before it, may cut the blanks at the ends of the name",
		printable.Count(came, "byte", "bytes"), listed)
}

// open requests the file at u, which is the URL of the job or another one of the same file, from the offset start on.
// It compares the size and time that the server reports with s, the state of the part, and the overlap with the
// part's bytes.
func (t *transfer) open(
	ctx context.Context, u *urlparse.URL, s partfile.State, start int64,
) (*ftpexec.Response, error) {
	from := max(0, start-overlapSize)
	asked := time.Now()
	resp, err := t.src.Do(ctx, &ftpexec.Request{URL: u, Offset: from, More: t.caller.follows, Unproven: true})
	e, ok := errors.AsType[*ftpexec.Error](err)
	mayPass := ok && e.Code/100 == 4 // temporary: the server may still support REST
	if from > 0 && errors.Is(err, ftpexec.ErrNoRestart) && !mayPass && u == t.url {
		err = errNoREST
	}
	if err != nil {
		return nil, err
	}
	t.retry.Reached.Store(true)
	modTime := resp.ModTime
	if u != t.url && t.check != nil { // the digest decides: servers give copies of a file different times
		modTime = s.ModTime
	}
	if err = t.checkSize("the server's file has", resp.Size); err == nil {
		err = t.unlike(s, resp.Size, modTime)
	}
	if err == nil {
		err = t.compare(resp.Body, partfile.Span{Start: from, End: start})
	}
	if over, ok := errors.AsType[*redo](err); ok && u != t.url {
		err = &retry.Judged{Err: errorf(ftpexec.ErrChanged, "%s: %v", u.Redacted(), over)}
	}
	t.opened.Store(int64(time.Since(asked)))
	if err != nil {
		resp.Body.Close()
		return nil, err
	}
	return resp, nil
}

// opening returns how long it takes to open a connection and get its first byte.
func (t *transfer) opening() time.Duration { return time.Duration(t.opened.Load()) }

// undated is the reason not to join pieces of a file without a time.
const undated = "the server does not always report the file's time, so it may be another file"

// mayDiscard returns an error if the part starts with bytes of the target, which Continue must not drop.
func (t *transfer) mayDiscard(why string) error {
	if t.part.Snapshot().Adopted == 0 {
		return nil
	}
	return errorf(ErrResume, "%s: %s", t.part.Path, why)
}

// damaged returns the message that some blocks of a part do not match their journal.
func damaged(part string, bad, all int) string {
	return fmt.Sprintf("%s: %d of %d blocks are damaged: fetching them again", part, bad, all)
}

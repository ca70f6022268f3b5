package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"
	"time"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/download/internal/sums"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/retry"
	"example.com/ftpfetch/urlparse"
)

// File retrieves the file that u names and saves it under path, whole or not at all. o may be nil.
//
// File checks for local obstacles before it asks the server for the file: an existing target ([fs.ErrExist]), a directory
// that is missing or not writable ([ErrLocal]), an impossible name. It writes directly to a character device or FIFO. With
// Options.Root path is relative to that directory, and missing directories are made.
//
// Errors from the server are those of [ftpexec.Client.Do] and of reading the Body. After an error NAME.ftpfetch.part keeps
// the bytes that arrived, if the next call can resume from them. After [ErrDigest] they are in NAME.ftpfetch.bad.
func File(ctx context.Context, src Source, u *urlparse.URL, path string, o *Options) (r Result, err error) {
	if err := o.check(); err != nil {
		return Result{}, err
	}
	j := newJob(src, u, o)
	if j.o.Root == nil && standard(path) != nil {
		return j.saveStream(ctx, path)
	}
	to, alone := j.place, partfile.Group{Attempt: localfile.Attempt(ctx)}
	if to == nil {
		if to, err = alone.Find(j.o.Root, path); err != nil {
			return Result{}, err
		}
	}
	defer func() {
		to.Close(err != nil)
		if err = cmp.Or(err, alone.Dirs.Close()); err != nil {
			r = Result{Kept: r.Kept}
		}
	}()
	err = to.Again(func() (err error) {
		if to.Stream {
			r, err = j.saveStream(ctx, path)
		} else if r, err = j.file(ctx, to); errors.Is(err, partfile.ErrMoved) {
			err = cmp.Or(to.Look(), err)
		}
		return err
	})
	return r, err
}

// file is [File] for a target that is a regular file or does not exist. The error is [partfile.ErrMoved] if another run
// changed the target meanwhile.
func (j *job) file(ctx context.Context, to *partfile.Place) (result Result, err error) {
	c, err := j.choose(ctx, to)
	switch {
	case err != nil:
		return Result{}, err
	case c.skip != "":
		result, err = j.leaveAlone(ctx, to, c.skip)
		if !j.o.Newer || !errors.Is(err, ErrDigest) {
			return result, cmp.Or(err, to.Settle())
		}
		j.o.note(err.Error() + ": fetching it again")
		c = choice{overwrite: true}
	}
	t, err := j.find(ctx, to, c)
	if err != nil {
		return Result{}, err
	}
	defer func() {
		if kept := t.part.Leave(t.text()); err != nil {
			result.Kept = kept
		}
	}()
	if t.check, err = j.expected(ctx); err == nil {
		err = t.run(ctx)
	}
	if err != nil {
		return Result{}, err
	}
	j.arrives()
	return t.finish(ctx, to, c.overwrite)
}

func (t *transfer) finish(ctx context.Context, to *partfile.Place, overwrite bool) (Result, error) {
	s := t.part.Snapshot()
	size := s.Done.Octets()
	result := Result{Size: size, ModTime: cmp.Or(s.ModTime, t.listedTime), Resumed: t.resumed}
	t.o.reading(t.part.Name(), size)
	err := cmp.Or(t.sized("what arrived has", size), t.part.Intact(ctx))
	if err == nil && t.check != nil {
		err = t.verify(ctx, size, &result)
	}
	if err != nil {
		return Result{}, err
	}
	last := partfile.Finish{Overwrite: overwrite, ModTime: result.ModTime, Note: t.o.note}
	if t.o.Commit != nil {
		last.Commit = func(modTime time.Time) error {
			result.ModTime = modTime
			return t.o.Commit(result)
		}
	}
	err = t.part.Publish(last)
	if t.o.Skip && errors.Is(err, fs.ErrExist) {
		t.part.Discard()
		return verifiedAlone(ctx, to, t.check, Result{Left: leftExists, Size: to.Size()})
	}
	return result, err
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

type job struct {
	src     Source
	extra   Source // for further connections
	u       *urlparse.URL
	key     urlparse.Key // of u, which journals write
	o       *Options
	retry   *retry.Retrier
	arrives func()          // see member
	reports bool            // there are Progress events,
	quiet   func()          // which this ends
	place   *partfile.Place // has been looked at, or nil
	lists   *sums.Cache

	listedSize func(ctx context.Context, again bool) (int64, error) // see member; nil for a file alone
	listedTime time.Time
}

// text reports whether the transfer is in ASCII type, which has neither a comparable size nor offsets.
func (j *job) text() bool { return j.u != nil && j.u.Type == urlparse.TypeASCII }

// newJob returns a job with a copy of o that has its defaults filled in.
func newJob(src Source, u *urlparse.URL, o *Options) *job {
	j := &job{src: src, u: u, key: u.Key(), o: new(Options), extra: src, arrives: func() {}, quiet: func() {}, lists: new(sums.Cache)}
	if o != nil {
		*j.o = *o
	}
	j.o.checkpoint = cmp.Or(j.o.checkpoint, checkpointInterval)
	if tell := j.o.Events; tell != nil {
		var one sync.Mutex
		j.o.Events = func(e Event) { one.Lock(); defer one.Unlock(); tell(e) }
	}
	policy := retry.Policy{Retries: j.o.Retries, Connect: j.o.RetryConnect}
	policy.Tell = func(err error, try int, wait time.Duration) {
		j.o.notify(Event{Err: err, Text: fmt.Sprintf("%d of %d", try, retry.Count(j.o.Retries)), Wait: wait})
	}
	if m, ok := src.(member); ok {
		j.extra, j.arrives, j.place, j.lists, policy.ReturnCrowded = m.Extra(), m.Arrived, m.Place(), m.Lists(), true
		j.listedSize = m.Size
		j.listedTime = m.ModTime()
	}
	j.retry = retry.New(policy)
	return j
}

const cannotResumeText = "a file in ASCII type (;type=a) cannot be resumed"
const undated = "the server does not always report the file's time, so it may be another file"

// dated reports whether pieces of a file with this time may be joined. Without a time only Continue says so: the size and
// the laps are all that can be compared.
func (j *job) dated(modTime time.Time) bool { return !modTime.IsZero() || j.o.Continue }

// sized returns an error if something has n bytes, which may be unknown, and Options.Size says another number.
func (j *job) sized(what string, n int64) error {
	if want := j.o.Size; want != nil && n >= 0 && n != *want && !j.text() {
		return because(ftpexec.ErrChanged, "%s %d bytes, not the expected %d", what, n, *want)
	}
	return nil
}

// stat asks the server for its file's size and time. If the server refuses to tell anything nothing is known: only RETR
// shows whether there is a file.
func (j *job) stat(ctx context.Context) (*ftpexec.Entry, error) {
	info, err := j.src.Stat(ctx, j.u)
	if e, ok := errors.AsType[*ftpexec.Error](err); ok && e.Stage == "transfer" && e.Code == 550 {
		return &ftpexec.Entry{Size: -1}, nil
	}
	return &info, err
}

func (j *job) ask(ctx context.Context) (info *ftpexec.Entry, err error) {
	err = j.retry.Do(ctx, func() error { info, err = j.stat(ctx); return err })
	return info, err
}

// report tells the result of count at each progressInterval from the first call on, until quiet is called. It only
// reads counters and does not slow the data down.
func (j *job) report(count func() (done, total int64)) {
	if j.o.Events == nil || j.reports {
		return
	}
	j.reports = true
	tell := func() {
		done, total := count()
		j.o.Events(Event{Kind: Progress, Done: done, Total: total})
	}
	tell()
	end := retry.Every(progressInterval, tell)
	j.quiet = func() { end(); tell() }
}

type choice struct {
	skip      string         // why to leave it alone; "" means not to
	overwrite bool           // it may be replaced
	start     fs.FileInfo    // not nil: Continue takes it as the start of the server's file,
	whole     *ftpexec.Entry // which is this
}

// choose decides what to do about the target. It asks the server if Newer or Continue make that depend on its file.
func (j *job) choose(ctx context.Context, to *partfile.Place) (choice, error) {
	switch {
	case to.Info == nil, j.o.Overwrite && !j.o.Newer:
		return choice{overwrite: j.o.Overwrite}, nil
	case j.o.Newer, j.o.Continue:
		return j.against(ctx, to)
	case j.o.Skip:
		return choice{skip: leftExists}, nil
	}
	return choice{}, &localfile.Error{Path: to.Path, Reason: "already exists", Err: fs.ErrExist}
}

// against decides what to do about the target by what the server says about its file. Newer retrieves one that is newer or
// of another size. Continue takes the target for its start; with Newer, only if the target is no older and shorter.
func (j *job) against(ctx context.Context, to *partfile.Place) (choice, error) {
	refuse := func(why string) (choice, error) {
		return choice{}, because(ErrResume, "%s: %s", to.Path, why)
	}
	never := "" // why the target is the start of no file
	switch {
	case j.text() || !to.Info.Mode().IsRegular():
		never = "only a regular file can be resumed, and not as text (;type=a)"
	case !disk.Ours(to.Info):
		never = "cannot be resumed: it belongs to another user"
	}
	if never != "" && !j.o.Newer {
		return refuse(never)
	}
	for _, suffix := range []string{".aria2", ".lftp-pget-status"} { // whose files have their full size from the start
		if _, err := os.Lstat(to.Path + suffix); err == nil {
			return refuse("lacks pieces, as " + to.Path + suffix + " tells")
		}
	}
	local, err := to.Stat()
	switch {
	case errors.Is(err, fs.ErrNotExist) && to.Info.Mode().IsRegular():
		return choice{}, partfile.ErrMoved
	case err != nil:
		return choice{}, localfile.Failure(to.Path, "cannot be examined", err)
	}
	info, err := j.ask(ctx)
	if err != nil {
		return choice{}, err
	}
	fresh, size := info.ModTime.After(local.ModTime()), info.Size
	if size < 0 && j.listedSize != nil {
		size, err = j.listedSize(ctx, false)
	}
	if err != nil {
		return choice{}, err
	}
	same := size < 0 || size == local.Size() || j.text()
	switch {
	case !j.o.Newer:
	case info.ModTime.IsZero():
		j.o.note("the server does not report the file's time: retrieving it")
		return choice{overwrite: true}, nil
	case !fresh && same:
		return choice{skip: leftOlder}, nil
	case fresh || !j.o.Continue || info.Size < local.Size(): // or it is not known
		return choice{overwrite: true}, nil
	}
	switch {
	case never != "":
		return refuse(never)
	case info.Size < 0:
		return refuse("cannot be resumed: the server does not report the file's size")
	case local.Size() > info.Size:
		return refuse(fmt.Sprintf("has %d bytes, but the server's file has only %d", local.Size(), info.Size))
	case fresh:
		return refuse("is older than the server's file, which has changed since")
	case local.Size() == info.Size:
		return choice{skip: leftComplete}, nil
	}
	return choice{overwrite: true, start: local, whole: info}, nil
}

// find claims the part of the target, and takes what it holds as the start if this run may.
func (j *job) find(ctx context.Context, to *partfile.Place, c choice) (*transfer, error) {
	p, err := to.Claim(string(j.key))
	if err != nil {
		return nil, err
	}
	t := &transfer{job: j, part: p, segments: max(1, j.o.Segments)}
	if err = t.take(ctx, c); err == nil && c.overwrite {
		err = p.Like(to.Info)
	}
	if err != nil {
		p.Leave(false)
		return nil, err
	}
	return t, nil
}

// take decides about what the part holds, and may take the target in its place.
func (t *transfer) take(ctx context.Context, c choice) error {
	p := t.part
	why, err := t.useless(ctx, c.start)
	switch {
	case err != nil:
		return err
	case why == "" && len(p.Left.Done) > 0:
		t.retry.Reached.Store(true) // the bytes came from the server, so the address is right
		p.Resume()
	case c.start != nil:
		t.o.reading(p.Path, c.start.Size())
		return p.Copy(ctx, c.start, c.whole.Size, c.whole.ModTime)
	case why != "":
		t.stale = p.Name() + ": " + why
	}
	return nil
}

// useless says why a run cannot resume from the part, or "". It removes damaged blocks from what is left.
func (t *transfer) useless(ctx context.Context, from fs.FileInfo) (why string, err error) {
	p, s := t.part, &t.part.Left
	switch {
	case p.LeftErr != nil:
		return p.LeftErr.Error(), nil
	case len(s.Done) == 0:
		return "", nil
	case t.o.NoResume:
		return "not resumed, as requested", nil
	case s.Adopted > 0 && !t.o.Continue, from != nil && s.Adopted > 0 && s.Adopted != from.Size():
		return "it starts with bytes that another program left", nil
	case urlparse.KeyOf(s.URL) != t.key:
		return "it belongs to another URL", nil
	case t.text():
		return cannotResumeText, nil
	}
	t.o.reading(p.Name(), s.Done.Octets())
	all := len(s.Blocks)
	err = p.Check(ctx)
	switch bad := all - len(s.Blocks); {
	case err != nil || bad == 0:
	case bad == all || s.Done.Head() < s.Adopted:
		return "it does not match its journal", nil
	default:
		t.o.note(fmt.Sprintf("%s: %d of %d blocks are damaged: fetching them again", p.Name(), bad, all))
	}
	return "", err
}

// keeps refuses to give up the bytes that Continue takes as the start of the file.
func (t *transfer) keeps(why string) error {
	if t.part.Snapshot().Adopted == 0 {
		return nil
	}
	return because(ErrResume, "%s: %s", t.part.Path, why)
}

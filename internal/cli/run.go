package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/urlparse"
)

// all tries every URL in order and returns the exit code of the first failure.
// The end of ctx ends the run, and so does a closed or blocked standard output.
func (r *run) all(ctx context.Context) int {
	if r.Many || r.Info {
		return r.batch(ctx)
	}
	unmake, err := r.makeDir()
	if err != nil {
		r.print.failed("", err, "")
		return exitCode(err)
	}
	defer func() {
		if unmake() {
			r.print.made(r.Dir)
		}
	}()
	r.fence(ctx, nil)
	defer r.keepConnections(ctx)()
	code := exitOK
	for i, t := range r.Targets {
		r.next = r.Targets[i+1:]
		if len(r.Targets) > 1 {
			place := fmt.Sprintf("%d of %d: ", i+1, len(r.Targets))
			r.print.place.Store(&place)
		}
		err := r.one(ctx, t)
		if code == exitOK {
			code = exitCode(err)
		}
		if ctx.Err() != nil || outputClosed(err) || r.behind || r.print.out.busy.Load() {
			break
		}
	}
	return code
}

// goodbye limits the time for closing connections; nothing depends on its success.
const goodbye = time.Second

// keepConnections lets the client keep its connections, if the run asks for more
// than one thing. For one thing it keeps none, and sends nothing for the sake of a
// second.
func (r *run) keepConnections(ctx context.Context) (done func()) {
	if len(r.Targets) == 1 && !r.File.Newer && !r.File.Continue && !r.File.Verify && r.File.Segments == 1 {
		r.Client.MaxIdle = -1
		return r.source.CloseIdleConnections
	}
	r.Client.MaxIdle = r.File.Segments
	return func() {
		ctx, cancel := context.WithTimeout(ctx, goodbye)
		defer cancel()
		defer r.print.within(ctx)()
		_, _ = await(ctx, func() (any, error) { r.source.CloseIdleConnections(); return nil, nil })
	}
}

// one retrieves one URL and reports why it could not.
func (r *run) one(ctx context.Context, t config.Target) error {
	ctx, cancel := limit(ctx, r.Config)
	defer cancel()
	defer r.print.within(ctx)()
	u, err := r.complete(ctx, t)
	if err != nil {
		r.print.failed("", err, "") // the error shows the URL itself
		return err
	}
	r.kept, r.current = 0, u
	if err = r.hintFailure(ctx, u, r.reason(ctx, r.retrieve(ctx, u))); err != nil {
		r.print.failed(u.Redacted(), err, r.keptNote())
	}
	if errors.Is(err, ftpexec.ErrLogin) {
		r.ask.forget()
	}
	return err
}

// keptNote says how many bytes were kept, if the same command would use them.
func (r *run) keptNote() string {
	if r.kept == 0 {
		return ""
	}
	return "; " + bytesOf(r.kept) + " kept, run the same command to resume"
}

// limit applies --max-time.
func limit(ctx context.Context, c *config.Config) (context.Context, context.CancelFunc) {
	if c.MaxTime == 0 {
		return context.WithCancel(ctx)
	}
	return context.WithTimeoutCause(ctx, c.MaxTime, &tooLong{c.MaxTime})
}

// limitEach applies --max-time to each of several URLs: next begins the time of
// the next one.
func (r *run) limitEach(ctx context.Context) (_ context.Context, next, stop func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	if r.MaxTime == 0 {
		return ctx, func() {}, func() { cancel(nil) }
	}
	late := time.AfterFunc(r.MaxTime, func() { cancel(&tooLong{r.MaxTime}) })
	return ctx, func() { late.Reset(r.MaxTime) }, func() { late.Stop(); cancel(nil) }
}

// tooLong is the error when --max-time has passed.
type tooLong struct{ limit time.Duration }

func (e *tooLong) Error() string        { return fmt.Sprintf("not done within --max-time %v", e.limit) }
func (e *tooLong) Is(target error) bool { return target == context.DeadlineExceeded }

// reason replaces the error of an ended context by its cause. The limiter of
// --limit-rate gives up before --max-time has passed if it knows that the next
// bytes would come too late.
func (r *run) reason(ctx context.Context, err error) error {
	var server *ftpexec.Error
	switch {
	case err == nil:
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return context.Cause(ctx)
	case r.MaxTime != 0 && errors.Is(err, context.DeadlineExceeded) && !errors.As(err, &server):
		return &tooLong{r.MaxTime}
	}
	return err
}

// complete adds to a URL what it leaves open and the flags give.
func (r *run) complete(ctx context.Context, t config.Target) (*urlparse.URL, error) {
	u := t.URL
	if t.Err != nil {
		return nil, t.Err
	}
	r.addLogin(u)
	if err := r.addNetrc(ctx, u); err != nil {
		return nil, err
	}
	r.addType(u)
	r.protect(u)
	if err := r.proxies.check(u); err != nil {
		return nil, err
	}
	return u, u.Check()
}

// addLogin applies -u. It sets the user and password if the URL names no user,
// and the password if the URL names the same user without one.
func (r *run) addLogin(u *urlparse.URL) {
	if !u.User.Set {
		u.User, u.Password = r.User, r.Password
	} else if u.User == r.User && !u.Password.Set {
		u.Password = r.Password
	}
}

// addType applies --type if the URL has no typecode. A URL that names no file
// stays a directory.
func (r *run) addType(u *urlparse.URL) {
	if u.Type != urlparse.TypeNone || u.Name == "" {
		return
	}
	switch r.Type {
	case "guess":
		u.Type = urlparse.GuessType(u.Name)
	case "a", "i", "d":
		u.Type = urlparse.Typecode(r.Type[0])
	}
}

func (r *run) retrieve(ctx context.Context, u *urlparse.URL) error {
	switch {
	case r.DryRun:
		return r.plan(ctx, u)
	case u.IsDir(), r.Long: // what is no directory is an error of the listing
		return r.list(ctx, u)
	case r.Output == "-":
		return r.copyOut(ctx, u)
	}
	return r.save(ctx, u)
}

func (r *run) plan(ctx context.Context, u *urlparse.URL) error {
	plan, err := ftpexec.NewPlan(u)
	if err != nil {
		return err
	}
	return r.print.text(ctx, plan.String())
}

// copyOut sends a file to standard output.
func (r *run) copyOut(ctx context.Context, u *urlparse.URL) error {
	m := r.print.newMeter(newTransfer(u, "-"), r.print.out.terminal)
	w, done := unblocked(r.print.out.w)
	defer done()
	result, err := r.stream(ctx, r.print.out, m, func(o *download.Options) (download.Result, error) {
		return download.To(ctx, first{r.source, r}, u, w, o)
	})
	if local := (*download.Error)(nil); errors.As(err, &local) && errors.Is(err, download.ErrLocal) {
		local.Path = "standard output"
	}
	m.end(result, err)
	return err
}

// stream lets f write to s, which needs no cleanup. m shows the transfer until
// stream returns, even if f is left behind.
func (r *run) stream(ctx context.Context, s *stream, m meter, f func(*download.Options) (download.Result, error)) (download.Result, error) {
	var left atomic.Bool
	defer left.Store(true)
	o := r.downloadOptions(m)
	tell := o.Events
	o.Events = func(e download.Event) {
		if !left.Load() {
			tell(e)
		}
	}
	done, err := during(ctx, s, func() (download.Result, error) { return f(o) })
	r.behind = s.busy.Load()
	return done, err
}

// save saves a file.
func (r *run) save(ctx context.Context, u *urlparse.URL) error {
	return r.toFile(ctx, u, func(path string, o *download.Options) (download.Result, error) {
		return download.File(ctx, first{r.source, r}, u, path, o)
	})
}

// toFile lets write save u under its path, and shows the progress.
func (r *run) toFile(ctx context.Context, u *urlparse.URL, write func(path string, o *download.Options) (download.Result, error)) error {
	path, err := r.path(u)
	if err != nil {
		return err
	}
	m := r.print.newMeter(newTransfer(u, path), false)
	var done download.Result
	if info, serr := os.Stat(path); serr == nil && !info.Mode().IsRegular() {
		done, err = r.stream(ctx, &stream{}, m, func(o *download.Options) (download.Result, error) { return write(path, o) })
	} else {
		done, err = write(path, r.downloadOptions(m))
		r.kept = done.Kept
	}
	m.end(done, err)
	if err == nil && !done.Skipped {
		r.saved[path] = true
	}
	return err
}

// downloadOptions returns the options from the flags, with m as the meter.
func (r *run) downloadOptions(m meter) *download.Options {
	o := r.File
	o.Events = func(e download.Event) { show(m, e) }
	return &o
}

// first is the run's source for one URL after another.
type first struct {
	batch.Source
	run *run
}

// Do says whether a file of the same server follows.
func (f first) Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error) {
	again := *req
	again.More = f.run.more
	return f.Source.Do(ctx, &again)
}

// HashNames tells package download that NAME.part may be one of the files.
func (f first) HashNames() bool { return len(f.run.Targets) > 1 }

// more reports whether the next URL is probably a file on the same server.
func (r *run) more() bool {
	if len(r.next) == 0 || r.next[0].Err != nil || r.current == nil {
		return false
	}
	u := r.next[0].URL
	return u.Scheme == r.current.Scheme && u.Address() == r.current.Address() && !u.IsDir()
}

// path returns where to save u. Two URLs of a run never share a path: the second
// would replace the first one's file.
func (r *run) path(u *urlparse.URL) (string, error) {
	name := r.Output
	if name == "" {
		var err error
		if name, err = download.LocalName(u); err != nil {
			return "", err
		}
	}
	path := name
	if r.Dir != "" {
		path = filepath.Join(r.Dir, name)
	}
	if r.Output != "" {
		if err := r.checkFile(path); err != nil {
			return "", err
		}
	}
	if r.saved[path] {
		return "", &download.Error{Path: path, Reason: "was written for an earlier URL of this run", Err: download.ErrLocal}
	}
	return path, nil
}

// list prints a directory, to standard output or to the file that -o names.
func (r *run) list(ctx context.Context, u *urlparse.URL) error {
	if r.File.Verify || r.File.Sum.Algorithm != "" {
		return config.Usage("--checksum and --verify are for files, but the URL names a directory")
	}
	names := r.names
	if r.Long {
		names = r.entries
	}
	if r.Output == "" || r.Output == "-" {
		return names(ctx, u, output{ctx, r.print.out}, r.print.out.terminal)
	}
	err := r.toFile(ctx, u, func(path string, o *download.Options) (download.Result, error) {
		return download.Save(ctx, u.WithoutPassword().String(), path, &download.Options{Existing: o.Existing}, func(w io.Writer) error {
			return names(ctx, u, w, false)
		})
	})
	if errors.Is(err, download.ErrPart) { // -c resumes files only
		err = &hinted{err, "remove it, or --overwrite replaces it"}
	}
	return err
}

// names writes the names of a directory to w, as they arrive.
func (r *run) names(ctx context.Context, u *urlparse.URL, w io.Writer, terminal bool) error {
	l := &lister{w: bufio.NewWriter(w), json: r.JSON, terminal: terminal}
	for e, err := range r.source.List(ctx, u) {
		if err == nil {
			err = l.entry(e)
		}
		if err != nil {
			return errors.Join(err, l.w.Flush())
		}
	}
	return l.w.Flush()
}

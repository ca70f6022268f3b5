package cli

import (
	"bufio"
	"context"
	"errors"
	"io"
	"path/filepath"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/cli/show"
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
		r.print.Failed("", err, "")
		return exitCode(err)
	}
	defer func() {
		if unmake() {
			r.print.Made(r.Dir)
		}
	}()
	r.fence(ctx, nil)
	defer r.keepConnections(ctx)()
	code := exitOK
	for i, t := range r.Targets {
		r.next = r.Targets[i+1:]
		err := r.one(ctx, t)
		if code == exitOK {
			code = exitCode(err)
		}
		if ctx.Err() != nil || outputClosed(err) {
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
		_, _ = await(ctx, func() (any, error) { r.source.CloseIdleConnections(); return nil, nil })
	}
}

// one retrieves one URL and reports why it could not.
func (r *run) one(ctx context.Context, t config.Target) error {
	ctx, cancel := r.limit(ctx, r.Config)
	defer cancel()
	u, err := r.complete(ctx, t)
	if err != nil {
		r.print.Failed("", err, "") // the error shows the URL itself
		return err
	}
	r.current = u
	err = r.retrieve(ctx, u)
	if errors.Is(err, ftpexec.ErrLogin) {
		r.ask.forget()
	}
	return err
}

// keptNote says how many bytes were kept, if the same command would use them.
func keptNote(kept int64) string {
	if kept == 0 {
		return ""
	}
	return "; " + show.Bytes(kept) + " kept, run the same command to resume"
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

// reason replaces the error of an ended context by its cause. The limiter of
// --limit-rate gives up before --max-time has passed if it knows that the next
// bytes would come too late.
func (r *run) reason(ctx context.Context, err error) error {
	var server *ftpexec.Error
	switch {
	case err == nil:
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return context.Cause(ctx)
	case errors.Is(err, batch.ErrLate):
		return &tooLong{r.MaxTime}
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
	_, ok := u.User.Password()
	if u.User == nil || !ok && r.User != nil && u.User.Username() == r.User.Username() {
		u.User = r.User
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
		return r.failed(ctx, u, r.plan(u))
	case u.IsDir(), r.Long: // what is no directory is an error of the listing
		return r.list(ctx, u)
	case r.Output == "-":
		return r.copyOut(ctx, u)
	}
	return r.save(ctx, u)
}

func (r *run) plan(u *urlparse.URL) error {
	plan, err := ftpexec.NewPlan(u)
	if err != nil {
		return err
	}
	_, err = io.WriteString(r.print.Out, plan.String())
	return err
}

// copyOut sends a file to standard output.
func (r *run) copyOut(ctx context.Context, u *urlparse.URL) error {
	f := r.print.File(u, "-")
	result, err := download.To(ctx, first{r.source, r}, u, r.print.Out, r.fileOptions(f))
	if local := (*download.Error)(nil); errors.As(err, &local) && errors.Is(err, download.ErrLocal) {
		local.Path = "standard output"
	}
	return r.ended(ctx, u, f, result, err)
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
		return r.failed(ctx, u, err)
	}
	f := r.print.File(u, path)
	done, err := write(path, r.fileOptions(f))
	if err == nil && !done.Skipped {
		r.saved[path] = true
	}
	return r.ended(ctx, u, f, done, err)
}

// fileOptions returns the options from the flags, with f to show the transfer.
func (r *run) fileOptions(f *show.File) *download.Options {
	o := r.File
	o.Events = f.Event
	return &o
}

// ended shows how a transfer has ended.
func (r *run) ended(ctx context.Context, u *urlparse.URL, f *show.File, done download.Result, err error) error {
	err = r.hintFailure(ctx, u, r.reason(ctx, err))
	f.End(done, err, keptNote(done.Kept))
	return err
}

// failed shows a failure before the transfer, if err is one.
func (r *run) failed(ctx context.Context, u *urlparse.URL, err error) error {
	if err = r.hintFailure(ctx, u, r.reason(ctx, err)); err != nil {
		r.print.Failed(u.Redacted(), err, "")
	}
	return err
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
		return r.failed(ctx, u, config.Usage("--checksum and --verify are for files, but the URL names a directory"))
	}
	names := r.names
	if r.Long {
		names = r.entries
	}
	if r.Output == "" || r.Output == "-" {
		return r.failed(ctx, u, names(ctx, u, r.print.Out, show.IsTerminal(r.print.Out)))
	}
	return r.toFile(ctx, u, func(path string, o *download.Options) (download.Result, error) {
		from := listing{r.source, func(w io.Writer) error { return names(ctx, u, w, false) }}
		done, err := download.File(ctx, from, u, path, &download.Options{Existing: o.Existing, Retries: -1})
		if errors.Is(err, download.ErrPart) { // -c resumes files only
			err = &hinted{err, "remove it, or --overwrite replaces it"}
		}
		return done, err
	})
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

// listing is the Source of a file with the names of a directory.
type listing struct {
	batch.Source
	write func(w io.Writer) error
}

// Stat says that nothing is known in advance.
func (listing) Stat(context.Context, *urlparse.URL) (ftpexec.Entry, error) {
	return ftpexec.Entry{Size: -1}, nil
}

// Do lists the directory from the beginning.
func (l listing) Do(_ context.Context, req *ftpexec.Request) (*ftpexec.Response, error) {
	if req.Offset > 0 {
		return nil, ftpexec.ErrNoRestart
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(l.write(w)) }()
	return &ftpexec.Response{Body: r, URL: req.URL, Size: -1}, nil
}

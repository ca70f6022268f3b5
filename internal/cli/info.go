package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/internal/retry"
	"example.com/ftpfetch/urlparse"
)

// infos prints what servers tell about files (-I): their sizes and times, in the order of the URLs.
func (r *run) infos(ctx context.Context) {
	const most = 512         // files to ask about at once, to keep the memory flat
	var some []*urlparse.URL // of one login
	for t := range r.tasks(ctx) {
		u := t.URLs[0]
		if len(some) == most || len(some) > 0 && !some[0].SameLogin(u) {
			r.about(ctx, some)
			some = nil
		}
		some = append(some, u)
	}
	r.about(ctx, some)
}

// about prints what the server tells about files of one login. A server that fails to serve one is not asked about the
// others.
func (r *run) about(ctx context.Context, some []*urlparse.URL) {
	for len(some) > 0 && !r.ended(ctx) {
		if r.gone != nil && r.gone.SameLogin(some[0]) {
			r.print.Line("ftpfetch: %s: %d more files of this server are not asked about", printable.Line(some[0].Host), len(some))
			return
		}
		n, err := r.askAll(ctx, some)
		if some = some[n:]; err == nil {
			return
		}
		if r.failed(ctx, some[0], err); retry.NoService(err) {
			r.gone = some[0]
		}
		some = some[1:]
	}
}

// askAll asks about files of one login, each within --max-time. It returns how many it has dealt with, and the error
// that kept it from the next.
func (r *run) askAll(ctx context.Context, urls []*urlparse.URL) (n int, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answered := func() {}
	if r.MaxTime > 0 {
		late := time.AfterFunc(r.MaxTime, func() { cancel(&tooLong{r.MaxTime}) })
		defer late.Stop()
		answered = func() { late.Reset(r.MaxTime) }
	}
	err = r.again(ctx, func() error {
		for e, err := range r.source.StatAll(ctx, urls[n:]) {
			switch {
			case err == nil:
				if _, err := r.print.Out.Write(r.infoLine(urls[n], e)); err != nil {
					return err
				}
			case !ofOne(err):
				return err
			default:
				r.failed(ctx, urls[n], err)
			}
			n++
			answered()
		}
		return nil
	})
	return n, err
}

// ofOne reports whether err concerns one file alone.
func ofOne(err error) bool {
	var e *ftpexec.Error
	return errors.Is(err, ftpexec.ErrNotFound) || errors.Is(err, ftpexec.ErrIsDirectory) || errors.Is(err, ftpexec.ErrRefused) &&
		errors.As(err, &e) && (e.Stage == "directory" || e.Stage == "transfer" && !strings.HasPrefix(e.Op, "TYPE"))
}

// infoLine returns the line about a file: size, time, URL.
func (r *run) infoLine(u *urlparse.URL, e ftpexec.Entry) []byte {
	x := row{URL: u.WithoutPassword().String()}
	if !e.ModTime.IsZero() {
		x.Time = e.ModTime.UTC().Format(time.RFC3339)
	}
	if e.Size >= 0 {
		x.Size = &e.Size
	}
	if r.JSON {
		return printable.JSON(x)
	}
	return fmt.Appendf(nil, "%s\t%s\t%s\n", count(e.Size), cmp.Or(x.Time, "-"), x.URL)
}

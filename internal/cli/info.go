package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/internal/retry"
	"example.com/ftpfetch/urlparse"
)

// infos prints what servers tell about files (-I): their sizes and times, in the order
// of the URLs. A server that fails to serve one is not asked about the others.
func (r *run) infos(ctx context.Context) {
	const most = 512 // files to ask about at once, to keep the memory flat
	var some []*urlparse.URL
	var gone *urlparse.URL // one whose server does not serve this run
	about := func() {
		for len(some) > 0 && (gone == nil || !gone.SameLogin(some[0])) {
			n, err := r.askAll(ctx, some)
			if some = some[n:]; err == nil {
				return
			}
			err = r.failed(ctx, some[0], err)
			if ctx.Err() != nil || outputClosed(err) {
				return
			}
			if retry.NoService(err) {
				gone = some[0]
			}
			some = some[1:]
		}
		if len(some) > 0 {
			r.print.Line("ftpfetch: %s: %d more files of this server are not asked about", printable.Line(some[0].Host), len(some))
		}
	}
	for t := range r.tasks(ctx) {
		u := t.URLs[0]
		if len(some) == most || len(some) > 0 && !some[0].SameLogin(u) {
			about()
			some = nil
		}
		if some = append(some, u); ctx.Err() != nil {
			break
		}
	}
	about()
}

// askAll asks about files of one login, each within --max-time, and tries again as a
// download does. It returns how many it has dealt with, and the error that kept it
// from the next.
func (r *run) askAll(ctx context.Context, urls []*urlparse.URL) (n int, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	answered := func() {}
	if r.MaxTime > 0 {
		late := time.AfterFunc(r.MaxTime, func() { cancel(&tooLong{r.MaxTime}) })
		defer late.Stop()
		answered = func() { late.Reset(r.MaxTime) }
	}
	err = retry.New(retry.Policy{Retries: r.File.Retries, Connect: r.File.RetryConnect}).Do(ctx, func() error {
		for info, err := range r.source.StatAll(ctx, urls[n:]) {
			switch {
			case err == nil:
				if _, err := io.WriteString(r.print.Out, infoLine(urls[n], info, r.JSON)); err != nil {
					return err
				}
			case !ofOne(err):
				return err
			default:
				_ = r.failed(ctx, urls[n], err)
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
func infoLine(u *urlparse.URL, info ftpexec.Entry, json bool) string {
	row := struct {
		URL  string `json:"url"`
		Size *int64 `json:"size,omitempty"`
		Time string `json:"time,omitempty"`
	}{URL: u.WithoutPassword().String()}
	if !info.ModTime.IsZero() {
		row.Time = info.ModTime.UTC().Format(time.RFC3339)
	}
	if info.Size >= 0 {
		row.Size = &info.Size
	}
	if json {
		return string(printable.JSON(row))
	}
	return fmt.Sprintf("%s\t%s\t%s\n", count(info.Size), cmp.Or(row.Time, "-"), row.URL)
}

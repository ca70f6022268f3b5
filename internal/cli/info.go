package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"time"

	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/internal/retry"
	"example.com/ftpfetch/urlparse"
)

// asking is a run of -I, which prints what servers tell about files.
type asking struct {
	*run
	ctx  context.Context
	code int           // the exit code of the first failure
	gone *urlparse.URL // one whose server does not serve this run; nil if there is none
}

// infos prints the sizes and times of the files that urls name, in their order,
// and returns the exit code.
func (r *run) infos(ctx context.Context, urls iter.Seq[*urlparse.URL]) int {
	r.Client.MaxIdle = 1
	defer r.source.CloseIdleConnections()
	a := &asking{run: r, ctx: ctx}
	const most = 512 // files to ask about at once, to keep the memory flat
	var some []*urlparse.URL
	for u := range urls {
		if len(some) == most || len(some) > 0 && !some[0].SameLogin(u) {
			a.about(some)
			some = nil
		}
		if some = append(some, u); ctx.Err() != nil {
			break
		}
	}
	a.about(some)
	return a.code
}

// about prints what the server tells about files with the same login. A server that
// fails to serve one is not asked about the others.
func (a *asking) about(urls []*urlparse.URL) {
	for len(urls) > 0 && (a.gone == nil || !a.gone.SameLogin(urls[0])) {
		ctx, answered, stop := a.limitEach(a.ctx)
		err := retry.New(retry.Policy{Retries: a.File.Retries, Connect: a.File.RetryConnect}).Do(ctx, func() error {
			n, err := a.ask(ctx, urls, answered)
			urls = urls[n:]
			return err
		})
		stop()
		if err == nil {
			return
		}
		a.fails(urls[0], err)
		if a.ctx.Err() != nil || outputClosed(err) {
			return
		}
		if batch.NoService(err) {
			a.gone = urls[0]
		}
		urls = urls[1:]
	}
	if len(urls) > 0 {
		a.print.Line("ftpfetch: %s: %d more files of this server are not asked about", printable.Line(urls[0].Host), len(urls))
	}
}

// ofOne reports whether err concerns one file alone.
func ofOne(err error) bool {
	var e *ftpexec.Error
	return errors.Is(err, ftpexec.ErrNotFound) || errors.Is(err, ftpexec.ErrIsDirectory) || errors.Is(err, ftpexec.ErrRefused) &&
		errors.As(err, &e) && (e.Stage == "directory" || e.Stage == "transfer" && !strings.HasPrefix(e.Op, "TYPE"))
}

// ask asks about files, and calls answered for each. It returns how many it has
// dealt with, and the error that kept it from the next.
func (a *asking) ask(ctx context.Context, urls []*urlparse.URL, answered func()) (n int, err error) {
	for info, err := range a.source.StatAll(ctx, urls) {
		switch {
		case err == nil:
			if _, err := io.WriteString(a.print.Out, infoLine(urls[n], info, a.JSON)); err != nil {
				return n, err
			}
		case !ofOne(err):
			return n, err
		default:
			a.fails(urls[n], err)
		}
		n++
		answered()
	}
	return n, nil
}

func (a *asking) fails(u *urlparse.URL, err error) {
	err = a.hintFailure(a.ctx, u, a.reason(a.ctx, err))
	a.code = cmp.Or(a.code, exitCode(err))
	a.print.Failed(u.Redacted(), err, "")
}

// infoLine returns the line about a file: size, time, URL.
func infoLine(u *urlparse.URL, info ftpexec.Entry, json bool) string {
	text := "-"
	if !info.ModTime.IsZero() {
		text = info.ModTime.UTC().Format(time.RFC3339)
	}
	shown := u.WithoutPassword().String()
	if !json {
		return fmt.Sprintf("%s\t%s\t%s\n", count(info.Size), text, shown)
	}
	row := struct {
		URL  string `json:"url"`
		Size *int64 `json:"size,omitempty"`
		Time string `json:"time,omitempty"`
	}{URL: shown}
	if info.Size >= 0 {
		row.Size = &info.Size
	}
	if text != "-" {
		row.Time = text
	}
	return string(printable.JSON(row))
}

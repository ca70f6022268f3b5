package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/cli/show"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/internal/retry"
	"example.com/ftpfetch/urlparse"
)

// listDir writes a directory to w, an entry a line: the names, or with -l all that the
// server tells. It tries again as for a file: what fails so has written nothing. It goes on after a line that cannot
// be read, and returns the last such error at the end. On a terminal the names are escaped, and come as they arrive.
func (r *run) listDir(ctx context.Context, u *urlparse.URL, w io.Writer, terminal bool) error {
	policy := retry.Policy{Retries: r.File.Retries, Connect: r.File.RetryConnect, Tell: func(err error, try int, wait time.Duration) {
		r.print.Note(fmt.Sprintf("%s; trying again in %.1f s (%d of %d)", show.OneLine(err.Error()), wait.Seconds(), try, retry.Count(r.File.Retries)), true)
	}}
	return retry.New(policy).Do(ctx, func() error { return r.listOnce(ctx, u, w, terminal) })
}

func (r *run) listOnce(ctx context.Context, u *urlparse.URL, w io.Writer, terminal bool) error {
	out := bufio.NewWriter(w)
	entries := r.source.List
	if r.Long {
		entries = r.source.Entries
	}
	var odd error
	for e, err := range entries(ctx, u) {
		switch {
		case errors.Is(err, ftpexec.ErrLine):
			if odd != nil {
				r.print.Failed(u.Redacted(), odd, "")
			}
			odd = err
			continue
		case err == nil:
			_, err = out.Write(r.lineOf(e, terminal))
		}
		if err == nil && terminal && !r.Long {
			err = out.Flush()
		}
		if err != nil {
			return errors.Join(err, out.Flush())
		}
	}
	return errors.Join(out.Flush(), odd)
}

// lineOf returns the line for an entry. In the names of JSON bytes that are not UTF-8
// become U+FFFD; the URL names the entry exactly, without a password.
func (r *run) lineOf(e ftpexec.Entry, terminal bool) []byte {
	name := e.Name
	if r.Long && e.Target != "" {
		name += " -> " + e.Target
	}
	if terminal {
		name = printable.Line(name)
	}
	switch {
	case r.JSON:
		return printable.JSON(rowOf(e, r.Long))
	case r.Long:
		return fmt.Appendf(nil, "%s %12s  %-20s  %s\n", modeOf(e), count(e.Size), timeOf(e), name)
	}
	return []byte(name + "\n")
}

// row is an entry in JSON. It lacks what is not known. With -l it has all, without only the name and the URL.
type row struct {
	Name      string `json:"name"`
	URL       string `json:"url"`
	Type      string `json:"type,omitempty"`
	Size      *int64 `json:"size,omitempty"`
	Time      string `json:"time,omitempty"`      // RFC 3339, as if the zone were UTC
	Precision string `json:"precision,omitempty"` // of time: day, minute, second or fraction
	Local     bool   `json:"local,omitempty"`     // the zone is not known
	Mode      string `json:"mode,omitempty"`      // permissions in octal digits
	Target    string `json:"target,omitempty"`
}

func rowOf(e ftpexec.Entry, long bool) row {
	x := row{Name: e.Name, URL: e.URL.WithoutPassword().String()}
	if !long {
		return x
	}
	x.Target, x.Local = e.Target, e.Local
	x.Type = cmp.Or(map[fs.FileMode]string{0: "file", fs.ModeDir: "directory", fs.ModeSymlink: "link", fs.ModeIrregular: "unknown"}[e.Mode.Type()], "special")
	if e.Size >= 0 {
		x.Size = &e.Size
	}
	if e.Precision > 0 {
		x.Time, x.Precision = e.ModTime.UTC().Format(time.RFC3339Nano), "fraction"
	}
	switch {
	case e.Precision >= 24*time.Hour:
		x.Precision = "day"
	case e.Precision >= time.Minute:
		x.Precision = "minute"
	case e.Precision >= time.Second:
		x.Precision = "second"
	}
	if e.HasPerm {
		x.Mode = fmt.Sprintf("%04o", e.Mode.Perm())
	}
	return x
}

// modeOf returns the type and permissions as ls(1) writes them, with "?" for what
// is not known.
func modeOf(e ftpexec.Entry) string {
	kind := map[fs.FileMode]string{
		0: "-", fs.ModeDir: "d", fs.ModeSymlink: "l", fs.ModeNamedPipe: "p", fs.ModeSocket: "s", fs.ModeDevice: "b",
		fs.ModeDevice | fs.ModeCharDevice: "c",
	}[e.Mode.Type()]
	if kind == "" {
		kind = "?"
	}
	if !e.HasPerm {
		return kind + strings.Repeat("?", 9)
	}
	return kind + e.Mode.Perm().String()[1:]
}

// count returns n, or "-" for an unknown number.
func count(n int64) string {
	if n < 0 {
		return "-"
	}
	return strconv.FormatInt(n, 10)
}

// timeOf returns the time of an entry as far as it is known: without a zone if it
// is the server's local time, and no more exact than the server told it.
func timeOf(e ftpexec.Entry) string {
	form := "2006-01-02T15:04:05"
	switch {
	case e.Precision == 0:
		return "-"
	case e.Precision >= 24*time.Hour:
		return e.ModTime.Format("2006-01-02")
	case e.Precision >= time.Minute:
		form = "2006-01-02T15:04"
	}
	if !e.Local {
		form += "Z"
	}
	return e.ModTime.Format(form)
}

// listing is the Source of a file with what listDir writes.
type listing struct {
	batch.Source
	run *run
}

// Stat says that nothing is known in advance.
func (listing) Stat(context.Context, *urlparse.URL) (ftpexec.Entry, error) {
	return ftpexec.Entry{Size: -1}, nil
}

// Do lists the directory from the beginning.
func (l listing) Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error) {
	if req.Offset > 0 {
		return nil, ftpexec.ErrNoRestart
	}
	r, w := io.Pipe()
	go func() { w.CloseWithError(l.run.listDir(ctx, req.URL, w, false)) }()
	return &ftpexec.Response{Body: r, Size: -1}, nil
}

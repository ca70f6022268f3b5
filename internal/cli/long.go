package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strconv"
	"strings"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// lister prints the entries of a directory, one a line.
type lister struct {
	w        *bufio.Writer
	json     bool
	terminal bool // escape names and flush every line
}

func (l *lister) entry(e ftpexec.Entry) error {
	var err error
	switch {
	case l.json:
		_, err = l.w.Write(jsonEntry(e))
	case l.terminal:
		_, err = l.w.WriteString(printable.Line(e.Name) + "\n")
	default:
		_, err = l.w.WriteString(e.Name + "\n")
	}
	if err == nil && l.terminal {
		err = l.w.Flush()
	}
	return err
}

// jsonEntry returns the JSON object for an entry, with its line end. In the
// name, bytes that are not UTF-8 become U+FFFD; the URL names the entry
// exactly, without a password.
func jsonEntry(e ftpexec.Entry) []byte {
	return printable.JSON(struct {
		Name string `json:"name"`
		URL  string `json:"url"`
	}{e.Name, e.URL.WithoutPassword().String()})
}

// entries writes what the server tells about the entries of a directory to w. It
// goes on after a line that cannot be read, and returns the first such error at
// the end.
func (r *run) entries(ctx context.Context, u *urlparse.URL, w io.Writer, terminal bool) error {
	out := bufio.NewWriter(w)
	var odd error
	for e, err := range r.source.Entries(ctx, u) {
		switch {
		case errors.Is(err, ftpexec.ErrLine):
			if odd != nil {
				r.print.Failed(u.Redacted(), odd, "")
			}
			odd = err
		case err != nil:
			return errors.Join(err, out.Flush())
		default:
			if _, err := out.Write(longEntry(e, r.JSON, terminal)); err != nil {
				return err
			}
		}
	}
	return errors.Join(out.Flush(), odd)
}

// longEntry returns the line for an entry.
func longEntry(e ftpexec.Entry, json, terminal bool) []byte {
	if json {
		return printable.JSON(e)
	}
	name := e.Name
	if e.Target != "" {
		name += " -> " + e.Target
	}
	if terminal {
		name = printable.Line(name)
	}
	return fmt.Appendf(nil, "%s %12s  %-20s  %s\n", modeOf(e), count(e.Size), timeOf(e), name)
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

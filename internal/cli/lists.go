package cli

import (
	"context"
	"errors"
	"io"
	"math"
	"os"
	"strings"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/internal/cli/show"
	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/urlparse"
)

// list is a list of files: that of -i or that of --manifest.
type list struct {
	name    string   // for messages
	file    *os.File // is read twice: a regular file, or a copy of what can be read only once
	copied  bool     // no name leads to it, where the system allows that
	options manifest.Options
	files   int   // that it names
	octets  int64 // their size together; -1 if it is not known
}

// text returns what reads the list from its beginning.
func (l *list) text() io.Reader { return io.NewSectionReader(l.file, 0, math.MaxInt64) }

func (l *list) close() {
	if l.file == nil {
		return
	}
	l.file.Close()
	if l.copied {
		_ = os.Remove(l.file.Name())
	}
}

// check completes the URLs of the command line and reads all lists. What is wrong with them is reported at once if they
// belong together, and that with one URL after another at its turn.
func (r *run) check(ctx context.Context) {
	for i := range r.Targets {
		t := &r.Targets[i]
		if t.Err == nil {
			t.Err = r.complete(t.URL)
		}
		if r.Many || r.Info {
			r.fail("", t.Err)
		}
	}
	for _, name := range []string{r.Manifest, r.Input} {
		if name != "" {
			r.checkList(ctx, name)
		}
	}
}

// checkList opens a list and reads it to its end.
func (r *run) checkList(ctx context.Context, name string) {
	l := &list{name: name, options: r.Reading}
	r.lists = append(r.lists, l)
	var wrong []error
	var err error
	switch {
	case name == "-":
		l.name = "standard input"
		err = l.copy(ctx, func(w io.Writer) error { _, err := io.Copy(w, r.In); return err })
	case strings.Contains(name, "://"):
		if !r.retrieveList(ctx, l) {
			return
		}
	default:
		err = l.open(ctx)
	}
	if err == nil {
		err = await(ctx, func() error {
			l.files, l.octets, wrong = manifest.Check(l.text(), l.options)
			return nil
		})
	}
	r.fail("", localfile.Failure(name, "cannot be read", err))
	if err != nil {
		return
	}
	for _, err := range wrong {
		r.fail(l.name, err)
	}
	if wrong == nil && l.files == 0 && l.options.Shard[1] == 0 {
		r.print.Note(show.Warning, "", l.name+" names no file")
	}
}

// retrieveList makes a copy of a list on a server, whole. The files that it names without a URL are in its directory.
func (r *run) retrieveList(ctx context.Context, l *list) bool {
	u, err := urlparse.Parse(l.name)
	if err == nil {
		l.name, err = u.Redacted(), r.complete(u)
	}
	if err != nil {
		r.fail("", err)
		return false
	}
	ctx, cancel := r.limit(ctx)
	defer cancel()
	err = l.copy(ctx, func(w io.Writer) error {
		_, err := download.To(ctx, r.source, u, w, &download.Options{Retries: r.File.Retries, RetryConnect: r.File.RetryConnect})
		return err
	})
	if l.options.Base == nil {
		base := *u
		base.Name, base.Type = "", ""
		l.options.Base = &base
	}
	r.failed(ctx, u, err)
	return err == nil
}

// open opens a list here. Of a pipe it makes a copy.
func (l *list) open(ctx context.Context) error {
	f, err := os.Open(l.name)
	if err != nil {
		return err
	}
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() {
		l.file = f
		return nil
	}
	defer f.Close()
	return l.copy(ctx, func(w io.Writer) error { _, err := io.Copy(w, f); return err })
}

// copy makes the copy of a list that write writes.
func (l *list) copy(ctx context.Context, write func(io.Writer) error) error {
	file, err := os.CreateTemp("", "ftpfetch-list-")
	if err != nil {
		return err
	}
	_ = os.Remove(file.Name()) // fails on Windows while the file is open
	l.file, l.copied = file, true
	return await(ctx, func() error { return write(&bounded{file, mostPiped}) })
}

// mostPiped bounds the bytes of a list from a pipe or device: a device may have no end. It is a variable for a test.
var mostPiped = 1 << 30

// bounded writes at most left bytes.
type bounded struct {
	io.Writer
	left int
}

func (b *bounded) Write(text []byte) (int, error) {
	if b.left -= len(text); b.left < 0 {
		return 0, errors.New("it is longer than 1 GiB: save it as a file")
	}
	return b.Writer.Write(text)
}

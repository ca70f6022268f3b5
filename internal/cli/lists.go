package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"syscall"

	"example.com/ftpfetch/download/manifest"
)

// list is a list of files: that of -i or that of --manifest.
type list struct {
	name    string   // for messages
	path    string   // of a regular file
	temp    *os.File // a copy in its place, which no name leads to where the system allows that
	options manifest.Options
	summary manifest.Summary
}

// open opens the list. An error does not name it.
func (l *list) open() (io.ReadCloser, error) {
	if l.temp != nil {
		return io.NopCloser(io.NewSectionReader(l.temp, 0, int64(mostPiped))), nil
	}
	f, err := os.Open(l.path)
	return f, localError("", "cannot be opened", err)
}

// items yields what the list names.
func (l *list) items() iter.Seq2[manifest.Item, error] {
	return func(yield func(manifest.Item, error) bool) {
		f, err := l.open()
		if err != nil {
			yield(manifest.Item{}, err)
			return
		}
		defer f.Close()
		l.summary.Read(f, l.options)(yield)
	}
}

// check reads all lists and reports everything that is wrong with them and with the
// URLs of the command line.
func (r *run) check(ctx context.Context) {
	for _, t := range r.Targets {
		r.fail("", t.Err)
	}
	for _, name := range []string{r.Manifest, r.Input} {
		if name != "" {
			r.checkList(ctx, name)
		}
	}
}

// checkList reads a list to its end.
func (r *run) checkList(ctx context.Context, name string) {
	l := &list{name: name, path: name, options: r.Reading}
	if name == "-" {
		l.name = "standard input"
	}
	r.lists = append(r.lists, l)
	err := l.spool(ctx, r.in)
	var wrong []error
	if err == nil {
		wrong, err = await(ctx, func() ([]error, error) {
			text, err := l.open()
			if err != nil {
				return nil, err
			}
			defer text.Close()
			summary, wrong := manifest.Check(text, l.options)
			l.summary = summary
			return wrong, nil
		})
	}
	r.fail("", localError(name, "cannot be read", err))
	for _, err := range wrong {
		r.fail(l.name, err)
	}
	if err == nil && wrong == nil && l.summary.Items == 0 && l.options.Shard.String() == "" {
		r.print.Warning(l.name + " names no file")
	}
}

// spool makes sure that the list can be read twice: it copies standard input and
// pipes to a file.
func (l *list) spool(ctx context.Context, in io.Reader) error {
	if l.path != "-" {
		info, err := os.Stat(l.path)
		switch {
		case err != nil || info.Mode().IsRegular():
			return err
		case info.IsDir():
			return syscall.EISDIR
		}
		f, err := os.Open(l.path)
		if err != nil {
			return err
		}
		defer f.Close()
		in = f
	}
	temp, err := os.CreateTemp("", "ftpfetch-list-")
	if err != nil {
		return err
	}
	_ = os.Remove(temp.Name()) // fails on Windows while the file is open
	l.temp = temp
	_, err = await(ctx, func() (int64, error) { return io.Copy(&piped{temp, mostPiped}, in) })
	return err
}

// mostPiped bounds the bytes of a list from a pipe or device: a device may have no end. It is a variable for a test.
var mostPiped = 1 << 30

// piped writes the copy of a list.
type piped struct {
	w    io.Writer
	left int
}

func (p *piped) Write(text []byte) (int, error) {
	if p.left -= len(text); p.left < 0 {
		return 0, errors.New("it is longer than 1 GiB: save it as a file")
	}
	if bytes.IndexByte(text, 0) >= 0 {
		return 0, errors.New("it is no text in UTF-8")
	}
	return p.w.Write(text)
}

// forget removes the copies that spool made.
func (r *run) forget() {
	for _, l := range r.lists {
		if l.temp != nil {
			l.temp.Close()
			_ = os.Remove(l.temp.Name())
		}
	}
}

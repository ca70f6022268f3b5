package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"path"
	"strings"
	"syscall"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/urlparse"
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
		return io.NopCloser(io.NewSectionReader(l.temp, 0, maxPiped)), nil
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

// gather reads all lists and reports everything that is wrong with them. It
// returns the exit code of the first fault.
func (m *many) gather() int {
	for _, t := range m.Targets {
		if t.Err != nil {
			m.print.Failed("", t.Err, "")
			m.fails(t.Err)
		}
	}
	for _, name := range []string{m.Manifest, m.Input} {
		if name != "" {
			m.check(name, m.Reading)
		}
	}
	if m.code != exitOK {
		m.forget()
	}
	return m.code
}

// checked is what manifest.Check returns.
type checked struct {
	summary manifest.Summary
	errs    []error
}

// check reads a list to its end.
func (m *many) check(name string, o manifest.Options) {
	l := &list{name: name, path: name, options: o}
	if name == "-" {
		l.name = "standard input"
	}
	var got checked
	err := l.spool(m.ctx, m.in)
	if m.lists = append(m.lists, l); err == nil {
		got, err = await(m.ctx, func() (c checked, _ error) {
			text, err := l.open()
			if err != nil {
				return c, err
			}
			defer text.Close()
			c.summary, c.errs = manifest.Check(text, o)
			return c, nil
		})
	}
	if err != nil {
		err = localError(name, "cannot be read", err)
		m.print.Failed("", err, "")
		m.fails(err)
		return
	}
	l.summary = got.summary
	for _, err := range got.errs {
		m.print.Failed(l.name, err, "")
		m.fails(err)
	}
	if len(got.errs) == 0 && l.summary.Items == 0 && o.Shard.Count == 0 {
		m.print.Warning(l.name + " names no file")
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
	_, err = await(ctx, func() (int64, error) { return io.Copy(&piped{temp, maxPiped}, in) })
	return err
}

// maxPiped bounds the bytes of a list from a pipe or device: a device may have no end.
const maxPiped = 1 << 30

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
func (m *many) forget() {
	for _, l := range m.lists {
		if l.temp != nil {
			l.temp.Close()
			_ = os.Remove(l.temp.Name())
		}
	}
}

// known returns how many files there are and their bytes, as far as that is known
// in advance; -1 means unknown.
func (m *many) known() (files, bytes int64) {
	for _, l := range m.lists {
		files += int64(l.summary.Items)
		if l.summary.Bytes < 0 || bytes < 0 {
			bytes = -1
		} else {
			bytes += l.summary.Bytes
		}
	}
	for _, t := range m.Targets {
		if bytes = -1; m.isTree(t) {
			return -1, -1
		}
		files++
	}
	return files, bytes
}

func (m *many) isTree(t config.Target) bool { return t.Pattern != "" || m.Recursive && t.URL.IsDir() }

// errShorter means that a list has lost lines since it was checked.
func errShorter(path string) error {
	return &download.Error{Path: path, Reason: "has become shorter during the run: run the command again with the whole list", Err: download.ErrLocal}
}

// named returns the tasks of the command line's URLs, and reports those that
// cannot be retrieved.
func (m *many) named() (tasks []batch.Task) {
	for _, t := range m.Targets {
		u, err := m.complete(m.ctx, t)
		var task batch.Task
		if err == nil {
			task, err = m.task(t, u)
		}
		if err != nil {
			m.loses(t.URL.Redacted(), err)
			continue
		}
		tasks = append(tasks, task)
	}
	return tasks
}

// task returns what a URL of the command line asks for.
func (m *many) task(t config.Target, u *urlparse.URL) (batch.Task, error) {
	task := batch.Task{Item: manifest.Item{URLs: []*urlparse.URL{u}}}
	var err error
	switch {
	case t.Pattern != "":
		tree := *m.ofTree()
		tree.Names = t.Pattern
		if !m.Recursive {
			tree.Depth = 1
		}
		task.Tree = &tree
	case m.Recursive && u.IsDir():
		task.Tree = m.ofTree()
		if m.Dir == "" || len(m.Targets) > 1 {
			task.Path, err = treeName(u)
		}
	case u.IsDir():
		err = &ftpexec.Error{Op: "open", URL: u.Redacted(), Err: ftpexec.ErrIsDirectory, Hint: "-r fetches what is in it"}
	default:
		task.Path, err = download.LocalName(u)
	}
	return task, err
}

// ofTree returns what is wanted of a tree.
func (m *many) ofTree() *batch.Tree {
	tree := m.Tree
	if m.Type != "" && m.Type != "d" {
		tree.Type = func(name string) urlparse.Typecode {
			u := &urlparse.URL{Name: name}
			m.addType(u)
			return u.Type
		}
	}
	return &tree
}

// treeName returns the name under which to save a tree: that of the directory, or
// of the host for the login directory.
func treeName(u *urlparse.URL) (string, error) {
	name := u.Name
	for i := len(u.Dirs) - 1; i >= 0 && name == ""; i-- {
		name = path.Base("/" + strings.TrimSuffix(u.Dirs[i], "/"))
		if name == "/" {
			name = ""
		}
	}
	if name == "" {
		name = u.Host
	}
	v := *u
	v.Name = name
	return download.LocalName(&v)
}

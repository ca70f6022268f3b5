package ftpexec

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"sync"

	"example.com/ftpfetch/urlparse"
)

// ReadDir returns the entries of the named directory, ordered by name. With an error that is an [ErrLine] it returns all
// entries but those that the error is about.
func (d *FS) ReadDir(name string) ([]fs.DirEntry, error) {
	u, err := d.locate("readdir", name)
	if err != nil {
		return nil, err
	}
	var list []fs.DirEntry
	var odd []error
	err = d.client.uncrowded(d.ctx, u, func() (err error) {
		list, odd, err = d.list(u.Child("", urlparse.TypeNone), name)
		return err
	})
	if err != nil {
		return nil, failed("readdir", name, d.noDirectory(name, err))
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	if odd != nil {
		return list, failed("readdir", name, errors.Join(odd...))
	}
	return list, nil
}

// list returns the entries of dir, and an error for each that cannot be listed.
func (d *FS) list(dir *urlparse.URL, name string) (list []fs.DirEntry, odd []error, err error) {
	for e, err := range d.client.Entries(d.ctx, dir) {
		switch valid := fs.ValidPath(e.Base); {
		case errors.Is(err, ErrLine):
			odd = append(odd, err)
		case err != nil:
			return nil, nil, err
		case !valid:
			odd = append(odd, &Error{Stage: StageTransfer, Op: "open", URL: e.URL.Redacted(), Err: fmt.Errorf("%w: no name that io/fs allows", ErrLine)})
		default:
			list = append(list, &dirEntry{d, path.Join(name, e.Base), e})
		}
	}
	for _, e := range list {
		if err := e.(*dirEntry).learn(); err != nil {
			return nil, nil, err
		}
	}
	return list, odd, nil
}

// learn asks for the type if the listing told nothing but the name. A name about which the server tells nothing keeps its
// unknown type.
func (e *dirEntry) learn() error {
	if e.Type() != fs.ModeIrregular || e.Precision > 0 || e.HasPerm || e.Size >= 0 {
		return nil
	}
	info, err := e.fsys.stat("stat", e.path)
	switch {
	case err == nil:
		e.Entry = info.Entry
	case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, fs.ErrPermission):
		return err
	}
	return nil
}

// noDirectory returns why the named directory cannot be listed: err, or that it is a file.
func (d *FS) noDirectory(name string, err error) error {
	if !errors.Is(err, errDirectory) {
		return err
	}
	if info, e := d.stat("stat", name); e == nil && !info.IsDir() {
		return fmt.Errorf("%w%.0w", ErrNotDirectory, err)
	}
	return err
}

// ReadLink returns the target of the named link, as the server sent it.
func (d *FS) ReadLink(name string) (string, error) {
	e, err := d.lookup("readlink", name)
	if err == nil && e.Target == "" {
		err = failed("readlink", name, fmt.Errorf("%w: not a link, or the server does not tell its target", fs.ErrInvalid))
	}
	if err != nil {
		return "", err
	}
	return e.Target, nil
}

// Lstat is as Stat, but does not follow a link. It lists the directory that has the name.
func (d *FS) Lstat(name string) (fs.FileInfo, error) {
	if name == "." {
		return d.Stat(name)
	}
	e, err := d.lookup("lstat", name)
	if err != nil {
		return nil, err
	}
	return e.Info()
}

// lookup returns the named entry from the listing that has it.
func (d *FS) lookup(op, name string) (*dirEntry, error) {
	if !fs.ValidPath(name) || name == "." {
		return nil, failed(op, name, fs.ErrInvalid)
	}
	list, err := d.ReadDir(path.Dir(name))
	for _, e := range list {
		if e.Name() == path.Base(name) {
			return e.(*dirEntry), nil
		}
	}
	if err == nil || errors.Is(err, ErrLine) {
		err = fs.ErrNotExist
	}
	return nil, failed(op, name, err)
}

// openDir is a directory that Open has opened. It holds no connection.
type openDir struct {
	fsys *FS
	name string
	info *fileInfo

	mu     sync.Mutex
	closed bool
	listed bool
	rest   []fs.DirEntry // not read yet
	err    error         // to be returned after them
}

func (o *openDir) Stat() (fs.FileInfo, error) {
	if err := o.check("stat"); err != nil {
		return nil, err
	}
	return o.info, nil
}

func (o *openDir) Read([]byte) (int, error) {
	if err := o.check("read"); err != nil {
		return 0, err
	}
	return 0, failed("read", o.name, ErrIsDirectory)
}

func (o *openDir) Close() error {
	err := o.check("close")
	o.mu.Lock()
	defer o.mu.Unlock()
	o.closed, o.rest = true, nil
	return err
}

// check returns an error if o is closed.
func (o *openDir) check(op string) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.closed {
		return failed(op, o.name, fs.ErrClosed)
	}
	return nil
}

// ReadDir returns the next n entries, or all that are left. The first call lists the directory.
func (o *openDir) ReadDir(n int) ([]fs.DirEntry, error) {
	if err := o.check("readdir"); err != nil {
		return nil, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.listed {
		o.rest, o.err = o.fsys.ReadDir(o.name)
		o.listed = o.err == nil || errors.Is(o.err, ErrLine)
	}
	if n > 0 && len(o.rest) > 0 {
		n = min(n, len(o.rest))
		next := o.rest[:n:n]
		o.rest = o.rest[n:]
		return next, nil
	}
	all, err := o.rest, o.err
	o.rest, o.err = nil, nil
	if n > 0 && err == nil {
		err = io.EOF
	}
	return all, err
}

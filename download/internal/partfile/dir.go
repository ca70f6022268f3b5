package partfile

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"syscall"
)

// dir is an open directory.
type dir struct {
	*os.Root
	path  string
	users int // places

	mu   sync.Mutex
	self *os.File // for what a Root lacks; nil until that is needed
}

// openDir opens a directory: below root, or anywhere if that is nil.
func openDir(root *os.Root, path string) (d *dir, err error) {
	d = &dir{path: path}
	if root == nil {
		// The runtime ends the process if it cannot open what it needs for its first file: that takes one more than the root.
		var f *os.File
		if f, err = os.Open(path); err == nil {
			f.Close()
			d.Root, err = os.OpenRoot(path)
		}
	} else if d.Root, err = root.OpenRoot(path); err != nil {
		if info, serr := root.Stat(path); serr == nil && !info.IsDir() {
			err = syscall.ENOTDIR
		}
	}
	return d, err
}

// file returns the directory itself.
func (d *dir) file() (f *os.File, err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.self == nil {
		if f, err = d.Open("."); err == nil {
			d.self = f
		}
	}
	return d.self, err
}

// flush flushes the directory to disk. Windows has no such call.
func (d *dir) flush() error {
	f, err := d.file()
	if err == nil && runtime.GOOS != "windows" {
		err = fsync(f)
	}
	if errors.Is(err, errors.ErrUnsupported) || errors.Is(err, syscall.EINVAL) {
		return nil
	}
	return Failure(filepath.Clean(d.Name()), "cannot be flushed to disk", err)
}

func (d *dir) close() {
	_ = d.Root.Close()
	_ = d.self.Close()
}

// enter opens the directory of a place, or shares it.
func (g *Group) enter(root *os.Root, path string) (*dir, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.dirs[path]
	if d == nil {
		var err error
		if d, err = openDir(root, path); err != nil {
			return nil, err
		}
		g.trim(g.Keep - 1)
		if g.dirs == nil {
			g.dirs = make(map[string]*dir)
		}
		g.dirs[path] = d
	}
	d.users++
	return d, nil
}

// leave ends the use of a directory. gone means that another may have its name by now.
func (g *Group) leave(d *dir, gone bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if gone && g.dirs[d.path] == d {
		delete(g.dirs, d.path)
	}
	if d.users--; d.users == 0 && g.dirs[d.path] != d {
		d.close()
	}
	g.trim(g.Keep)
}

// trim closes directories that no place uses until there are at most n.
func (g *Group) trim(n int) {
	for path, d := range g.dirs {
		if len(g.dirs) > max(0, n) && d.users == 0 {
			d.close()
			delete(g.dirs, path)
		}
	}
}

// Close closes the directories.
func (g *Group) Close() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trim(0)
}

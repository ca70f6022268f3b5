package partfile

import (
	"os"
	"syscall"
)

// dir is an open directory.
type dir struct {
	*os.Root
	self  *os.File // for what a Root lacks; nil if it is opened when it is needed
	path  string
	users int // places
}

// openDir opens a directory: below root, or anywhere if that is nil.
func openDir(root *os.Root, path string, kept bool) (_ *dir, err error) {
	d := &dir{path: path}
	if root == nil {
		// The runtime ends the process if it cannot open what it needs for its first file: the root takes one more.
		if d.self, err = os.Open(path); err == nil {
			d.self.Close()
			d.Root, err = os.OpenRoot(path)
		}
	} else if d.Root, err = root.OpenRoot(path); err != nil {
		if info, serr := root.Stat(path); serr == nil && !info.IsDir() {
			err = syscall.ENOTDIR
		}
	}
	if d.self = nil; err == nil && kept {
		d.self, err = d.Open(".")
	}
	if err != nil {
		d.close()
		return nil, err
	}
	return d, nil
}

// with calls f with the open directory.
func (d *dir) with(f func(*os.File) error) error {
	if d.self != nil {
		return f(d.self)
	}
	self, err := d.Open(".")
	if err != nil {
		return err
	}
	defer self.Close()
	return f(self)
}

func (d *dir) flush() error { return d.with(flushDir) }

func (d *dir) close() {
	if d.Root != nil {
		_ = d.Root.Close()
	}
	_ = d.self.Close()
}

// enter opens the directory of a place, or shares it.
func (g *Group) enter(root *os.Root, path string) (*dir, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	d := g.dirs[path]
	if d == nil {
		var err error
		if d, err = openDir(root, path, g.Keep > 0); err != nil {
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

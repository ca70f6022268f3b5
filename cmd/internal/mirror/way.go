package mirror

import (
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"strings"
	"sync"

	"example.com/ftpfetch/internal/local/ledger"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// Way makes way for what has another kind on the server now: a directory where a file was, or the reverse. It removes
// only what an earlier run fetched from the same tree and what has not changed since. It is safe for concurrent use.
type Way struct {
	*Source
	Deletion

	mu sync.Mutex
}

// Make removes what is at a path, or returns an error that says why it stays. With Dry it only tells what it would
// remove.
func (w *Way) Make(at string) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	l, err := ledger.OpenToRead(w.Root)
	if err != nil {
		return err
	}
	defer l.Close()
	kinds := "a directory on the server now"
	info, err := w.Root.Lstat(at)
	if err == nil && info.IsDir() {
		kinds = "a file on the server now"
	}
	saved, err := w.saved(at, l)
	if err != nil {
		return err
	}
	var lost []missing
	err = fs.WalkDir(w.Root.FS(), at, func(file string, e fs.DirEntry, err error) error {
		if err == nil && e.IsDir() {
			return nil
		}
		m, known := saved[file]
		if err != nil || !known {
			return w.stays(at, file, kinds)
		}
		m.kinds = kinds
		m.dirs = strings.Count(strings.TrimPrefix(file, at), "/")
		lost = append(lost, m)
		return nil
	})
	if err != nil {
		return err
	}
	if n := int(w.cleared.Load()) + len(lost); n > w.Most {
		return &localfile.Error{Path: filepath.Join(w.Root.Name(), at), Reason: fmt.Sprintf(
			"is %s, and stays: %s would go, more than --max-delete %d",
			kinds, printable.Count(int64(n), "file", "files"), w.Most)}
	}
	w.cleared.Add(int64(len(lost)))
	err = w.carryOut(l, lost)
	if err == nil && !w.Dry {
		err = w.removeDirs(at)
	}
	return err
}

// saved returns the files at a path and below it that still are as an earlier run fetched them from a tree, by path.
func (w *Way) saved(at string, l *ledger.Ledger) (map[string]missing, error) {
	saved := make(map[string]missing)
	err := l.Each(func(r ledger.Record) {
		file := r.Local()
		if file != at && !strings.HasPrefix(file, at+"/") {
			return
		}
		for _, t := range w.Trees {
			below, covers := strings.CutPrefix(file, strings.TrimPrefix(path.Clean(t.Path)+"/", "./"))
			if !covers {
				continue
			}
			w.Source.mu.Lock() // listings arrive meanwhile
			m := w.lookUp(t, strings.Split(below, "/"))
			w.Source.mu.Unlock()
			m.path = file
			if m.url.Key() == urlparse.KeyOf(r.URL) && m.find(w.Root, l) {
				saved[file] = m
			}
		}
	})
	return saved, err
}

// stays returns the error that a file is not removed.
func (w *Way) stays(at, file, kinds string) error {
	which := "it"
	if file != at {
		which = strings.TrimPrefix(file, at+"/") + " in it"
	}
	return &localfile.Error{Path: filepath.Join(w.Root.Name(), at), Reason: fmt.Sprintf(
		"is %s, but %s was not fetched from there, or has changed since: move it away", kinds, which)}
}

// removeDirs removes a directory and those below it, which are empty.
func (w *Way) removeDirs(at string) error {
	var dirs []string
	_ = fs.WalkDir(w.Root.FS(), at, func(dir string, _ fs.DirEntry, _ error) error {
		dirs = append(dirs, dir)
		return nil
	})
	for i := len(dirs) - 1; i >= 0; i-- {
		if info, err := w.Root.Lstat(dirs[i]); err != nil || !info.IsDir() {
			continue
		}
		if err := w.Root.Remove(dirs[i]); err != nil {
			return localfile.Failure(filepath.Join(w.Root.Name(), dirs[i]), "cannot be deleted", err)
		}
	}
	return nil
}

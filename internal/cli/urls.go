package cli

import (
	"context"
	"errors"
	"iter"
	"path"
	"strings"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/urlparse"
)

// complete adds to a URL what it leaves open and the flags give.
func (r *run) complete(ctx context.Context, t config.Target) (*urlparse.URL, error) {
	u := t.URL
	if t.Err != nil {
		return nil, t.Err
	}
	if err := r.logIn(ctx, u); err != nil {
		return nil, err
	}
	r.addType(u)
	r.protect(u)
	if err := r.passes(u); err != nil {
		return nil, err
	}
	return u, u.Check()
}

// addType applies --type if the URL has no typecode. A URL that names no file
// stays a directory.
func (r *run) addType(u *urlparse.URL) {
	switch {
	case u.Type != urlparse.TypeNone || u.Name == "" || r.Type == "":
	case r.Type == "guess":
		u.Type = urlparse.GuessType(u.Name)
	default:
		u.Type = urlparse.Typecode(r.Type[0])
	}
}

// tasks yields what to retrieve: the files of the lists, of which most is known,
// then the URLs of the command line. It reports those that cannot be retrieved.
func (r *run) tasks(ctx context.Context) iter.Seq[batch.Task] {
	return func(yield func(batch.Task) bool) {
		for t := range r.listed(ctx) {
			if !yield(t) {
				return
			}
		}
		for _, t := range r.Targets {
			u, err := r.complete(ctx, t)
			var task batch.Task
			if err == nil {
				task, err = r.task(t, u)
			}
			if r.fail(t.URL.Redacted(), err); err != nil {
				r.lost++
			} else if !yield(task) {
				return
			}
		}
	}
}

// listed yields the files of the lists.
func (r *run) listed(ctx context.Context) iter.Seq[batch.Task] {
	return func(yield func(batch.Task) bool) {
		for _, l := range r.lists {
			n := 0
			for item, err := range l.items() {
				n++
				for i := 0; i < len(item.URLs) && err == nil; i++ {
					_, err = r.complete(ctx, config.Target{URL: item.URLs[i]})
				}
				if errors.Is(err, download.ErrLocal) { // nothing more can be read
					r.lost += int64(l.summary.Items - n)
					n = l.summary.Items
				}
				if r.fail(l.name, err); err != nil {
					r.lost++
				} else if !yield(batch.Task{Item: item}) {
					return
				}
			}
			if n < l.summary.Items {
				r.lost++
				r.fail("", &download.Error{Path: l.name, Err: download.ErrLocal,
					Reason: "has become shorter during the run: run the command again with the whole list"})
			}
		}
	}
}

// known returns how many files there are and their bytes, as far as that is known
// in advance; -1 means unknown.
func (r *run) known() (files, bytes int64) {
	for _, l := range r.lists {
		files += int64(l.summary.Items)
		if bytes += l.summary.Bytes; l.summary.Bytes < 0 {
			bytes = -1 << 62
		}
	}
	for _, t := range r.Targets {
		if t.Pattern != "" || r.Recursive && t.URL.IsDir() {
			return -1, -1
		}
		files, bytes = files+1, -1
	}
	return files, max(bytes, -1)
}

// task returns what a URL of the command line asks for.
func (r *run) task(t config.Target, u *urlparse.URL) (batch.Task, error) {
	task := batch.Task{Item: manifest.Item{URLs: []*urlparse.URL{u}}}
	var err error
	tree := r.Tree
	if r.Type != "" && r.Type != "d" {
		tree.Type = func(name string) urlparse.Typecode {
			u := &urlparse.URL{Name: name}
			r.addType(u)
			return u.Type
		}
	}
	switch {
	case r.Info: // nothing is saved
	case t.Pattern != "":
		task.Tree, tree.Names = &tree, t.Pattern
		if !r.Recursive {
			tree.Depth = 1
		}
	case r.Recursive && u.IsDir():
		task.Tree = &tree
		if r.Dir == "" || len(r.Targets) > 1 {
			task.Path, err = treeName(u)
		}
	case u.IsDir():
		err = &ftpexec.Error{Op: "open", URL: u.Redacted(), Err: ftpexec.ErrIsDirectory, Hint: "-r fetches what is in it"}
	default:
		task.Path, err = localName(u)
	}
	return task, err
}

// treeName returns the name under which to save a tree: that of the directory, or
// of the host for the login directory.
func treeName(u *urlparse.URL) (string, error) {
	v := *u
	for i := len(u.Dirs) - 1; i >= 0 && v.Name == ""; i-- {
		if v.Name = path.Base("/" + strings.TrimSuffix(u.Dirs[i], "/")); v.Name == "/" {
			v.Name = ""
		}
	}
	if v.Name == "" {
		v.Name = u.Host
	}
	return localName(&v)
}

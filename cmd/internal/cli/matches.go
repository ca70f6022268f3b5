package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"path"
	"strings"

	"example.com/ftpfetch/cmd/internal/mirror"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/glob"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/urlparse"
)

// matches finds what the patterns of a tree match, of all kinds, for -l.
type matches struct {
	run     *run
	tree    *download.Tree
	source  *mirror.Source
	guesses glob.Guesses // what the pattern may have meant
	found   bool
	failed  bool // a directory could not be listed
}

// entries yields what matches below the directory u, with its path there as its name. It is an error if nothing does.
func (m *matches) entries(ctx context.Context, u *urlparse.URL) iter.Seq2[ftpexec.Entry, error] {
	return func(yield func(ftpexec.Entry, error) bool) {
		m.guesses = glob.Guess(m.tree.Names)
		if !m.list(ctx, u, "", false, yield) || m.found || m.failed || m.source.LeftOut() > 0 {
			return
		}
		err := fmt.Errorf("nothing matches %s%s%.0w", m.tree.Names, m.guesses.Advice(), ftpexec.ErrNotFound)
		yield(ftpexec.Entry{}, err)
	}
}

// list lists the directory u, which is below the top of the tree, and the directories in it that match. guess says that
// it may be none. It returns false if yield does.
func (m *matches) list(ctx context.Context, u *urlparse.URL, below string, guess bool,
	yield func(ftpexec.Entry, error) bool) bool {
	var dirs []ftpexec.Entry
	depth := 0
	if below != "" {
		depth = 1 + strings.Count(below, "/")
	}
	_, last := glob.Level(m.tree.Names, depth)
	for e, err := range m.source.Entries(ctx, u) {
		if below != "" && isRefusal(err) {
			if !guess {
				m.failed = true
				m.run.printErrorOf(ctx, u, err)
			}
			return true
		}
		if err == nil {
			e.Name = path.Join(below, path.Base(e.Name))
			m.guesses.Add(e.Name, e.Mode.IsDir())
		}
		switch {
		case err == nil && !last:
			if m.enters(e) {
				dirs = append(dirs, e)
			}
		case (err != nil || m.wants(e)) && !yield(e, err):
			return false
		}
	}
	for _, e := range dirs {
		in := u.Child(localfile.Segment(path.Base(e.Name)), urlparse.TypeDir)
		if !m.list(ctx, in, e.Name, !e.Mode.IsDir(), yield) {
			return false
		}
	}
	return true
}

// isRefusal reports whether err is about one directory, and not about the server.
func isRefusal(err error) bool {
	return errors.Is(err, ftpexec.ErrRefused) || errors.Is(err, ftpexec.ErrNotFound)
}

// enters reports whether an entry matches, and may be a directory that is listed.
func (m *matches) enters(e ftpexec.Entry) bool {
	kind := e.Mode.Type()
	link := kind == fs.ModeSymlink && m.tree.FollowLinks
	may := kind == fs.ModeDir || kind == fs.ModeIrregular || link
	return may && m.tree.Includes(e.Name, true)
}

// wants reports whether an entry on the last level matches.
func (m *matches) wants(e ftpexec.Entry) bool {
	dir := e.Mode.IsDir()
	wanted := (dir || !m.run.Targets[m.run.current].Dirs) && m.tree.Includes(e.Name, dir)
	m.found = m.found || wanted
	return wanted
}

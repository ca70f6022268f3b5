package batch

import (
	"errors"
	"fmt"
	"hash/maphash"
	"io/fs"
	"path"
	"slices"
	"strings"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/glob"
	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/urlparse"
)

// Tree says what is wanted of a directory tree. Patterns are those of a shell, with "**" for any number of directories.
// One without "/" is compared with the name, one with "/" with the path below the tree's directory.
type Tree struct {
	Depth  int      // how many levels of directories to list; 0 means all of them
	Names  string   // a pattern of the paths that are wanted, level by level: "*/doc/*.pdf"; "" means all
	Accept []string // patterns of the files that are wanted; empty means all
	Reject []string // patterns of files and directories that are not wanted
	// FollowLinks retrieves what symbolic links lead to, if that is inside the tree. Otherwise they are only reported.
	FollowLinks bool
	// Type, if not nil, returns the type with which to retrieve a file of this name.
	Type func(name string) urlparse.Typecode
}

// check returns an error if a pattern is malformed.
func (t *Tree) check() error {
	for _, p := range slices.Concat(t.Accept, t.Reject, strings.Split(t.Names, "/")) {
		if err := glob.Check(p); err != nil {
			return fmt.Errorf("the malformed pattern %s: %w", p, err)
		}
	}
	if t.Depth < 0 {
		return errors.New("the Depth is negative: write 1 for the directory alone, 0 for all levels")
	}
	return nil
}

func (t *Tree) typeOf(name string) urlparse.Typecode {
	if t.Type == nil {
		return ""
	}
	return t.Type(name)
}

// level returns the part of Names for what is so many directories below the tree's own, and whether it is the last one; ""
// if Names reaches not so deep.
func (t *Tree) level(depth int) (pattern string, last bool) {
	rest, more := t.Names, t.Names != ""
	for ; more && depth >= 0; depth-- {
		pattern, rest, more = strings.Cut(rest, "/")
	}
	if depth >= 0 {
		return "", false
	}
	return pattern, !more
}

// wants reports whether an entry with this path below the tree's directory is wanted.
func (t *Tree) wants(below string, dir bool) bool {
	pattern, last := t.level(strings.Count(below, "/"))
	switch {
	case glob.Match(t.Reject, below), pattern != "" && !glob.Match([]string{pattern}, below):
		return false
	case pattern != "" && !last:
		return dir
	}
	return dir || len(t.Accept) == 0 || glob.Match(t.Accept, below)
}

// entry is what is kept of an ftpexec.Entry: there may be millions.
type entry struct {
	name, target string
	unique       string      // of a directory
	mode         fs.FileMode // the type
	size         int64
	time         time.Time // of modification
	unit         time.Duration
	local        bool
}

func entryOf(e ftpexec.Entry) entry {
	x := entry{name: strings.Clone(path.Base(e.Name)), target: strings.Clone(e.Target), mode: e.Mode.Type(), size: e.Size}
	if e.Mode.IsDir() {
		x.unique = strings.Clone(e.Unique)
	}
	x.time, x.unit, x.local = e.ModTime, e.Precision, e.Local
	return x
}

// rough reports whether the time is known only roughly.
func (e *entry) rough() bool { return e.local || e.unit == 0 || e.unit > time.Second }

// url returns the URL of an entry of the directory dir, with its name as servers take it.
func (e entry) url(dir *urlparse.URL) *urlparse.URL {
	kind := urlparse.Typecode("")
	if e.mode.IsDir() {
		kind = urlparse.TypeDir
	}
	return dir.Child(literal(e.name), kind)
}

// literal returns the segment of a URL for a name from a listing. Servers take a "~" at its beginning for a home
// directory, which a tree must not lead to.
func literal(name string) string {
	if strings.HasPrefix(name, "~") {
		return "./" + name
	}
	return name
}

// key returns a hash of the name, which is the same for names of the same file.
func (e entry) key() uint64 { return maphash.String(seed, localfile.Key(e.name)) }

// usable says why an entry cannot have its name here. It keeps each name as it is on the server or refuses it: one that
// would leave the directory or mean something else on this system, that of a journal, and the second of two that are the
// same here. taken has the keys of those before.
func (e entry) usable(taken map[uint64]bool) error {
	why, key := localfile.Unusable(e.name), e.key()
	if _, again := taken[key]; again && why == "" {
		why = "has the name of another entry of the listing"
	}
	if why != "" {
		return &localfile.Error{Path: e.name, Reason: why, Err: localfile.ErrName}
	}
	taken[key] = true
	return nil
}

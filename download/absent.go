package download

import (
	"cmp"
	"errors"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"example.com/ftpfetch/internal/local/localfile"
)

// A dry run of a tree with a million files need not look for each of them on the disk, nor queue it: the names in the
// local directory, read once, show that most are not there.

// mostLocal is how many names of a local directory a dry run keeps. If there are more, it looks for each file.
const mostLocal = 10_000

// localNames are the names in the local directory of a directory that is being listed, without differences of case.
type localNames struct {
	names   map[string]bool
	unknown bool // the directory cannot be read, has too many names, has parts of files, or is refused
}

// localNames returns the names in the local directory of j. It reads them once.
func (b *engine) localNames(j *job) *localNames {
	if j.dir.local == nil {
		j.dir.local = b.readLocal(filepath.FromSlash(cmp.Or(j.Path, ".")))
		if localfile.Own(j.Path) != "" {
			j.dir.local.unknown = true
		}
	}
	return j.dir.local
}

func (b *engine) readLocal(dir string) *localNames {
	l := &localNames{names: make(map[string]bool)}
	if b.root == nil {
		return l
	}
	info, err := b.root.Stat(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return l
	}
	l.unknown = true
	if err != nil || !info.IsDir() {
		return l
	}
	f, err := b.root.Open(dir)
	if err != nil {
		return l
	}
	defer f.Close()
	names, err := f.Readdirnames(mostLocal + 1)
	part := func(name string) bool { return strings.Contains(strings.ToLower(name), ".ftpfetch.") }
	if err != nil && !errors.Is(err, io.EOF) || len(names) > mostLocal || slices.ContainsFunc(names, part) {
		return l
	}
	l.unknown = false
	for _, name := range names {
		l.names[folded(name)] = true
	}
	return l
}

// folded returns a name without differences of case, which some file systems ignore.
func folded(name string) string { return strings.ToLower(strings.ToUpper(name)) }

// lack reports whether the directory certainly has no file of this name. A file system may write names that are not
// ASCII in another way, and Windows has short names such as PROGRA~1.
func (l *localNames) lack(name string) bool {
	for _, c := range []byte(name) {
		if c >= 0x80 || c == '~' {
			return false
		}
	}
	return !l.unknown && (len(l.names) == 0 || !l.names[folded(name)])
}

// plansAbsent reports what a dry run would do with a file of the listing of in, without queuing it: fetch the file,
// because it is not here. It returns false if the file may be here, or if its size must be asked for.
func (b *engine) plansAbsent(in, j *job) bool {
	if !b.Dry || b.Once || b.Info != nil || j.listed < 0 || !b.localNames(in).lack(j.name) {
		return false
	}
	in.withSurvey(func(h *survey) { h.wanted++ })
	if !b.claimPath(j) {
		return true
	}
	b.count(func(c *counts) { c.file(j.listed) })
	j.makeTask()
	e := j.ending(nil)
	e.Plan = planFetch
	if b.Check {
		e.Plan = planMissing
	}
	e.Result = Result{Size: j.listed, Left: "not here"}
	b.ended(e)
	return true
}

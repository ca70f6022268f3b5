package batch

import (
	"io/fs"
	"strings"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/urlparse"
)

// entry is what is kept of an ftpexec.Entry: there may be millions.
type entry struct {
	name, target string
	unique       string      // of a directory
	mode         fs.FileMode // the type
	size         int64
	time         time.Time // of modification; zero if it is known only roughly
}

func entryOf(e ftpexec.Entry) entry {
	x := entry{name: strings.Clone(e.Base), target: strings.Clone(e.Target), mode: e.Mode.Type(), size: e.Size}
	if e.Mode.IsDir() {
		x.unique = strings.Clone(e.Unique)
	}
	if !e.Local && e.Precision <= time.Second {
		x.time = e.ModTime
	}
	return x
}

// url returns the URL of an entry of the directory dir, with its name as servers
// take it.
func (e entry) url(dir *urlparse.URL) *urlparse.URL {
	kind := urlparse.TypeNone
	if e.mode.IsDir() {
		kind = urlparse.TypeDir
	}
	return dir.Child(literal(e.name), kind)
}

// literal returns the segment of a URL for a name from a listing. Servers take a
// "~" at its beginning for a home directory, which a tree must not lead to.
func literal(name string) string {
	if strings.HasPrefix(name, "~") {
		return "./" + name
	}
	return name
}

// usable says why an entry cannot have its name here. It keeps each name as it is on
// the server or refuses it: one that would leave the directory or mean something else
// on this system, that of a journal, and the second of two that are the same here.
// taken holds those of the entries before.
func (e entry) usable(taken map[string]bool) error {
	why, key := localfile.Unusable(e.name), localfile.Key(e.name)
	if why == "" && taken[key] {
		why = "has the name of another entry of the listing"
	}
	if why != "" {
		return &download.Error{Path: e.name, Reason: why, Err: download.ErrName}
	}
	taken[key] = true
	return nil
}

// Package claims finds the files of a list or a run that are in each other's way: those with the same path, and those
// whose path is a directory of another's.
package claims

import (
	"hash/maphash"
	"strconv"
	"strings"
	"sync"

	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/urlparse"
)

// Paths are those that files need, by their hashes. By chance, two of a million have the same hash in one run of thirty
// million: then the second is refused. Paths takes some fifty bytes of memory for each, and is safe for concurrent use.
type Paths struct {
	mu    sync.Mutex
	seed  maphash.Seed
	first map[uint64]claim
}

// claim is the first file that needs a path: the line that names it, and hashes of its URLs and of what is known about it.
type claim struct {
	line       int32 // below 0: it needs a directory there
	url, facts uint32
}

// New returns Paths of no file.
func New() *Paths { return &Paths{seed: maphash.MakeSeed(), first: make(map[uint64]claim)} }

// Add claims a path for the file of URLs, of which a size and digest may be known, and which a line names, from 0. It reports
// whether that is the first with the path. A second with the same URLs, of which no more is known, is the same file. For
// any other clash says how it is in the way of what a line names, for which it has "%s".
func (p *Paths) Add(path string, urls []*urlparse.URL, size *int64, sum string, line int) (first bool, clash string, of int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all strings.Builder
	for _, u := range urls {
		all.WriteString(u.String() + "\n")
	}
	facts := sum
	if size != nil {
		facts += " " + strconv.FormatInt(*size, 10)
	}
	key, mine := localfile.Key(path), claim{int32(line) + 1, uint32(p.hash(all.String())), uint32(p.hash(facts))}
	for i := range len(key) {
		if key[i] == '/' {
			if dir := p.take(key[:i], claim{line: -mine.line}); dir.line > 0 {
				return true, "needs a directory where %s has a file", int(dir.line) - 1
			}
		}
	}
	switch file := p.take(key, mine); {
	case file.line < 0:
		return true, "is a directory of the path of %s", int(-file.line) - 1
	case file.line > 0 && (file.url != mine.url || facts != "" && file.facts != mine.facts):
		return true, "is that of %s, which has another URL, size or digest", int(file.line) - 1
	default:
		return file.line == 0, "", 0
	}
}

func (p *Paths) hash(text string) uint64 { return maphash.String(p.seed, text) }

// take returns the claim that a path has, or the zero value if it has none and is claimed now.
func (p *Paths) take(path string, mine claim) claim {
	hash := p.hash(path)
	first, taken := p.first[hash]
	if !taken {
		p.first[hash] = mine
	}
	return first
}

// Package claims finds the files of a list or a run whose paths conflict: two files have the same path, or one's path is a
// directory of the other's.
package claims

import (
	"hash/maphash"
	"sync"

	"example.com/ftpfetch/internal/local/localfile"
)

// Paths are the paths that files need, by their hashes. By chance, two of a million have the same hash in one run of thirty
// million: then the second is refused. Paths takes some fifty bytes of memory for each, and is safe for concurrent use.
type Paths struct {
	mu    sync.Mutex
	seed  maphash.Seed
	first map[uint64]Claim
}

// Claim is a file that needs a path: what of it counts, in two numbers. The first is more than 0.
type Claim struct {
	Who  int32
	What uint32
}

// New returns Paths of no file.
func New() *Paths { return &Paths{seed: maphash.MakeSeed(), first: make(map[uint64]Claim)} }

// Hash returns a hash for a Claim.
func (p *Paths) Hash(text string) uint32 { return uint32(maphash.String(p.seed, text)) }

// Same is the clash of two files with one path, unless they are the same file.
const Same = "belongs to %s, which has another URL, size or digest"

// Add claims a path for a file. If another file has claimed it, Add returns that file and how the two conflict, with "%s"
// for that file; else clash is "".
func (p *Paths) Add(path string, mine Claim) (first Claim, clash string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	key := localfile.Key(path)
	for i := range len(key) {
		if key[i] == '/' {
			if dir := p.take(key[:i], Claim{-mine.Who, 0}); dir.Who > 0 {
				return dir, "needs a directory where %s has a file"
			}
		}
	}
	switch first = p.take(key, mine); {
	case first.Who < 0:
		return Claim{-first.Who, 0}, "is a directory of the path of %s"
	case first.Who > 0:
		return first, Same
	}
	return Claim{}, ""
}

// take returns the claim that a path has, or the zero value if it has none and is claimed now.
func (p *Paths) take(path string, mine Claim) Claim {
	hash := maphash.String(p.seed, path)
	first, taken := p.first[hash]
	if !taken {
		p.first[hash] = mine
	}
	return first
}

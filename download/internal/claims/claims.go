// Package claims finds files of a list or a run whose paths conflict: two files have the same path, or the path of one
// is a directory in the path of the other.
package claims

import (
	"hash/maphash"
	"sync"

	"example.com/ftpfetch/internal/local/localfile"
)

// Paths records the paths that files need, by their hashes. If two paths have the same hash, the second is refused:
// with a million paths that happens by chance in one run of thirty million. Paths takes some fifty bytes of memory for
// each path, and is safe for concurrent use.
type Paths struct {
	mu    sync.Mutex
	seed  maphash.Seed
	first map[uint64]Claim
}

// Claim identifies the file that claims a path. Who is more than 0. What is for the caller, such as a hash of the
// file's URL.
type Claim struct {
	Who  int32
	What uint32
}

// New returns Paths without any path.
func New() *Paths { return &Paths{seed: maphash.MakeSeed(), first: make(map[uint64]Claim)} }

// Hash returns a hash for a Claim.
func (p *Paths) Hash(text string) uint32 { return uint32(maphash.String(p.seed, text)) }

// Same is the clash that Add returns for two files with one path. The caller finds out whether they are the same file.
const Same = "belongs to %s, which has another URL, size or digest"

// Add claims a path for a file. If the path conflicts with that of an earlier file, Add returns the earlier file, and
// in clash how the two conflict, with "%s" for the earlier file. Otherwise clash is "".
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

// take returns the claim on a path. If there is none, take claims the path for mine and returns the zero value.
func (p *Paths) take(path string, mine Claim) Claim {
	hash := maphash.String(p.seed, path)
	first, taken := p.first[hash]
	if !taken {
		p.first[hash] = mine
	}
	return first
}

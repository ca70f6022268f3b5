// Package claims finds files of a list or a run whose paths conflict: two files have the same path, or the path of one
// is a directory in the path of the other.
package claims

import (
	"cmp"
	"encoding/binary"
	"hash/maphash"
	"sync"

	"example.com/ftpfetch/internal/local/localfile"
)

// Paths records the paths that files need, by their hashes. If two paths have the same hash, the second is refused:
// with a million paths that happens by chance in one run of thirty million. Paths takes some fifty bytes of memory for
// each path, and is safe for concurrent use.
type Paths struct {
	// Folds, if not nil, reports whether a directory takes other spellings of a name for the same file; dir is "."
	// for the output directory. Paths asks only if an earlier name in the directory differs in nothing else.
	Folds func(dir, name string) bool

	mu    sync.Mutex
	seed  maphash.Seed
	first map[halves]spelled
}

// halves are those of a key. They let an entry of the map take 20 bytes in place of 24.
type halves [2]uint32

func halve(key uint64) halves { return halves{uint32(key >> 32), uint32(key)} }

// spelled is a claim, and the hash of the name as it is spelled.
type spelled struct {
	Claim
	exact uint32
}

// Claim identifies the file that claims a path. Who is more than 0. What is for the caller, such as a hash of the
// file's URL.
type Claim struct {
	Who  int32
	What uint32
}

// New returns Paths without any path.
func New() *Paths { return &Paths{seed: maphash.MakeSeed(), first: make(map[halves]spelled)} }

// Hash returns a hash for a Claim.
func (p *Paths) Hash(text string) uint32 { return uint32(maphash.String(p.seed, text)) }

// Clash is how the path of a file conflicts with that of an earlier one.
type Clash int

// The caller finds out whether two files with the same path are the same file.
const (
	None      Clash = iota
	Same            // both have one path
	Respelled       // their paths are spelled differently, but are one here
	BelowFile       // the earlier path is a directory in the path
	AboveFile       // the path is a directory in the earlier path
)

// With says in words what the path of a file does, such as "belongs to line 3, ...". other names the earlier file.
func (c Clash) With(other string) string {
	switch c {
	case Same:
		return "belongs to " + other + ", which has another URL, size or digest"
	case Respelled:
		return "is another spelling of that of " + other + ", and both are one file here"
	case BelowFile:
		return "needs a directory where " + other + " has a file"
	case AboveFile:
		return "is a directory of the path of " + other
	}
	return ""
}

// Add claims a path for a file. If the path conflicts with that of an earlier file, Add returns the earlier file and
// how the two conflict.
func (p *Paths) Add(path string, mine Claim) (first Claim, clash Clash) {
	p.mu.Lock()
	defer p.mu.Unlock()
	up := uint64(0) // the key of the directory
	start := 0
	for i := range len(path) {
		if path[i] == '/' {
			dir, key, _ := p.claim(up, path[:i], start, Claim{-mine.Who, 0})
			if dir.Who > 0 {
				return dir, BelowFile
			}
			up = key
			start = i + 1
		}
	}
	switch first, _, same := p.claim(up, path, start, mine); {
	case first.Who < 0:
		return Claim{-first.Who, 0}, AboveFile
	case first.Who > 0 && !same:
		return first, Respelled
	case first.Who > 0:
		return first, Same
	}
	return Claim{}, None
}

// claim returns the claim on path, whose name begins at start, in the directory whose key is up. If there is none,
// claim claims the path for mine and returns the zero value. key is the key of the path. same reports whether the
// claimed path has the same spelling.
func (p *Paths) claim(up uint64, path string, start int, mine Claim) (first Claim, key uint64, same bool) {
	name := path[start:]
	exact := p.key(up, name)
	claim := spelled{mine, uint32(exact)}
	key = p.key(up, localfile.Fold(name))
	there, taken := p.first[halve(key)]
	if taken && there.exact != claim.exact && !p.folds(path[:max(0, start-1)], name) {
		key = ^exact // two files, and the first has the key of both
		there, taken = p.first[halve(key)]
	}
	if !taken {
		p.first[halve(key)] = claim
	}
	return there.Claim, key, there.exact == claim.exact
}

func (p *Paths) folds(dir, name string) bool {
	return p.Folds != nil && p.Folds(cmp.Or(dir, "."), name)
}

// key returns the key of a name in the directory whose key is up.
func (p *Paths) key(up uint64, name string) uint64 {
	var h maphash.Hash
	h.SetSeed(p.seed)
	_, _ = h.Write(binary.LittleEndian.AppendUint64(nil, up))
	_, _ = h.WriteString(name)
	return h.Sum64()
}

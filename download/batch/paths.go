package batch

import (
	"fmt"
	"hash/maphash"
	"sync"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/localfile"
)

// paths are those of the files that a run retrieves, as hashes.
type paths struct {
	mu    sync.Mutex
	files map[uint64]known
}

// known is the first file with a path: hashes of its URL, and of what is known about it.
type known struct{ url, facts uint32 }

func newPaths() *paths { return &paths{files: make(map[uint64]known)} }

// admit reports whether a job is to be queued. Of two files with the same path only the first is: a second with the same
// URL, of which no more is known, does not count; any other fails.
func (b *engine) admit(j *job) bool {
	if b.paths == nil || j.dir != nil {
		return true
	}
	settled := *j
	settled.settle()
	first, same := b.paths.take(&settled)
	if !first && !same {
		b.count(func(c *counts) { c.file(-1, 1) })
		b.ended(settled.failed(&localfile.Error{Path: settled.Path, Reason: "is also the place of an earlier file of this run", Err: download.ErrLocal}))
	}
	return first
}

// take reports whether the path of a file was still free, and if not, whether the first file has the same URL, and what is
// known about j.
func (p *paths) take(j *job) (first, same bool) {
	hash := func(s string) uint64 { return maphash.String(seed, s) }
	facts := j.Sum.String()
	if j.Size != nil {
		facts += fmt.Sprint(" ", *j.Size)
	}
	key, mine := hash(localfile.Key(j.Path)), known{uint32(hash(j.url().String())), uint32(hash(facts))}
	p.mu.Lock()
	defer p.mu.Unlock()
	file, taken := p.files[key]
	if !taken {
		p.files[key] = mine
	}
	return !taken, taken && file.url == mine.url && (facts == "" || file == mine)
}

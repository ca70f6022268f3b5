package batch

import (
	"fmt"
	"hash/maphash"
	"sync"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/localfile"
)

// claims are the paths of the files that a run retrieves, as hashes.
type claims struct {
	mu    sync.Mutex
	seed  maphash.Seed
	owner map[uint64][2]uint64 // path -> first URL, and what is known of its file
}

// admit reports whether a job is to be queued. Of two files with the same path only
// the first is: a second with the same URL, of which no more is known, does not
// count; any other fails.
func (b *engine) admit(j *job) bool {
	if !b.Mixed || j.dir != nil {
		return true
	}
	settled := *j
	j = &settled
	j.settle()
	facts := j.Sum.String()
	if j.Size != nil {
		facts += fmt.Sprint(" ", *j.Size)
	}
	first, same := b.claims.take(localfile.Key(j.Path), j.url().String(), facts)
	if !first && !same {
		b.files.Add(1)
		b.unsized.Add(1)
		b.ended(j.failed(&download.Error{Path: j.Path, Reason: "is also the place of an earlier file of this run", Err: download.ErrLocal}))
	}
	return first
}

// take reports whether path was still free, and if not, whether it is for the same
// URL and facts, or none.
func (c *claims) take(path, url, facts string) (first, same bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.owner == nil {
		c.seed, c.owner = maphash.MakeSeed(), make(map[uint64][2]uint64)
	}
	hash := func(s string) uint64 { return maphash.String(c.seed, s) }
	key, source := hash(path), [2]uint64{hash(url), hash(facts)}
	owner, taken := c.owner[key]
	if !taken {
		c.owner[key] = source
	}
	return !taken, taken && owner[0] == source[0] && (facts == "" || owner == source)
}

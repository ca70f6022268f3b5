package sums

import "sync"

// Cache remembers what the directories of a run have, so that the lists for many files of one are fetched once. It
// forgets everything when that is much. The zero value is empty.
type Cache struct {
	mu     sync.Mutex
	known  map[string]*known
	weight int
}

type known struct {
	sync.Mutex // held while one file finds out, for which the others wait
	digests    *Digests
}

// mostKnown bounds the names that a Cache remembers, and those of a list.
const mostKnown = 200_000

// Get returns what get returned for the key before, or calls it.
func (c *Cache) Get(key string, get func() (*Digests, error)) (*Digests, error) {
	c.mu.Lock()
	k := c.known[key]
	if k == nil {
		k = new(known)
		if c.known == nil {
			c.known = make(map[string]*known)
		}
		c.known[key] = k
	}
	c.mu.Unlock()
	k.Lock()
	defer k.Unlock()
	if k.digests != nil {
		return k.digests, nil
	}
	d, err := get()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || d.Once {
		delete(c.known, key)
		return d, err
	}
	k.digests = d
	if c.weight += d.Len() + 1; c.weight > mostKnown {
		c.known, c.weight = nil, 0
	}
	return d, nil
}

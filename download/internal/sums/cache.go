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
	mu    sync.Mutex // held while one file finds out, for which the others wait
	there bool
	value any
}

// mostKnown bounds the names that a Cache remembers, and those of a list.
const mostKnown = 200_000

// Get returns what get returned for the key before, or calls it. The weight is how many names there are; less than 0 means
// that the value is for this call only.
func (c *Cache) Get(key string, get func() (value any, weight int, err error)) (any, error) {
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
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.there {
		return k.value, nil
	}
	value, weight, err := get()
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil || weight < 0 {
		delete(c.known, key)
		return value, err
	}
	k.value, k.there = value, true
	if c.weight += weight + 1; c.weight > mostKnown {
		c.known, c.weight = nil, 0
	}
	return value, nil
}

package download

import "hash/maphash"

// nameSet is a set of names of which each can be ticked once. A directory may have a million names, and most servers list
// them in order: names that are added and ticked in their order need no index. A nameSet makes one when it is asked about
// another name that is not after the last one. The zero value is empty.
type nameSet struct {
	// without an index
	keys   []uint64 // of the names, in their order
	last   string   // the last name
	ticked int      // number of keys at the beginning whose names are ticked

	index map[uint64]bool // whether the names are ticked, by their keys; nil if there is no index
}

// keyOf returns a hash of a name or a path.
func keyOf(name string) uint64 { return maphash.String(seed, name) }

// has reports whether s has a name.
func (s *nameSet) has(name string) bool {
	if s.isNext(name) {
		return false
	}
	s.makeIndex()
	_, ok := s.index[keyOf(name)]
	return ok
}

// add adds a name that s does not have.
func (s *nameSet) add(name string) {
	if s.isNext(name) {
		s.keys = append(s.keys, keyOf(name))
		s.last = name
		return
	}
	s.makeIndex()
	s.index[keyOf(name)] = false
}

// tick ticks a name. It returns false if s does not have it, or it is ticked already.
func (s *nameSet) tick(name string) bool {
	key := keyOf(name)
	switch {
	case s.index == nil && s.ticked < len(s.keys) && s.keys[s.ticked] == key:
		s.ticked++
		return true
	case s.isNext(name):
		return false
	}
	s.makeIndex()
	ticked, ok := s.index[key]
	if ok {
		s.index[key] = true
	}
	return ok && !ticked
}

// untick makes all names unticked.
func (s *nameSet) untick() {
	s.ticked = 0
	for key := range s.index {
		s.index[key] = false
	}
}

// isNext reports whether there is no index and a name comes after all those of s.
func (s *nameSet) isNext(name string) bool {
	return s.index == nil && (len(s.keys) == 0 || name > s.last)
}

func (s *nameSet) makeIndex() {
	if s.index != nil {
		return
	}
	s.index = make(map[uint64]bool, len(s.keys))
	for i, key := range s.keys {
		s.index[key] = i < s.ticked
	}
	s.keys = nil
}

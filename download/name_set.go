package download

import "hash/maphash"

// nameSet is a set of names. There may be a million of a directory, which most servers list in order: a nameSet has no
// index as long as each name comes after those before it. The zero value is empty.
type nameSet struct {
	keys []uint64 // of the names, in their order; nil if there is an index
	last string   // the last name
	met  int      // number of keys at the beginning whose names are met

	// the index, by the keys of the names: whether they are met; nil if there is none
	index map[uint64]bool
}

func keyOf(name string) uint64 { return maphash.String(seed, name) }

// has reports whether s has a name.
func (s *nameSet) has(name string) bool {
	if s.index == nil && (len(s.keys) == 0 || name > s.last) {
		return false
	}
	s.makeIndex()
	_, ok := s.index[keyOf(name)]
	return ok
}

// add adds a name that s does not have.
func (s *nameSet) add(name string) {
	if len(s.keys) > 0 && name < s.last {
		s.makeIndex()
	}
	if s.index != nil {
		s.index[keyOf(name)] = false
		return
	}
	s.keys = append(s.keys, keyOf(name))
	s.last = name
}

// meet reports whether s has a name that is not yet met. From then on it is.
func (s *nameSet) meet(name string) bool {
	key := keyOf(name)
	if s.index == nil && s.met < len(s.keys) && s.keys[s.met] == key {
		s.met++
		return true
	}
	if s.index == nil && (len(s.keys) == 0 || name > s.last) {
		return false
	}
	s.makeIndex()
	met, ok := s.index[key]
	if ok {
		s.index[key] = true
	}
	return ok && !met
}

// forgetMet makes all names ones that are not yet met.
func (s *nameSet) forgetMet() {
	s.met = 0
	for key := range s.index {
		s.index[key] = false
	}
}

func (s *nameSet) makeIndex() {
	if s.index != nil {
		return
	}
	s.index = make(map[uint64]bool, len(s.keys))
	for i, key := range s.keys {
		s.index[key] = i < s.met
	}
	s.keys = nil
}

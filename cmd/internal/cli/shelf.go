package cli

import (
	"cmp"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"

	"example.com/ftpfetch/ftpexec"
)

// compare compares entries in the order that --sort names. Their names decide between equal ones.
func compare(by string, a, b ftpexec.Entry) int {
	order := 0
	switch by {
	case "time":
		order = b.ModTime.Compare(a.ModTime)
	case "size":
		order = cmp.Compare(b.Size, a.Size)
	}
	return cmp.Or(order, cmp.Compare(a.Name, b.Name))
}

// shelf keeps entries for sorting. There may be a million: it holds nothing of the lines that the server sent, and no
// pointer for each entry, which the garbage collector would follow.
type shelf struct {
	blocks []*shelfBlock
	n      int
}

// shelfBlock is some entries in a row.
type shelfBlock struct {
	entries [perBlock]kept
	text    strings.Builder // the names and targets of links, one after another
}

// perBlock is how many entries a shelfBlock holds: one array for a million would be copied each time it grows.
const perBlock = 1024

// kept is what is kept of an entry.
type kept struct {
	size        int64
	seconds     int64 // ModTime, since 1970
	precision   time.Duration
	nanos       int32
	mode        fs.FileMode
	start       uint32 // of its text in the block
	name        uint32 // length of the name
	target      uint32 // length of the target, which follows it
	perm, local bool
}

// add keeps an entry.
func (s *shelf) add(e ftpexec.Entry) {
	i := s.n % perBlock
	if i == 0 {
		s.blocks = append(s.blocks, &shelfBlock{})
	}
	b := s.blocks[len(s.blocks)-1]
	b.entries[i] = kept{
		size:      e.Size,
		seconds:   e.ModTime.Unix(),
		nanos:     int32(e.ModTime.Nanosecond()),
		precision: e.Precision,
		mode:      e.Mode,
		perm:      e.HasPerm,
		local:     e.Local,
		start:     uint32(b.text.Len()),
		name:      uint32(len(e.Name)),
		target:    uint32(len(e.Target)),
	}
	b.text.WriteString(e.Name)
	b.text.WriteString(e.Target)
	s.n++
}

// name returns the name of the i-th entry that was added.
func (s *shelf) name(i int32) string {
	b := s.blocks[i/perBlock]
	k := &b.entries[i%perBlock]
	return b.text.String()[k.start : k.start+k.name]
}

// entry returns the i-th entry that was added, without its URL.
func (s *shelf) entry(i int32) ftpexec.Entry {
	b := s.blocks[i/perBlock]
	k := &b.entries[i%perBlock]
	text := b.text.String()[k.start:]
	return ftpexec.Entry{
		Name:      text[:k.name],
		Target:    text[k.name : k.name+k.target],
		Size:      k.size,
		ModTime:   time.Unix(k.seconds, int64(k.nanos)).UTC(),
		Precision: k.precision,
		Mode:      k.mode,
		HasPerm:   k.perm,
		Local:     k.local,
	}
}

// sorted yields the entries in the order that --sort names, or in reverse. Servers often sort by name already.
func (s *shelf) sorted(by string, reverse bool) iter.Seq[ftpexec.Entry] {
	order := make([]int32, s.n)
	for i := range order {
		order[i] = int32(i)
	}
	less := func(a, b int32) int { return strings.Compare(s.name(a), s.name(b)) }
	if by != "name" {
		less = func(a, b int32) int { return compare(by, s.entry(a), s.entry(b)) }
	}
	if !slices.IsSortedFunc(order, less) {
		slices.SortStableFunc(order, less)
	}
	if reverse {
		slices.Reverse(order)
	}
	return func(yield func(ftpexec.Entry) bool) {
		for _, i := range order {
			if !yield(s.entry(i)) {
				return
			}
		}
	}
}

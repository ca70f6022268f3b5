package manifest

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
	"strings"

	"example.com/ftpfetch/download"
)

// claims are the paths of a list, as hashes of eight bytes. Equal hashes are only
// a suspicion.
type claims struct {
	seed  maphash.Seed
	files []uint64
	dirs  []uint64 // each directory above a file, mostly once
	last  string   // the directory of the last file
}

func (c *claims) add(path string) {
	if c.files == nil {
		c.seed = maphash.MakeSeed()
	}
	key := download.PathKey(path)
	c.files = append(c.files, maphash.String(c.seed, key))
	if above := key[:strings.LastIndexByte(key, '/')+1]; above != c.last {
		c.last = above
		for dir := range dirsAbove(key) {
			c.addDir(maphash.String(c.seed, dir))
		}
	}
}

// addDir adds a directory. It drops repetitions whenever the list would grow.
func (c *claims) addDir(hash uint64) {
	if len(c.dirs) == cap(c.dirs) {
		slices.Sort(c.dirs)
		c.dirs = slices.Compact(c.dirs)
	}
	c.dirs = append(c.dirs, hash)
}

// dirsAbove yields the directories in a path.
func dirsAbove(path string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range len(path) {
			if path[i] == '/' && !yield(path[:i]) {
				return
			}
		}
	}
}

// suspects are the hashes of paths that may be in another's way, sorted.
type suspects struct {
	seed  maphash.Seed
	files []uint64 // of more than one file
	dirs  []uint64 // of a file and of a directory
}

// suspects ends the collection, and gives the memory back.
func (c *claims) suspects() suspects {
	s := suspects{seed: c.seed}
	slices.Sort(c.files)
	slices.Sort(c.dirs)
	for i, hash := range c.files {
		if i > 0 && hash == c.files[i-1] && (i == 1 || hash != c.files[i-2]) {
			s.files = append(s.files, hash)
		}
		if _, ok := slices.BinarySearch(c.dirs, hash); ok {
			s.dirs = append(s.dirs, hash)
		}
	}
	c.files, c.dirs = nil, nil
	return s
}

func (s suspects) none() bool { return len(s.files)+len(s.dirs) == 0 }

func (s suspects) file(key string) bool {
	_, twice := slices.BinarySearch(s.files, maphash.String(s.seed, key))
	return twice || s.dir(key)
}

func (s suspects) dir(key string) bool {
	if len(s.dirs) == 0 {
		return false
	}
	_, ok := slices.BinarySearch(s.dirs, maphash.String(s.seed, key))
	return ok
}

// fingerprint stands for a path or an item: two with the same fingerprint are the same, as
// surely as two files with the same SHA-256 are.
type fingerprint [16]byte

func fingerprintOf(text string) fingerprint {
	sum := sha256.Sum256([]byte(text))
	return fingerprint(sum[:16])
}

// conflicts are the suspects that have been seen.
type conflicts struct {
	suspects
	files map[fingerprint]claim
	dirs  map[fingerprint]int32 // the line of the first file below it
}

// claim is the first item that claims a path.
type claim struct {
	line int32
	item [8]byte // the beginning of its fingerprint
}

func newConflicts(s suspects) *conflicts {
	return &conflicts{s, map[fingerprint]claim{}, map[fingerprint]int32{}}
}

// errRepeat means that an item names a file again.
var errRepeat = errors.New("names the same file again")

// add returns an error if the item is in the way of an earlier one.
func (c *conflicts) add(item download.Item) error {
	key := download.PathKey(item.Path)
	for dir := range dirsAbove(key) {
		if !c.dir(dir) {
			continue
		}
		if file, ok := c.files[fingerprintOf(dir)]; ok {
			return fmt.Errorf("the path %s needs a directory where line %d has a file: write another path", item.Path, file.line)
		}
		if _, ok := c.dirs[fingerprintOf(dir)]; !ok {
			c.dirs[fingerprintOf(dir)] = int32(item.Line)
		}
	}
	if !c.file(key) {
		return nil
	}
	mark := fingerprintOf(key)
	if line, ok := c.dirs[mark]; ok {
		return fmt.Errorf("the path %s is a directory of the path of line %d: write another path", item.Path, line)
	}
	first, ok := c.files[mark]
	switch {
	case !ok:
		c.files[mark] = claim{int32(item.Line), identity(item)}
		return nil
	case first.item == identity(item):
		return errRepeat
	}
	return fmt.Errorf("the path %s is that of line %d, which has another URL, size or digest: write another path", item.Path, first.line)
}

// identity stands for everything about an item except its line.
func identity(item download.Item) [8]byte {
	var b strings.Builder
	for _, u := range item.URLs {
		b.WriteString(u.String() + "\n")
	}
	b.WriteString(item.Path + "\n" + item.Sum.String())
	if item.Size != nil {
		_ = binary.Write(&b, binary.BigEndian, *item.Size)
	}
	sum := fingerprintOf(b.String())
	return [8]byte(sum[:8])
}

package manifest

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"slices"
	"strconv"
	"strings"

	"example.com/ftpfetch/internal/localfile"
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
	key := localfile.Key(path)
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

// suspects ends the collection and returns, in order, the hashes of the paths that
// more than one file has, and of those of a file and of a directory.
func (c *claims) suspects() []uint64 {
	slices.Sort(c.files)
	slices.Sort(c.dirs)
	list := c.files[:0]
	for i, hash := range c.files {
		_, dir := slices.BinarySearch(c.dirs, hash)
		if dir || i+1 < len(c.files) && hash == c.files[i+1] {
			list = append(list, hash)
		}
	}
	list = slices.Clone(slices.Compact(list))
	c.files, c.dirs = nil, nil
	return list
}

// conflicts are the claims of the suspects, the first of each path.
type conflicts struct {
	seed   maphash.Seed
	hashes []uint64
	claims []claim // of the paths with these hashes
	others map[string]*claim
}

// claim is the first item that claims a path. Its path and all its facts are
// known by parts of their SHA-256, so that it needs little memory.
type claim struct {
	path, item uint64
	line       int32 // 0: nothing claims the path yet
	dir        bool  // the path is that of a directory
}

func newConflicts(c *claims) *conflicts {
	hashes := c.suspects()
	return &conflicts{c.seed, hashes, make([]claim, len(hashes)), map[string]*claim{}}
}

// of returns the claim to the path with that key, or nil if it is no suspect.
func (c *conflicts) of(key string) *claim {
	i, ok := slices.BinarySearch(c.hashes, maphash.String(c.seed, key))
	if !ok {
		return nil
	}
	first, path := &c.claims[i], sha64(key)
	switch {
	case first.line == 0:
		first.path = path
		return first
	case first.path == path:
		return first
	case c.others[key] == nil: // as rare as two paths with the same hash
		c.others[key] = &claim{path: path}
	}
	return c.others[key]
}

// errRepeat means that an item names a file again.
var errRepeat = errors.New("names the same file again")

// add returns an error if the item is in the way of an earlier one.
func (c *conflicts) add(item Item) error {
	key, line := localfile.Key(item.Path), int32(item.Line)
	for dir := range dirsAbove(key) {
		switch first := c.of(dir); {
		case first == nil:
		case first.line == 0:
			first.line, first.dir = line, true
		case !first.dir:
			return fmt.Errorf("the path %s needs a directory where line %d has a file: %w", item.Path, first.line, ErrPath)
		}
	}
	first, same := c.of(key), identity(item)
	switch {
	case first == nil:
		return nil
	case first.line == 0:
		first.line, first.item = line, same
		return nil
	case first.dir:
		return fmt.Errorf("the path %s is a directory of the path of line %d: %w", item.Path, first.line, ErrPath)
	case first.item == same:
		return errRepeat
	}
	return fmt.Errorf("the path %s is that of line %d, which has another URL, size or digest: %w", item.Path, first.line, ErrPath)
}

// identity stands for everything about an item except its line.
func identity(item Item) uint64 {
	var b strings.Builder
	for _, u := range item.URLs {
		b.WriteString(u.String() + "\n")
	}
	b.WriteString(item.Path + "\n" + item.Sum.String())
	if item.Size != nil {
		b.WriteString("\n" + strconv.FormatInt(*item.Size, 10))
	}
	return sha64(b.String())
}

// sha64 returns the beginning of the SHA-256 of a text.
func sha64(text string) uint64 {
	sum := sha256.Sum256([]byte(text))
	return binary.BigEndian.Uint64(sum[:])
}

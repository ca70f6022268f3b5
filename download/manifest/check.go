package manifest

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"iter"
	"math"
	"strconv"
	"strings"

	"example.com/ftpfetch/internal/localfile"
)

// maxErrors is how many bad lines Check names.
const maxErrors = 1000

// Check reads a whole list and returns how many files it names in the shard, their size together, which is -1 if that of
// one is unknown, and all that is wrong with the list, in the order of the lines. Of more than a thousand bad lines one
// more error says how many others there are. The list of an error that is not [ErrLine] could not be read to its end.
//
// Two items are in each other's way if they have the same path, or if the path of one is a directory of the other's. Items
// that are the same in all but their line are one file, and no error. Check needs some fifty bytes of memory for each
// item.
func Check(text io.Reader, o Options) (files int, octets int64, errs []error) {
	c, more := &claims{maphash.MakeSeed(), make(map[uint64]claim)}, 0
	r := &reader{Options: o}
	r.yield = func(item Item, err error) bool {
		first := false
		if err == nil {
			first, err = c.add(item)
		}
		if first && o.shares(item) {
			if files++; octets < 0 || item.Size == nil || *item.Size > math.MaxInt64-octets {
				octets = -1
			} else {
				octets += *item.Size
			}
		}
		switch {
		case err == nil:
		case len(errs) >= maxErrors && errors.Is(err, ErrLine):
			more++
		default:
			errs = append(errs, err)
		}
		return true
	}
	if r.read(text); more > 0 {
		errs = append(errs, fmt.Errorf("and %d more bad lines", more))
	}
	return files, octets, errs
}

// Read reads the items of a list in order, while it reads source. A bad line yields an [ErrLine], and reading goes on with
// the next line. If nothing after a line can be understood, or if source fails, the error is the last, and that of source
// is unchanged. Read needs the same memory for a list of any length.
func Read(source io.Reader, o Options) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		(&reader{Options: o, yield: func(item Item, err error) bool {
			return err == nil && !o.shares(item) || yield(item, err)
		}}).read(source)
	}
}

// claims are the paths that the items of a list need, by their hashes. By chance, two paths of a list of a million have
// the same hash in one run of thirty million: it refuses the list.
type claims struct {
	seed  maphash.Seed
	first map[uint64]claim
}

// claim is the first item that needs a path.
type claim struct {
	line int32  // below 0: the path is that of a directory
	item uint32 // the hash of all that is known about the item
}

// add reports whether the item is the first that names its file, or why it is in the way of an earlier one.
func (c *claims) add(item Item) (first bool, err error) {
	key, line := localfile.Key(item.Path), int32(item.Line)
	in := func(reason string, line int32) (bool, error) {
		return true, &lineError{item.Line, fmt.Errorf("the path %s "+reason+": write another path (--keep-dirs saves each file under the directories of its URL)", item.Path, line)}
	}
	for i := range len(key) {
		if key[i] == '/' {
			if dir := c.take(key[:i], claim{line: -line}); dir.line > 0 {
				return in("needs a directory where line %d has a file", dir.line)
			}
		}
	}
	mine := claim{line, c.identity(item)}
	switch file := c.take(key, mine); {
	case file.line < 0:
		return in("is a directory of the path of line %d", -file.line)
	case file.line != 0 && file.item != mine.item:
		return in("is that of line %d, which has another URL, size or digest", file.line)
	default:
		return file.line == 0, nil
	}
}

// take returns the claim that a path has, or the zero value if it has none and is claimed now.
func (c *claims) take(path string, mine claim) claim {
	hash := maphash.String(c.seed, path)
	first, taken := c.first[hash]
	if !taken {
		c.first[hash] = mine
	}
	return first
}

// identity stands for everything about an item except its line.
func (c *claims) identity(item Item) uint32 {
	var b strings.Builder
	for _, u := range item.URLs {
		b.WriteString(u.String() + "\n")
	}
	b.WriteString(item.Path + "\n" + item.Sum.String())
	if item.Size != nil {
		b.WriteString("\n" + strconv.FormatInt(*item.Size, 10))
	}
	return uint32(maphash.String(c.seed, b.String()))
}

// shares reports whether the item belongs to the share. Every item belongs to just one share, and to the same on every
// machine: the first URL decides, whatever its password and however it is spelled.
func (o *Options) shares(item Item) bool {
	if o.Shard[1] <= 1 {
		return true
	}
	u, port := item.URLs[0].WithoutPassword(), item.URLs[0].Port
	if u.Port = 0; u.Address() != item.URLs[0].Address() { // the port is not the default
		u.Port = port
	}
	sum := sha256.Sum256([]byte(u.String()))
	return binary.BigEndian.Uint64(sum[:])%uint64(o.Shard[1]) == uint64(o.Shard[0]-1)
}

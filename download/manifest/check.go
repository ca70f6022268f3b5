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

// Summary is what [Check] finds in a list.
type Summary struct {
	Items int   // files in the shard; one that is named again counts once
	Bytes int64 // their size together; -1 if a size is unknown

	// repeats are the items that name a file again, with all the same facts: their numbers among those of all shards, from
	// 0, in order.
	repeats []int32
}

// Check reads a whole list and returns what it holds and all that is wrong with it, in the order of the lines. Of more
// than a thousand bad lines one more error says how many others there are. The list of an error that is not [ErrLine]
// could not be read to its end.
//
// Two items are in each other's way if they have the same path, or if the path of one is a directory of the other's. Items
// that are the same in all but their line are one file, and no error. Check needs some fifty bytes of memory for each
// item.
func Check(text io.Reader, o Options) (s Summary, errs []error) {
	claims, items, more := newClaims(), int32(-1), 0
	r := &reader{Options: o}
	r.yield = func(item Item, err error) bool {
		if err == nil {
			items++
			if err = claims.add(item); errors.Is(err, errRepeat) {
				s.repeats = append(s.repeats, items)
				return true
			}
			if o.Shard.has(item) {
				s.Items++
				if s.Bytes < 0 || item.Size == nil || *item.Size > math.MaxInt64-s.Bytes {
					s.Bytes = -1
				} else {
					s.Bytes += *item.Size
				}
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
	r.read(text)
	if more > 0 {
		errs = append(errs, fmt.Errorf("and %d more bad lines", more))
	}
	return s, errs
}

// Read reads the items of a list in order, while it reads source, without the repeats that [Check] found in the same list;
// the zero Summary knows of none. A bad line yields an [ErrLine], and reading goes on with the next line. If nothing after
// a line can be understood, or if source fails, the error is the last, and that of source is unchanged. Read needs the
// same memory for a list of any length.
func (s Summary) Read(source io.Reader, o Options) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		n, repeats := int32(-1), s.repeats
		(&reader{Options: o, yield: func(item Item, err error) bool {
			if err != nil {
				return yield(item, err)
			}
			if n++; len(repeats) > 0 && repeats[0] == n {
				repeats = repeats[1:]
				return true
			}
			return !o.Shard.has(item) || yield(item, nil)
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

func newClaims() *claims { return &claims{maphash.MakeSeed(), make(map[uint64]claim)} }

// errRepeat means that an item names a file again.
var errRepeat = errors.New("names the same file again")

// add returns an error if the item is in the way of an earlier one.
func (c *claims) add(item Item) error {
	key, line := localfile.Key(item.Path), int32(item.Line)
	in := func(reason string, line int32) error {
		return &lineError{item.Line, fmt.Errorf("the path %s "+reason+": %w", item.Path, line, ErrPath)}
	}
	for i := range len(key) {
		if key[i] == '/' {
			if first := c.take(key[:i], claim{line: -line}); first.line > 0 {
				return in("needs a directory where line %d has a file", first.line)
			}
		}
	}
	mine := claim{line, c.identity(item)}
	switch first := c.take(key, mine); {
	case first.line < 0:
		return in("is a directory of the path of line %d", -first.line)
	case first.line == 0:
	case first.item == mine.item:
		return errRepeat
	default:
		return in("is that of line %d, which has another URL, size or digest", first.line)
	}
	return nil
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

// Shard is one of several equal shares of the items; see [ParseShard]. The zero value is all items.
type Shard struct{ index, count int }

// String returns "I/N", or "" for the zero value.
func (s Shard) String() string {
	if s == (Shard{}) {
		return ""
	}
	return fmt.Sprintf("%d/%d", s.index, s.count)
}

// has reports whether the item belongs to the share. Every item belongs to just one share, and to the same on every
// machine: the first URL decides, whatever its password and however it is spelled.
func (s Shard) has(item Item) bool {
	if s.count <= 1 {
		return true
	}
	u, port := item.URLs[0].WithoutPassword(), item.URLs[0].Port
	if u.Port = 0; u.Address() != item.URLs[0].Address() { // the port is not the default
		u.Port = port
	}
	sum := sha256.Sum256([]byte(u.String()))
	return binary.BigEndian.Uint64(sum[:])%uint64(s.count) == uint64(s.index-1)
}

// ParseShard reads a share as a person writes it: I/N, from 1/N to N/N. The error is one line that says what to write
// instead.
func ParseShard(text string) (Shard, error) {
	index, count, _ := strings.Cut(strings.TrimSpace(text), "/")
	i, err := strconv.ParseUint(index, 10, 31)
	n, bad := strconv.ParseUint(count, 10, 31)
	switch err = errors.Join(err, bad); {
	case err == nil && i == 0 && n > 0:
		return Shard{}, fmt.Errorf("%q: shares count from 1: write 1/%d for the first", text, n)
	case err == nil && n > 0 && i > n:
		return Shard{}, fmt.Errorf("%q: the share is not a number from 1 to %d: write I/N, such as 3/10 for the third of ten shares", text, n)
	case err != nil || n == 0:
		return Shard{}, fmt.Errorf("%q is not a share: write I/N, such as 3/10 for the third of ten shares", text)
	}
	return Shard{int(i), int(n)}, nil
}

package manifest

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"strconv"

	"example.com/ftpfetch/internal/claims"
)

// maxErrors is how many bad lines Check names.
const maxErrors = 1000

// Check reads a whole list and returns how many files it names in the shard, their size together, which is -1 if that of
// one is unknown, and all that is wrong with the list, in the order of the lines. Of more than a thousand bad lines one
// more error says how many others there are. The list of an error that is not [ErrLine] could not be read to its end.
//
// Two items are in each other's way if they have the same path, or if the path of one is a directory of the other's. Items
// that are the same in all but their line, or of which the later says less, are one file, and no error. Check needs some fifty bytes of memory for each
// item.
func Check(text io.Reader, o Options) (files int, octets int64, errs []error) {
	paths, more := claims.New(), 0
	r := &reader{Options: o}
	r.yield = func(item Item, err error) bool {
		first := false
		if err == nil {
			var clash string
			var line int
			if first, clash, line = paths.Add(item.Path, item.URLs, item.Size, item.Sum.String(), item.Line); clash != "" {
				err = &lineError{item.Line, fmt.Errorf("the path %s "+clash+": write another path (--keep-dirs saves each file under the directories of its URL)",
					item.Path, "line "+strconv.Itoa(line))}
			}
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

package manifest

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"slices"
)

// MaxErrors is how many bad lines [Check] names. One more error says how many
// others there are.
const MaxErrors = 1000

// Summary is what [Check] finds in a list.
type Summary struct {
	Items   int   // files in the shard; one that is named again counts once
	Bytes   int64 // their size together; -1 if a size is unknown
	Empty   int   // lines of a report that name no file
	Repeats int   // items of all shards that name a file again, with all the same facts

	repeats []int32 // their places among all items, from 0, in order
}

// Check reads a whole list and returns what it holds and all that is wrong with
// it, in the order of the lines as far as one reading finds it. open must return
// the same text each time: Check reads it again if two items may be in each
// other's way. The list of an error that is not a [*LineError] could not be read
// to its end.
//
// Two items are in each other's way if they have the same path, or if the path of
// one is a directory of the other's. Items that are the same in all but their line
// are one file, and no error.
func Check(open func() (io.ReadCloser, error), o Options) (Summary, []error) {
	c := &checker{options: o, open: open}
	c.first()
	if !c.failed {
		c.second()
	}
	if c.more > 0 {
		c.errs = append(c.errs, fmt.Errorf("and %d more bad lines", c.more))
	}
	return c.summary, c.errs
}

// Read is like the function [Read], without the repeats that [Check] found in the
// same list.
func (s Summary) Read(source io.Reader, o Options) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		place, repeats := -1, s.repeats
		(&reader{Options: o, yield: func(item Item, err error) bool {
			if err != nil {
				return yield(item, err)
			}
			place++
			if len(repeats) > 0 && int(repeats[0]) == place {
				repeats = repeats[1:]
				return true
			}
			return !o.Shard.Has(item) || yield(item, nil)
		}}).read(source)
	}
}

// checker is the state of Check.
type checker struct {
	options Options
	open    func() (io.ReadCloser, error)
	summary Summary
	claims  claims
	errs    []error
	more    int
	failed  bool // the list could not be read
}

// fail keeps an error. One that is not about a line ends the check.
func (c *checker) fail(err error) {
	var bad *LineError
	if !errors.As(err, &bad) {
		c.failed = true
	}
	if c.failed || len(c.errs) < MaxErrors {
		c.errs = append(c.errs, err)
		return
	}
	c.more++
}

// each reads the list and calls use for each item, with its place.
func (c *checker) each(use func(place int, item Item), fail func(error)) (empty int) {
	text, err := c.open()
	if err != nil {
		fail(err)
		return 0
	}
	defer text.Close()
	place := 0
	r := &reader{Options: c.options, yield: func(item Item, err error) bool {
		if err != nil {
			fail(err)
			return true
		}
		use(place, item)
		place++
		return true
	}}
	r.read(text)
	return r.empty
}

// first counts the items and finds bad lines.
func (c *checker) first() {
	c.summary.Empty = c.each(func(_ int, item Item) {
		c.claims.add(item.Path)
		if c.options.Shard.Has(item) {
			c.summary.count(item, 1)
		}
	}, c.fail)
}

// second finds the items that are in each other's way.
func (c *checker) second() {
	found := newConflicts(&c.claims)
	if len(found.hashes) == 0 {
		return
	}
	c.each(func(place int, item Item) {
		err := found.add(item)
		switch {
		case errors.Is(err, errRepeat):
			c.summary.repeats = append(c.summary.repeats, int32(place))
			if c.options.Shard.Has(item) {
				c.summary.count(item, -1)
			}
		case err != nil:
			c.fail(&LineError{Line: item.Line, Err: err})
		}
	}, func(err error) {
		var bad *LineError
		if !errors.As(err, &bad) { // the first reading has reported the bad lines
			c.fail(err)
		}
	})
	c.summary.Repeats = len(c.summary.repeats)
	slices.SortStableFunc(c.errs, byLine)
}

// byLine orders errors by their lines, those of no line last.
func byLine(a, b error) int {
	line := func(err error) int {
		var bad *LineError
		if errors.As(err, &bad) {
			return bad.Line
		}
		return math.MaxInt
	}
	return line(a) - line(b)
}

// count adds an item, or takes one away that was counted before.
func (s *Summary) count(item Item, n int) {
	s.Items += n
	switch {
	case s.Bytes < 0:
	case item.Size == nil, n > 0 && *item.Size > math.MaxInt64-s.Bytes:
		s.Bytes = -1
	default:
		s.Bytes += int64(n) * *item.Size
	}
}

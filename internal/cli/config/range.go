package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Range is the bytes of a file from First to Last, counted from 0.
type Range struct{ First, Last int64 } // Last is math.MaxInt64-1 for the end of the file

// String returns the range as the flag takes it.
func (r Range) String() string {
	if r.Last == toEnd {
		return fmt.Sprintf("%d-", r.First)
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}

const toEnd = math.MaxInt64 - 1

// readRange reads A-B or A-.
func readRange(s string) (*Range, error) {
	first, last, is := strings.Cut(s, "-")
	a, err := strconv.ParseUint(first, 10, 62)
	b := uint64(toEnd)
	if last != "" && err == nil {
		b, err = strconv.ParseUint(last, 10, 62)
	}
	if !is || err != nil || a > b {
		return nil, errors.New("write A-B, the first and the last byte counted from 0, " +
			"or A- for all from byte A on: 0-99 are the first hundred")
	}
	return &Range{int64(a), int64(b)}, nil
}

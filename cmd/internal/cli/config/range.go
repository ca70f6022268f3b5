package config

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"example.com/ftpfetch/download/manifest"
)

// Range is the bytes of a file from First to Last, counted from 0.
type Range struct {
	First, Last int64 // Last is math.MaxInt64-1 if the range reaches to the end of the file
	Now         bool  // it ends where the file ends when the server is first asked
}

// String returns the range in the form that the flag takes.
func (r Range) String() string {
	switch {
	case r.Now:
		return fmt.Sprintf("%d-now", r.First)
	case r.Last == toEnd:
		return fmt.Sprintf("%d-", r.First)
	}
	return fmt.Sprintf("%d-%d", r.First, r.Last)
}

const toEnd = math.MaxInt64 - 1

// readRange reads A-B, A- or A-now.
func readRange(s string) (*Range, error) {
	first, last, is := strings.Cut(s, "-")
	now := last == "now"
	if now {
		last = ""
	}
	a, err := strconv.ParseUint(first, 10, 62)
	b := uint64(toEnd)
	if last != "" && err == nil {
		b, err = strconv.ParseUint(last, 10, 62)
	}
	if !is || err != nil || a > b {
		return nil, errors.New("write A-B, the first and the last byte counted from 0, " +
			"A- for all from byte A on, or A-now for what a growing file has now: 0-99 are the first hundred")
	}
	return &Range{int64(a), int64(b), now}, nil
}

func readShard(s string) (manifest.Shard, error) {
	index, count, _ := strings.Cut(s, "/")
	i, err := strconv.Atoi(index)
	n, bad := strconv.Atoi(count)
	if err != nil || bad != nil || i < 1 || i > n {
		return manifest.Shard{}, errors.New("write I/N, from 1/N to N/N: 3/10 is the third of ten shares")
	}
	return manifest.Shard{Number: i, Of: n}, nil
}

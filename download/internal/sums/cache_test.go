package sums

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
)

// TestCache checks that one of many asks, that what fails is asked again, and that there is a bound.
func TestCache(t *testing.T) {
	var c Cache
	var asked atomic.Int64
	ask := func(weight int, err error) func() (any, int, error) {
		return func() (any, int, error) { return int(asked.Add(1)), weight, err }
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if got, err := c.Get("a", ask(1, nil)); got != 1 || err != nil {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	all.Wait()
	broken := errors.New("broken")
	for i, tt := range []struct {
		weight int
		err    error
		want   int
	}{{1, broken, 2}, {-1, nil, 3}, {1, nil, 4}, {1, nil, 4}} {
		if got, err := c.Get("b", ask(tt.weight, tt.err)); got != tt.want || err != tt.err {
			t.Errorf("%d: got %v, %v", i, got, err)
		}
	}
	if _, err := c.Get("much", ask(mostKnown, nil)); err != nil || len(c.known) != 0 {
		t.Errorf("%d are kept, %v", len(c.known), err)
	}
	if got, _ := c.Get("a", ask(1, nil)); got != 6 {
		t.Errorf("got %v, want the sixth", got)
	}
}

// TestReadBounded checks that of a very long list the file that is asked for is kept.
func TestReadBounded(t *testing.T) {
	var list strings.Builder
	for i := range mostKnown + 3 {
		fmt.Fprintf(&list, "%s  f%d\n", abc["md5"], i)
	}
	last := fmt.Sprint("f", mostKnown+2)
	d, err := List{Algorithm: "md5", Whole: true}.Read(strings.NewReader(list.String()), last)
	if err != nil || !d.Partial || d.Len() > mostKnown+1 {
		t.Fatalf("%v, %+v files", err, d.Len())
	}
	if _, err := d.Find(last); err != nil {
		t.Error(err)
	}
}

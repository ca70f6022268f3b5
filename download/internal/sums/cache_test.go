package sums

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/ftpfetch/download/digest"
)

// TestCache checks that one of many asks, that what fails is asked again, and that there is a bound.
func TestCache(t *testing.T) {
	var c Cache
	var asked atomic.Int64
	ask := func(names int, once bool, err error) func() (*Digests, error) {
		return func() (*Digests, error) {
			d := &Digests{Once: once}
			for i := range names {
				d.Add(fmt.Sprint(i), digest.Sum{})
			}
			d.Add(fmt.Sprint("asked ", asked.Add(1)), digest.Sum{})
			return d, err
		}
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if got, err := c.Get("a", ask(0, false, nil)); !got.Has("asked 1") || err != nil {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	all.Wait()
	broken := errors.New("broken")
	for i, tt := range []struct {
		once bool
		err  error
		want int
	}{{false, broken, 2}, {true, nil, 3}, {false, nil, 4}, {false, nil, 4}} {
		if got, err := c.Get("b", ask(0, tt.once, tt.err)); !got.Has(fmt.Sprint("asked ", tt.want)) || err != tt.err {
			t.Errorf("%d: got %v, %v", i, got, err)
		}
	}
	if _, err := c.Get("much", ask(mostKnown, false, nil)); err != nil || len(c.known) != 0 {
		t.Errorf("%d are kept, %v", len(c.known), err)
	}
	if got, _ := c.Get("a", ask(0, false, nil)); !got.Has("asked 6") {
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
	if err != nil || !d.Once || d.Len() > mostKnown+1 {
		t.Fatalf("%v, %+v files", err, d.Len())
	}
	if _, err := d.Find(last); err != nil {
		t.Error(err)
	}
}

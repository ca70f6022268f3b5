package fetch

import (
	"errors"
	"fmt"
	"slices"

	"example.com/ftpfetch/download/internal/algorithm"
	"example.com/ftpfetch/download/internal/decide"
)

const maxSegments = 64

// Check returns an error if the options contradict each other. Callers of File and To must call it first.
func (o Options) Check() error {
	switch {
	case !slices.Contains(decide.Existings, o.Existing):
		return fmt.Errorf("%q is no value of Existing: use one of the constants", o.Existing)
	case o.Resumes() && o.NoResume:
		return errors.New("the options contradict each other: Existing continues a file, NoResume starts over: use one")
	}
	if a := string(o.Sum.Algorithm); a != "" || len(o.Sum.Digest) > 0 {
		if !slices.Contains(algorithm.Names(), a) || len(o.Sum.Digest) != algorithm.New(a).Size() {
			return fmt.Errorf("the Sum is no digest of an algorithm %q: use digest.Parse", a)
		}
	}
	if o.Segments < AutoSegments || o.Segments > maxSegments {
		return fmt.Errorf("the number of Segments is not from 0 to %d, nor AutoSegments", maxSegments)
	}
	return nil
}

package fetch

import (
	"errors"
	"fmt"
)

const maxSegments = 64

// Check returns an error if the options contradict each other. Who fetches calls it first.
func (o Options) Check() error {
	both := ""
	switch { // in order, so that the same options are always told the same
	case o.Overwrite && o.Skip:
		both = "Overwrite and Skip"
	case o.Newer && o.Skip:
		both = "Newer and Skip"
	case o.Continue && o.Skip:
		both = "Continue and Skip"
	case o.Continue && o.Overwrite:
		both = "Continue and Overwrite"
	case o.Continue && o.NoResume:
		both = "Continue and NoResume"
	}
	if both != "" {
		return errors.New(both + " contradict each other: leave one out")
	}
	if o.Segments < 0 || o.Segments > maxSegments {
		return fmt.Errorf("the number of Segments is not from 0 to %d", maxSegments)
	}
	return nil
}

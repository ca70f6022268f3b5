// Package flush waits until files are on the disk, many at a time.
package flush

import (
	"os"

	"golang.org/x/sync/errgroup"
)

var shared queue

// All waits until files are on the disk. It returns an error for each, or nil.
func All(files ...*os.File) []error {
	errs := make([]error, len(files))
	var threads errgroup.Group
	threads.SetLimit(32)
	for i := shared.flush(files, errs); i < len(files); i++ {
		threads.Go(func() error { errs[i] = files[i].Sync(); return nil })
	}
	_ = threads.Wait()
	return errs
}

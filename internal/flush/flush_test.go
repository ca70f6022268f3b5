package flush

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"testing"

	"example.com/ftpfetch/internal/rules/must"
)

// Each file has its own result, also if the queue is too short for all, or stops at one that cannot be flushed, or is in use.
func TestAll(t *testing.T) {
	var files []*os.File
	for i := range 600 {
		f := must.Get(os.Create(filepath.Join(t.TempDir(), strconv.Itoa(i))))(t)
		defer f.Close()
		must.Get(f.WriteString("x"))(t)
		files = append(files, f)
	}
	r, w, err := os.Pipe()
	must.Do(t, err)
	defer r.Close()
	defer w.Close()
	var both sync.WaitGroup
	for _, bad := range []int{0, 1, 255, 256, 599} {
		both.Go(func() {
			all := append([]*os.File(nil), files...)
			all[bad] = w
			for i, err := range All(all...) {
				if failed := errors.As(err, new(*fs.PathError)); failed != (i == bad) {
					t.Errorf("file %d, with a pipe at %d: %v", i, bad, err)
				}
			}
		})
	}
	both.Wait()
	if errs := All(); len(errs) != 0 {
		t.Errorf("no files: %v", errs)
	}
}

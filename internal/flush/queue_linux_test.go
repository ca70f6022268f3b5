package flush

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"example.com/ftpfetch/internal/rules/must"
)

// What the queue cannot do is left to threads. If it fails once it has taken files they have errors, and it takes no more.
func TestQueueFails(t *testing.T) {
	f := must.Get(os.Create(filepath.Join(t.TempDir(), "f")))(t)
	defer f.Close()
	files := slices.Repeat([]*os.File{f}, enough)
	for name, tt := range map[string]struct {
		breaks func(*queue)
		taken  []int // by one call after the other
	}{
		"too few":      {func(q *queue) { q.files.Store(-1) }, []int{0, enough, enough}},
		"io_setup":     {func(q *queue) { q.context = 1 }, []int{0, 0}},
		"io_submit":    {func(q *queue) { q.open(); q.context++ }, []int{0, 0}},
		"io_getevents": {func(q *queue) { q.open(); must.Do(t, q.done.SetReadDeadline(time.Unix(1, 0))) }, []int{enough, 0}},
	} {
		q := new(queue)
		tt.breaks(q)
		for i, want := range tt.taken {
			errs := make([]error, len(files))
			n := q.flush(files, errs)
			if failed := name == "io_getevents" && i == 0; n != want || (errs[0] != nil && errs[enough-1] != nil) != failed {
				t.Errorf("%s: flushed %d of %d: %v", name, n, want, errs)
			}
		}
	}
}

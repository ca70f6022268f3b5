package download

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
)

// TestDirectoryMoved renames the directory of the file, or its parent, before each call on the disk, and may make a new
// one of that name. A run that succeeds must have saved the file at its path, and after a failure the same command must
// fetch it.
func TestDirectoryMoved(t *testing.T) {
	t.Cleanup(func() { disk.Fault = nil })
	all, runs := scenes(t), 0
	for i, s := range slices.Concat(all, all) {
		if s.err != nil {
			continue
		}
		k := newKit(t, matrixTree)
		if i >= len(all) {
			k.below()
		}
		calls := s.calls(k)
		step := night.Or(13, 1)
		for at := 1 + i%min(step, calls); at <= calls; at += step {
			for _, again := range []bool{false, true} {
				runs++
				s.moves(k, at, again)
			}
		}
	}
	t.Logf("%d runs", runs)
}

func (s *scene) moves(k *kit, at int, again bool) {
	k.Helper()
	s.begin(k)
	dir, moved := k.dir, false
	if k.top != "" && at%2 == 0 {
		dir = filepath.Dir(dir)
	}
	n, named := 0, ""
	onCall(k.T, func(call, _ string) error {
		if n++; n == at {
			named = call
			if moved = os.Rename(dir, dir+" of before") == nil; moved && again {
				must.Do(k, os.MkdirAll(k.dir, 0o777))
			}
		}
		return nil
	})
	err := s.run(k.Context(), k)
	disk.Fault = nil
	if err == nil && !s.finished(k) {
		k.Errorf("%s: moved before call %d (%s), anew %v: no error, but there is %q", s.what, at, named, again, namesIn(k.T, k.dir))
	}
	if err != nil && !errors.Is(err, ErrLocal) {
		k.Errorf("%s: moved before call %d (%s), anew %v: %v is no local error", s.what, at, named, again, err)
	}
	if moved && k.top == "" {
		must.Do(k, os.MkdirAll(k.dir, 0o777))
	}
	err = s.run(k.Context(), k)
	if !s.finished(k) {
		k.Errorf("%s: moved before call %d (%s), anew %v: the next run: %v, there is %q", s.what, at, named, again, err, namesIn(k.T, k.dir))
	}
}

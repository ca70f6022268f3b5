package batch_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// TestMixed checks that two sources cannot lead to one path, unless they mean the same file.
func TestMixed(t *testing.T) {
	s := newStand(t, map[string]string{"/a/f": "one", "/b/f": "two"}, testserver.Options{})
	s.options.Jobs, s.options.Each.Overwrite = 1, true
	task := func(path string) batch.Task {
		return batch.Task{Item: manifest.Item{URLs: []*urlparse.URL{s.url(path)}, Path: "f"}}
	}
	got := s.run(t.Context(), task("/a/f"), task("/a/f"), task("/b/f"))
	if got.Files != 2 || got.Complete != 1 || got.Failed != 1 {
		t.Errorf("%+v, %q", got, s.failures())
	}
	for _, o := range s.outcomes {
		if o.Err != nil && !errors.Is(o.Err, download.ErrLocal) {
			t.Errorf("got %v, want %v", o.Err, download.ErrLocal)
		}
	}
}

// TestWrongSizeSaysSo checks that a file that is there with another size than the list says is not called finished, or in
// the way, but what it is.
func TestWrongSizeSaysSo(t *testing.T) {
	s := newStand(t, map[string]string{"/f": "four"}, testserver.Options{})
	if err := os.WriteFile(filepath.Join(s.dir, "f"), []byte("four"), 0o644); err != nil {
		t.Fatal(err)
	}
	task := batch.Task{Item: manifest.Item{URLs: []*urlparse.URL{s.url("/f")}, Path: "f", Size: new(int64(5))}}
	s.run(t.Context(), task)
	want := []string{"f: f: exists with 4 bytes, but the list says 5"}
	if got := s.failures(); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

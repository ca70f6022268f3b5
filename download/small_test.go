package download

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"
)

// renames is the call that gives a file its name.
var renames = map[bool]string{true: "renameat2", false: "link"}[runtime.GOOS == "linux"]

var fourKiB = noise(4<<10, 9)

// TestSmallFile counts the calls on the disk for one small file, of which people retrieve many thousands: below a root
// too, where the directory is there already.
func TestSmallFile(t *testing.T) {
	const most = 33
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o777); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, tt := range []struct {
		path, dir string
		o         *Options
	}{
		{filepath.Join(dir, "f"), filepath.Base(dir), nil},
		{"d/f", "d", &Options{Root: root}},
	} {
		var calls, flushed []string
		onCall(t, func(call, path string) error {
			path = filepath.Clean(path)
			calls = append(calls, call+" "+filepath.Base(path))
			if call == "fsync" || call == renames {
				flushed = append(flushed, call+" "+filepath.Base(path))
			}
			return nil
		})
		if _, err := File(t.Context(), memorySource{contents: fourKiB}, urlOf(t, "ftp://h/f"), tt.path, tt.o); err != nil {
			t.Fatal(err)
		}
		if len(calls) > most {
			t.Errorf("%s: %d calls, want at most %d: %q", tt.path, len(calls), most, calls)
		}
		want := []string{"fsync f.part", renames + " f.part", "fsync " + tt.dir}
		if !slices.Equal(flushed, want) {
			t.Errorf("%s: got %q, want %q", tt.path, flushed, want)
		}
	}
}

// BenchmarkSmall saves files of 4 KiB, one after another, without a network.
func BenchmarkSmall(b *testing.B) {
	dir := b.TempDir()
	root, err := os.OpenRoot(dir)
	if err != nil {
		b.Fatal(err)
	}
	defer root.Close()
	u := urlOf(b, "ftp://h/f")
	for _, bb := range []struct {
		what, dir string
		o         *Options
	}{
		{"anywhere", dir, nil}, {"root", "d", &Options{Root: root}},
	} {
		b.Run(bb.what, func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				if _, err := File(b.Context(), memorySource{contents: fourKiB}, u, filepath.Join(bb.dir, fmt.Sprint(i)), bb.o); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

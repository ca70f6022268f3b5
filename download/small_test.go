package download

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"testing"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/download/internal/sums"
	"example.com/ftpfetch/internal/rules/must"
)

// renames is the call that gives a file its name.
var renames = map[bool]string{true: "renameat2", false: "link"}[runtime.GOOS == "linux"]

var fourKiB = noise(4<<10, 9)

// ofMany is the Source of a file of many.
type ofMany struct {
	Source
	place func() *partfile.Place
}

func (o ofMany) Extra() Source          { return o.Source }
func (o ofMany) Arrived()               {}
func (o ofMany) Place() *partfile.Place { return o.place() }
func (o ofMany) Lists() *sums.Cache     { return new(sums.Cache) }

// TestSmallFile counts the calls on the disk for one small file, of which people retrieve many thousands: below a root
// too, where the directory is there already, and as one of many.
func TestSmallFile(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(dir, "d"), 0o777))
	root := must.Get(os.OpenRoot(dir))(t)
	defer root.Close()
	alone := memorySource{contents: fourKiB}
	for _, tt := range []struct {
		src             Source
		path, part, dir string
		o               *Options
		most            int
	}{
		{alone, filepath.Join(dir, "f"), "f.ftpfetch.part", filepath.Base(dir), nil, 12},
		{alone, "d/f", "f.ftpfetch.part", "d", &Options{Root: root}, 12},
		{ofMany{alone, func() *partfile.Place { return must.Get(new(partfile.Group).Find(root, "d/g"))(t) }}, "d/g", "g.ftpfetch.part", "d", &Options{Root: root}, 12},
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
		must.Get(File(t.Context(), tt.src, urlOf(t, "ftp://h/f"), tt.path, tt.o))(t)
		if len(calls) > tt.most {
			t.Errorf("%s: %d calls, want at most %d: %q", tt.path, len(calls), tt.most, calls)
		}
		want := []string{"fsync " + tt.part, renames + " " + tt.part, "fsync " + tt.dir}
		if !slices.Equal(flushed, want) {
			t.Errorf("%s: got %q, want %q", tt.path, flushed, want)
		}
	}
}

// BenchmarkSmall saves files of 4 KiB, one after another, without a network.
func BenchmarkSmall(b *testing.B) {
	dir := b.TempDir()
	root := must.Get(os.OpenRoot(dir))(b)
	defer root.Close()
	u := urlOf(b, "ftp://h/f")
	alone, of, i := memorySource{contents: fourKiB}, new(partfile.Group), 0
	place := func() *partfile.Place { return must.Get(of.Find(root, filepath.Join("e", fmt.Sprint(i))))(b) }
	for _, bb := range []struct {
		what, dir string
		src       Source
		o         *Options
	}{
		{"anywhere", dir, alone, nil}, {"root", "d", alone, &Options{Root: root}},
		{"of many", "e", ofMany{alone, place}, &Options{Root: root, Events: func(Event) {}, Commit: func(Result) error { return nil }}},
	} {
		b.Run(bb.what, func(b *testing.B) {
			for i = 0; b.Loop(); i++ {
				must.Get(File(b.Context(), bb.src, u, filepath.Join(bb.dir, fmt.Sprint(i)), bb.o))(b)
			}
		})
	}
}

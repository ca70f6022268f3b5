package batch_test

import (
	"context"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/internal/rules/night"
	"example.com/ftpfetch/testserver"
)

// TestTreeBeside checks that a file can be retrieved beside one that has the name of its unfinished download, whichever
// comes first.
func TestTreeBeside(t *testing.T) {
	files := map[string]string{"/f": "text", "/f.part": "another", "/f.bad": "third", "/f.part.part": "fourth"}
	s := newStand(t, files, testserver.Options{})
	for _, reject := range [][]string{{"f"}, {"f", "f.part"}, nil} {
		got := s.run(t.Context(), treeOf(t, s.srv.URL("/"), batch.Tree{Reject: reject}))
		if want := int64(4 - len(reject)); !got.Whole() || got.Complete != want {
			t.Errorf("without %q: %+v, %q", reject, got, s.failures())
		}
	}
	s.compare(below(files))
}

// TestTreeTilde checks that a name from a listing never reaches the server as that of a home directory.
func TestTreeTilde(t *testing.T) {
	files := map[string]string{"/~": "a", "/~root": "b", "/d/~/f": "c", "/d/~x/~y": "d"}
	s := newStand(t, files, testserver.Options{})
	if got := s.run(t.Context(), treeOf(t, s.srv.URL("/"), batch.Tree{})); !got.Whole() || got.Complete != 4 {
		t.Errorf("%+v, %q", got, s.failures())
	}
	for _, line := range s.srv.Commands() {
		if _, arg, _ := strings.Cut(line, " "); strings.HasPrefix(arg, "~") {
			t.Errorf("the server received %q", line)
		}
	}
	s.compare(below(files))
}

// A listing of as many names as known servers list at most is mentioned.
func TestTreeRoundListing(t *testing.T) {
	for n, want := range map[int]int{1997: 0, 1998: 1, 2000: 1, 2001: 0, 7499: 1, 9998: 1, 10001: 0} {
		var text strings.Builder
		for i := range n {
			fmt.Fprintf(&text, "type=file;size=1; f%d\r\n", i)
		}
		s, srv := scripted(t, shelf{verb: "MLSD", listings: map[string]string{"/d": text.String()}})
		notes := 0
		s.options.Events = func(e batch.Event) {
			if e.Kind == download.Noted && e.Wait > 0 {
				notes++
			}
		}
		s.run(t.Context(), treeOf(t, srv.URL("/d/"), batch.Tree{Reject: []string{"f*"}}))
		if notes != want {
			t.Errorf("%d names: %d notes, want %d", n, notes, want)
		}
	}
}

// heap returns the bytes on the heap that are in use.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}

// TestTreeMemory checks how much memory a name of a directory takes until its turn comes: a directory may have a million.
func TestTreeMemory(t *testing.T) {
	const most = 200 // bytes a name
	names := night.Or(20_000, 1_000_000)
	var text strings.Builder
	for i := range names {
		fmt.Fprintf(&text, "type=file;size=1;modify=20200101000000;UNIX.mode=0644; ERR%07d_1.fastq.gz\r\n", i)
	}
	s, srv := scripted(t, shelf{verb: "MLSD", listings: map[string]string{"/d": text.String()}})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	before, used := heap(), int64(0)
	s.options.Jobs, s.options.Events = 1, func(e batch.Event) {
		if e.Kind == batch.Ended && used == 0 {
			used = heap() - before
			cancel()
		}
	}
	s.run(ctx, treeOf(t, srv.URL("/d/"), batch.Tree{}))
	if a := used / int64(names); a == 0 || a > most {
		t.Errorf("%d bytes a name, want at most %d", a, most)
	} else {
		t.Logf("%d bytes a name", a)
	}
}

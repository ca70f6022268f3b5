package batch_test

import (
	"strings"
	"testing"

	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/testserver"
)

// TestTreeBeside checks that a file can be retrieved beside one that has the name
// of its unfinished download, whichever comes first.
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

// TestTreeTilde checks that a name from a listing never reaches the server as that
// of a home directory.
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

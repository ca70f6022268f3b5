package ftpexec

import (
	"os"
	"testing"
)

// A pipe in blocking mode, as shells make them, is not spliceable.
func TestSpliceable(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if !spliceable(w) {
		t.Error("a pipe in non-blocking mode is not spliceable")
	}
	w.Fd() // from here on it is in blocking mode
	if spliceable(w) {
		t.Error("a pipe in blocking mode is spliceable")
	}
	f, err := os.Create(t.TempDir() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Fd(); !spliceable(f) {
		t.Error("a file is not spliceable")
	}
}

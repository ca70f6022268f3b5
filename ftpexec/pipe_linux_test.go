package ftpexec

import (
	"os"
	"testing"
)

// A pipe in blocking mode, as shells make them, is no way for a splice.
func TestSpliceable(t *testing.T) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	defer w.Close()
	if !spliceable(w) {
		t.Error("not into a pipe")
	}
	w.Fd() // from here on it is in blocking mode
	if spliceable(w) {
		t.Error("into a pipe that a splice would spin on")
	}
	f, err := os.Create(t.TempDir() + "/f")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if f.Fd(); !spliceable(f) {
		t.Error("not into a file")
	}
}

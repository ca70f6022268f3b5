package show

import "testing"

// TestKeptNote checks that a note appears only if the same command would resume.

func TestKeptNote(t *testing.T) {
	for kept, want := range map[int64]string{
		7: "; 7 bytes kept, run the same command to resume", 1: "; 1 byte kept, run the same command to resume", 0: "",
	} {
		if got := keptNote(kept); got != want {
			t.Errorf("%d: got %q, want %q", kept, got, want)
		}
	}
}

package cli

import "testing"

// TestKeptNote checks that a note appears only if the same command would resume.
func TestKeptNote(t *testing.T) {
	for _, tt := range []struct {
		kept int64
		want string
	}{
		{7, "; 7 bytes kept, run the same command to resume"},
		{1, "; 1 byte kept, run the same command to resume"},
		{0, ""},
	} {
		r := &run{kept: tt.kept}
		if got := r.keptNote(); got != tt.want {
			t.Errorf("%d: got %q, want %q", tt.kept, got, tt.want)
		}
	}
}

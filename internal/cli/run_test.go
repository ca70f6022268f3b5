package cli

import "testing"

// TestKeptNote checks that a note appears only if the same command would resume.
func TestKeptNote(t *testing.T) {
	for _, tt := range []struct {
		kept     int64
		noResume bool
		want     string
	}{
		{7, false, "; 7 bytes kept, run the same command to resume"},
		{1, false, "; 1 byte kept, run the same command to resume"},
		{0, false, ""},
		{7, true, ""},
	} {
		r := &run{options: &options{}, kept: tt.kept}
		r.file.NoResume = tt.noResume
		if got := r.keptNote(); got != tt.want {
			t.Errorf("%d, NoResume %v: got %q, want %q", tt.kept, tt.noResume, got, tt.want)
		}
	}
}

package cli

import "testing"

// TestKeptNote says that something was kept only where the same command would
// go on from it.
func TestKeptNote(t *testing.T) {
	for _, tt := range []struct {
		kept     int64
		noResume bool
		want     string
	}{
		{7, false, "; 7 bytes kept, the same command resumes"},
		{1, false, "; 1 byte kept, the same command resumes"},
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

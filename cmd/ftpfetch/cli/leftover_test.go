package cli

import (
	"errors"
	"testing"
)

// TestWithKept says that something was kept only where the same command would
// go on from it.
func TestWithKept(t *testing.T) {
	failed := errors.New("interrupted")
	tests := []struct {
		name     string
		kept     int64
		noResume bool
		want     string
	}{
		{"kept", 7, false, "interrupted; 7 octets kept, the same command resumes"},
		{"one", 1, false, "interrupted; 1 octet kept, the same command resumes"},
		{"nothing", 0, false, "interrupted"},
		{"begins anew", 7, true, "interrupted"},
	}
	for _, tt := range tests {
		r := &run{options: &options{}, kept: tt.kept}
		r.file.NoResume = tt.noResume
		err := r.withKept(failed)
		if got := describe(err); got != tt.want || !errors.Is(err, failed) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

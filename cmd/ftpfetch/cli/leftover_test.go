package cli

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"example.com/ftpfetch/download"
)

// TestWithKept says that something was kept only where the same command would
// go on from it.
func TestWithKept(t *testing.T) {
	failed := errors.New("interrupted")
	both := []string{".part", ".part.json"}
	tests := []struct {
		name     string
		err      error
		octets   int64
		noResume bool
		files    []string
		want     string
	}{
		{"kept", failed, 7, false, both, "interrupted; 7 octets kept, the same command resumes"},
		{"one", failed, 1, false, both, "interrupted; 1 octet kept, the same command resumes"},
		{"nothing came", failed, 0, false, both, "interrupted"},
		{"begins anew", failed, 7, true, both, "interrupted"},
		{"no journal", failed, 7, false, []string{".part"}, "interrupted"},
		{"no part", failed, 7, false, []string{".part.json"}, "interrupted"},
		{"cannot", download.ErrResume, 7, false, both, "cannot resume (--overwrite begins anew)"},
	}
	for _, tt := range tests {
		path := filepath.Join(t.TempDir(), "f")
		for _, suffix := range tt.files {
			if err := os.WriteFile(path+suffix, nil, 0o666); err != nil {
				t.Fatal(err)
			}
		}
		r := &run{options: &options{}, left: leftover{path, tt.octets}}
		r.noResume = tt.noResume
		err := r.withKept(tt.err)
		if got := describe(err); got != tt.want || !errors.Is(err, tt.err) {
			t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
		}
	}
}

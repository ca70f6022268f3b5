//go:build unix

package netrc

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestPrivate(t *testing.T) {
	tests := []struct {
		mode os.FileMode
		ok   bool
	}{
		{0o600, true}, {0o400, true}, {0o700, true}, {0o640, false}, {0o604, false}, {0o620, false}, {0o644, false},
	}
	for _, tt := range tests {
		path := filepath.Join(t.TempDir(), "netrc")
		if err := os.WriteFile(path, []byte("machine h password hidden"), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(path, tt.mode); err != nil {
			t.Fatal(err)
		}
		f, err := Load(path)
		if err != nil {
			t.Fatal(err)
		}
		err = f.Private()
		if (err == nil) != tt.ok {
			t.Errorf("%v: got %v, want private %v", tt.mode, err, tt.ok)
		}
		if err != nil && !strings.Contains(err.Error(), "chmod 600 "+path) {
			t.Errorf("%v: %v does not say what to type", tt.mode, err)
		}
	}
}

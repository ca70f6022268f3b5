package download

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
)

// namesIn lists a directory.
func namesIn(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Name())
	}
	return all
}

// wantNames checks that dir holds exactly these names.
func wantNames(t *testing.T, dir string, want ...string) {
	t.Helper()
	if got := namesIn(t, dir); !slices.Equal(got, want) {
		t.Errorf("the directory holds %q, want %q", got, want)
	}
}

// TestCheckpoints checks that a journal is written every second while data flows.
func TestCheckpoints(t *testing.T) {
	dir := t.TempDir()
	for seconds := range 4 {
		synctest.Test(t, func(t *testing.T) {
			journals := 0
			onCall(t, func(call, path string) error {
				if call == "rename" && strings.HasSuffix(path, "~") {
					journals++
				}
				return nil
			})
			limit := int64(len(body)) * 2 / int64(2*seconds+1) // so that it takes half a second more
			path := filepath.Join(dir, strconv.Itoa(seconds))
			_, err := File(t.Context(), memorySource{contents: body}, urlOf(t, "ftp://h/f"), path, &Options{Limit: limitOf(limit)})
			if want := seconds; err != nil || journals != want {
				t.Errorf("in %d seconds and a half: %d journals, want %d (%v)", seconds, journals, want, err)
			}
		})
	}
}

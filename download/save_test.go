package download

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// saveText saves text under path.
func saveText(path, text string, existing Existing) (Result, error) {
	return save(context.Background(), path, &Options{Existing: existing}, func(w io.Writer) error {
		_, err := io.WriteString(w, text)
		return err
	})
}

// mustWrite makes a file for a test.
func mustWrite(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// wantFiles compares the names and contents of a directory.
func wantFiles(t *testing.T, dir string, want map[string]string) {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	for _, name := range names {
		got, err := os.ReadFile(filepath.Join(dir, name))
		text, known := want[name]
		if err != nil || !known || string(got) != text {
			t.Errorf("%s holds %.40q (%d bytes, %v), want %.40q (%d bytes, known %v)", name, got, len(got), err, text, len(text), known)
		}
	}
	for name := range want {
		if !slices.Contains(names, name) {
			t.Errorf("%s is missing, there are %v", name, names)
		}
	}
}

func TestSaveRules(t *testing.T) {
	tests := []struct {
		what     string
		before   map[string]string
		existing Existing
		want     map[string]string
		err      error
		skipped  bool
	}{
		{"new", nil, Refuse, map[string]string{"f": "new"}, nil, false},
		{"new, overwriting", nil, Overwrite, map[string]string{"f": "new"}, nil, false},
		{"new, skipping", nil, Skip, map[string]string{"f": "new"}, nil, false},
		{"refused", map[string]string{"f": "old"}, Refuse, map[string]string{"f": "old"}, fs.ErrExist, false},
		{"empty one refused", map[string]string{"f": ""}, Refuse, map[string]string{"f": ""}, fs.ErrExist, false},
		{"overwritten", map[string]string{"f": "old"}, Overwrite, map[string]string{"f": "new"}, nil, false},
		{"skipped", map[string]string{"f": "old"}, Skip, map[string]string{"f": "old"}, nil, true},
		{"left-over kept", map[string]string{"f.part": "half"}, Refuse, map[string]string{"f.part": "half"}, ErrPart, false},
		{"left-over kept, skipping", map[string]string{"f.part": "half"}, Skip, map[string]string{"f.part": "half"}, ErrPart, false},
		{"left-over overwritten", map[string]string{"f.part": "half"}, Overwrite, map[string]string{"f": "new"}, nil, false},
		{"empty left-over replaced", map[string]string{"f.part": ""}, Refuse, map[string]string{"f": "new"}, nil, false},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			dir := t.TempDir()
			for name, text := range tt.before {
				mustWrite(t, filepath.Join(dir, name), text)
			}
			r, err := saveText(filepath.Join(dir, "f"), "new", tt.existing)
			if !errors.Is(err, tt.err) || tt.err != nil && !errors.Is(err, ErrLocal) {
				t.Errorf("error %v, want %v", err, tt.err)
			}
			if r.Skipped != tt.skipped || err == nil && r.Size != 3 {
				t.Errorf("result %+v, want skipped %v and 3 bytes", r, tt.skipped)
			}
			wantFiles(t, dir, tt.want)
		})
	}
}

// TestSaveRace makes a file appear under the final name while the part is
// written.
func TestSaveRace(t *testing.T) {
	tests := []struct {
		existing Existing
		want     string
		err      error
		skipped  bool
	}{
		{Refuse, "theirs", fs.ErrExist, false},
		{Skip, "theirs", nil, true},
		{Overwrite, "ours", nil, false},
	}
	for _, tt := range tests {
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		r, err := save(t.Context(), path, &Options{Existing: tt.existing}, func(w io.Writer) error {
			mustWrite(t, path, "theirs")
			_, err := io.WriteString(w, "ours")
			return err
		})
		if !errors.Is(err, tt.err) || r.Skipped != tt.skipped {
			t.Errorf("%v: got %+v, %v, want %v, skipped %v", tt.existing, r, err, tt.err, tt.skipped)
		}
		wantFiles(t, dir, map[string]string{"f": tt.want})
	}
}

func TestSaveFailure(t *testing.T) {
	cause := errors.New("no more")
	for _, existing := range []Existing{Refuse, Overwrite, Skip} {
		dir := t.TempDir()
		_, err := save(t.Context(), filepath.Join(dir, "f"), &Options{Existing: existing}, func(w io.Writer) error {
			_, _ = io.WriteString(w, "half")
			return cause
		})
		if err != cause {
			t.Errorf("got %v, want the error of fill", err)
		}
		wantFiles(t, dir, nil)
	}
}

// TestSaveTwice writes one target from two runs at once. Neither may treat the
// other's part as left over.
func TestSaveTwice(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	_, err := save(t.Context(), path, &Options{Existing: Overwrite}, func(w io.Writer) error {
		_, second := saveText(path, "second", Overwrite)
		if !errors.Is(second, ErrLocal) {
			t.Errorf("second run: %v, want ErrLocal", second)
		}
		_, err := io.WriteString(w, "first")
		return err
	})
	if err != nil {
		t.Error(err)
	}
	wantFiles(t, dir, map[string]string{"f": "first"})
}

// TestSaveReplacedPart replaces the part by another program's file.
func TestSaveReplacedPart(t *testing.T) {
	if runtime.GOOS == "windows" {
		return // an open file cannot be replaced there
	}
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	_, err := save(t.Context(), path, nil, func(io.Writer) error {
		if err := os.Remove(path + ".part"); err != nil {
			return err
		}
		return os.WriteFile(path+".part", []byte("theirs"), 0o644)
	})
	if !errors.Is(err, ErrLocal) {
		t.Errorf("got %v, want ErrLocal", err)
	}
	wantFiles(t, dir, map[string]string{"f.part": "theirs"})
}

// TestSaveShort removes bytes between writing and publishing.
func TestSaveShort(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	o := &Options{Events: func(e Event) {
		if e.Kind == Arrived {
			_ = os.Truncate(path+".part", 2)
		}
	}}
	_, err := save(t.Context(), path, o, func(w io.Writer) error {
		_, err := io.WriteString(w, "whole")
		return err
	})
	if !errors.Is(err, ErrLocal) || !strings.Contains(err.Error(), "holds 2 bytes, but 5 were written") {
		t.Errorf("got %v", err)
	}
	wantFiles(t, dir, nil)
}

func TestSavePlaces(t *testing.T) {
	dir := t.TempDir()
	mustWrite(t, filepath.Join(dir, "file"), "")
	long := strings.Repeat("n", 300)
	tests := []struct {
		path string
		err  error
		text string
	}{
		{"", ErrName, "no file name"},
		{dir, ErrName, "is a directory"},
		{filepath.Join(dir, "..") + "/..", ErrName, "is a directory"},
		{dir + "/new/", ErrName, "names a directory"},
		{dir + "/none/f", fs.ErrNotExist, "/none: no such directory (create it first)"},
		{dir + "/file/f", ErrLocal, "/file: not a directory"},
		{dir + "/" + long, ErrLocal, "file name too long"},
	}
	for _, tt := range tests {
		_, err := saveText(tt.path, "x", Overwrite)
		if !errors.Is(err, tt.err) || !errors.Is(err, ErrLocal) || !strings.Contains(err.Error(), tt.text) {
			t.Errorf("%q: got %v, want %v with %q", tt.path, err, tt.err, tt.text)
		}
	}
	wantFiles(t, dir, map[string]string{"file": ""})
}

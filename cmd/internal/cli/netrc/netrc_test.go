package netrc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/table"
)

// flat returns the entries as text, for comparison.
func flat(f *File) string {
	var all []string
	for _, e := range f.entries {
		s := "machine " + e.machine
		if e.rest {
			s = "default"
		}
		for _, word := range []string{"login", "password", "account"} {
			if value, ok := e.words[word]; ok {
				s += fmt.Sprintf(" %c=%q", word[0], value)
			}
		}
		all = append(all, s)
	}
	return strings.Join(all, "; ")
}

// good returns valid files and their entries; bad returns files that Parse refuses. The secret in them is always
// "hidden".
func good(t testing.TB) [][]string { return table.Rows(t, "files.txt", "good") }
func bad(t testing.TB) [][]string  { return table.Rows(t, "files.txt", "bad") }

func TestParse(t *testing.T) {
	for _, row := range good(t) {
		name, in, want := row[0], row[1], row[2]
		f, err := Parse(strings.NewReader(in), "f")
		if err != nil {
			t.Errorf("%s: %v", name, err)
		} else if got := flat(f); got != want {
			t.Errorf("%s: got %s, want %s", name, got, want)
		}
	}
}

// TestWarns checks the one warning about what is not read, and that everything else is read.
func TestWarns(t *testing.T) {
	for in, want := range map[string]string{
		"machine h login a\ndefault login b\nmachine i login hidden password hidden\nmachine j\n": "[f: line 3: what follows the default entry is never used: put default last]",
		"default\ndefault login hidden":                                 "[f: line 2: what follows the default entry is never used: put default last]",
		"\nmachine h login a password b\x00hidden\ndefault login c\x00": "[f: line 2: a NUL byte ends the line here: save the file as plain text]",
		"machine h login a":                                             "[]",
	} {
		f, err := Parse(strings.NewReader(in), "f")
		if err != nil || fmt.Sprint(f.Warnings) != want || len(f.entries) == 0 || strings.Contains(fmt.Sprint(f.entries), "hidden") {
			t.Errorf("%q: got %v, %q, %v", in, err, f.Warnings, f.entries)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, row := range bad(t) {
		name, in, line, reason := row[0], row[1], row[2], row[3]
		_, err := Parse(strings.NewReader(in), "f")
		if got := fmt.Sprint(err); !errors.Is(err, ErrUnusable) || !strings.HasPrefix(got, "f: line "+line+": ") || !strings.Contains(got, reason) || strings.Contains(got, "hid") {
			t.Errorf("%s: got %v, want line %s: %s", name, err, line, reason)
		}
	}
	_, err := Parse(strings.NewReader(strings.Repeat(" ", maxSize+1)), "f")
	if err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("got %v", err)
	}
}

func TestSecret(t *testing.T) {
	f, err := Parse(strings.NewReader(`
		machine ftp.example.org login one password 1
		machine FTP.example.org login two password 2
		machine any.example.org password 3
		machine dot.example.org. login me password 4
		default login me password 5`), "f")
	must.Do(t, err)
	tests := []struct{ host, user, want string }{
		{"ftp.example.org", "one", "1"},
		{"ftp.example.org", "two", "2"},
		{"ftp.example.org.", "one", "1"},
		{"Ftp.Example.Org", "one", "1"},
		{"ftp.example.org", "ONE", ""},
		{"ftp.example.org", "", ""},
		{"any.example.org", "whoever", "3"},
		{"dot.example.org", "me", "4"},
		{"elsewhere", "me", "5"},
		{"elsewhere", "you", ""},
		{"example.org", "one", ""},
		{"", "one", ""},
	}
	for _, tt := range tests {
		if got, ok := f.Secret(tt.host, tt.user, "password"); got != tt.want || ok != (tt.want != "") {
			t.Errorf("%s@%s: got %q, %v, want %q", tt.user, tt.host, got, ok, tt.want)
		}
	}
	for host, want := range map[string]string{"any.example.org": "", "DOT.example.org": "me", "ftp.example.org": "one", "elsewhere": ""} {
		if got, ok := f.User(host); got != want || ok != (want != "") {
			t.Errorf("%s: got the user %q, %v, want %q", host, got, ok, want)
		}
	}
	for _, format := range []string{"%v", "%+v", "%#v", "%s", "%q"} {
		if text := fmt.Sprintf(format+format, f, *f); strings.Contains(text, "one") {
			t.Errorf("%s shows the file: %s", format, text)
		}
	}
}

func TestLoad(t *testing.T) {
	path := filepath.Join(t.TempDir(), "netrc")
	must.Do(t, os.WriteFile(path, []byte("machine h\noops"), 0o600))
	if _, err := Load(path); err == nil || !strings.HasPrefix(err.Error(), path+": line 2: ") {
		t.Errorf("got %v, want the path and the line", err)
	}
	if _, err := Load(filepath.Join(filepath.Dir(path), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v, want %v", err, os.ErrNotExist)
	}
	if _, err := Load(filepath.Dir(path)); err == nil {
		t.Error("a directory was read")
	}
}

func TestPrivate(t *testing.T) {
	for mode, ok := range map[os.FileMode]bool{0o600: true, 0o400: true, 0o700: true, 0o640: false, 0o604: false, 0o620: false, 0o644: false} {
		path := filepath.Join(t.TempDir(), "netrc")
		must.Do(t, errors.Join(os.WriteFile(path, []byte("machine h password hidden"), 0o600), os.Chmod(path, mode)))
		f := must.Get(Load(path))(t)
		err := f.Private()
		if (err == nil) != (ok || runtime.GOOS == "windows") || err != nil && !strings.Contains(err.Error(), "chmod 600 "+path) {
			t.Errorf("%v: got %v, want private %v", mode, err, ok)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, row := range slices.Concat(good(f), bad(f)) {
		f.Add(row[1])
	}
	f.Fuzz(func(t *testing.T, in string) {
		file, err := Parse(strings.NewReader(in), "f")
		if line := 0; err != nil {
			if n, _ := fmt.Sscanf(err.Error(), "f: line %d:", &line); n != 1 || line < 1 || line > strings.Count(in, "\n")+1 {
				t.Errorf("%q: got %v, want a line of the file", in, err)
			}
			return
		}
		for i, e := range file.entries {
			if e.rest && i != len(file.entries)-1 {
				t.Errorf("%q: default is not the last entry", in)
			}
		}
	})
}

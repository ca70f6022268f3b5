package netrc

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/rules/must"
)

// flat returns the entries as text for comparison.
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

// good has valid files and their entries.
var good = []struct{ name, in, want string }{
	{"empty", "", ""},
	{"one line", "machine h login me password pw\n", `machine h l="me" p="pw"`},
	{"many lines", "machine h\n\tlogin me\r\n\tpassword\n pw\n account acc", `machine h l="me" p="pw" a="acc"`},
	{"any order", "machine h password pw login me", `machine h l="me" p="pw"`},
	{"two machines", "machine a login x\nmachine b login y", `machine a l="x"; machine b l="y"`},
	{"default", "machine a login x default login y password z", `machine a l="x"; default l="y" p="z"`},
	{"default alone", "default", "default"},
	{"quotes", `machine h login "a b" password "q\"u\\o\te \x"`, "machine h l=\"a b\" p=\"q\\\"u\\\\o\\te x\""},
	{"null values", `machine h login "" password ""`, `machine h l="" p=""`},
	{"quote inside", `machine h password a"b`, `machine h p="a\"b"`},
	{"bare backslash and comma", `machine h password a\n,b`, `machine h p="a\\n,b"`},
	{"comments", "# first\nmachine h # rest login no\n  # more\nlogin me", `machine h l="me"`},
	{"password with a hash", "machine h password #1 login a#b", `machine h l="a#b" p="#1"`},
	{"keywords as values", "machine machine login password password login", `machine machine l="password" p="login"`},
	{"macro", "machine h login me\nmacdef init\ncd /pub\nmachine no\n\npassword pw", `machine h l="me" p="pw"`},
	{"macro with CR", "macdef m\r\nquit\r\n\r\nmachine h", "machine h"},
	{"macro to the end", "machine h\nmacdef m\nlogin x", "machine h"},
	{"bytes", "machine h password \xff\xe9", `machine h p="\xff\xe9"`},
}

func TestParse(t *testing.T) {
	for _, tt := range good {
		f, err := Parse(strings.NewReader(tt.in), "f")
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		} else if got := flat(f); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}

// bad has files that Parse refuses. The secret in them is always "hidden".
var bad = []struct {
	name, in string
	line     int
	reason   string
}{
	{"value with a space", "machine h\nlogin me\npassword my hidden", 3, "put quotes around"},
	{"unknown word", "machine h\nhidden", 2, "not a netrc keyword"},
	{"open quote", "machine h\npassword \"hidden\nlogin x", 2, "not closed"},
	{"open quote at the end", `machine h password "hidden`, 1, "not closed"},
	{"open escape", `machine h password "hidden\`, 1, "not closed"},
	{"text after a quote", `machine h password "hid"den`, 1, "after a closing quote"},
	{"no value", "machine h\nlogin me password", 2, "password has no value"},
	{"no machine name", "machine\n", 1, "machine has no value"},
	{"password first", "\npassword hidden", 2, "before the first machine"},
	{"two passwords", "machine h password a\npassword hidden", 2, "a second password"},
	{"two logins", "machine h login a login hidden", 1, "a second login"},
	{"macro without a name", "macdef", 1, "no value"},
	{"capitals", "MACHINE hidden", 1, "not a netrc keyword"},
}

// TestWarns checks what is said of what is not read, once, and what is read all the same.
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
	for _, tt := range bad {
		_, err := Parse(strings.NewReader(tt.in), "f")
		if got := fmt.Sprint(err); !errors.Is(err, ErrUnusable) || !strings.HasPrefix(got, fmt.Sprintf("f: line %d: ", tt.line)) || !strings.Contains(got, tt.reason) || strings.Contains(got, "hid") {
			t.Errorf("%s: got %v, want line %d: %s", tt.name, err, tt.line, tt.reason)
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
	if err != nil {
		t.Fatal(err)
	}
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
	for _, tt := range good {
		f.Add(tt.in)
	}
	for _, tt := range bad {
		f.Add(tt.in)
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

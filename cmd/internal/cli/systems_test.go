package cli_test

import (
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/ftpfs"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// systemListing is a listing of the corpus of package listing. The test of that package describes the files.
type systemListing struct {
	title, dir string
	lines      string
	entries    []systemEntry
	odd        bool // some lines cannot be read, or are decided by NLST
}

// systemEntry is the entry that a line must yield.
type systemEntry struct {
	kind byte // as fs.FileMode writes it: "-" is a file, "?" is unknown
	size string
	name string
}

// unquote returns the value of a line of the corpus, which may be a Go string.
func unquote(t *testing.T, text string) string {
	if !strings.HasPrefix(text, `"`) {
		return text
	}
	quoted := must.Get(strconv.QuotedPrefix(text))(t)
	return must.Get(strconv.Unquote(quoted))(t)
}

// listingsOf returns the listings in a file of the corpus of which every line can be read.
func listingsOf(t *testing.T, file string) (all []systemListing) {
	for line := range strings.Lines(string(must.Get(os.ReadFile(file))(t))) {
		line = strings.TrimSuffix(line, "\n")
		mark, rest, _ := strings.Cut(line, " ")
		last := len(all) - 1
		switch mark {
		case "--":
			title, dir, in := strings.Cut(strings.TrimSuffix(rest, ")"), " (in ")
			if !in {
				dir = "d"
			}
			all = append(all, systemListing{title: title, dir: dir})
		case ">":
			all[last].lines += unquote(t, rest) + "\r\n"
		case "=":
			words := strings.SplitN(rest, " ", 4)
			e := systemEntry{words[0][0], words[1], strings.TrimSuffix(unquote(t, words[3]), "/")}
			if e.kind == 'L' && !strings.HasPrefix(words[3], `"`) {
				e.name, _, _ = strings.Cut(e.name, " -> ")
			}
			all[last].entries = append(all[last].entries, e)
		case "~", "!":
			all[last].odd = true
		}
	}
	return slices.DeleteFunc(all, func(l systemListing) bool { return l.odd || len(l.entries) == 0 })
}

// contents returns the contents of a file of a listing, or false if they are more than a test should fetch.
func (e systemEntry) contents() (string, bool) {
	n, err := strconv.Atoi(e.size)
	if err != nil {
		return "contents", true
	}
	return strings.Repeat("x", min(n, 1<<20)), n <= 1<<20
}

// serve starts a server that has the listing, and no MLSD.
func (l systemListing) serve(t *testing.T) *testserver.Server {
	tree := map[string]string{path.Join("/", l.dir) + "/": ""}
	for _, e := range l.entries {
		name := path.Join("/", l.dir, e.name)
		switch text, _ := e.contents(); e.kind {
		case 'd':
			tree[name+"/"] = ""
		case '-', '?', 'u', 'g', 't':
			tree[name] = text
		}
	}
	var mu sync.Mutex
	entered := make(map[int]string) // the last directory of each connection
	return testserver.New(t, &testserver.Options{Tree: tree, Fault: func(c *testserver.Conn) testserver.Action {
		mu.Lock()
		defer mu.Unlock()
		switch {
		case c.Verb == "CWD":
			entered[c.Num] = c.Arg
		case c.Verb == "MLSD" || c.Verb == "MLST":
			return testserver.Reply("500 No.")
		case c.Verb == "LIST" && path.Base(entered[c.Num]) == l.dir:
			return testserver.Transfer(l.lines)
		}
		return nil
	}})
}

// TestSystems lists and fetches from every system of the corpus, through -l, -r, --glob and io/fs. By day it takes one
// listing of each.
func TestSystems(t *testing.T) {
	t.Parallel()
	files := must.Get(filepath.Glob("../../../ftpexec/internal/listing/testdata/corpus/*.txt"))(t)
	if len(files) < 90 {
		t.Fatalf("%d systems", len(files))
	}
	for _, file := range files {
		system := strings.TrimSuffix(filepath.Base(file), ".txt")
		all := listingsOf(t, file)
		slices.SortStableFunc(all, func(a, b systemListing) int { return len(b.entries) - len(a.entries) })
		tried := 0
		for _, l := range all {
			if l.fetchable() && tried < night.Or(1, 1000) {
				tried++
				t.Run(system+"/"+l.title, func(t *testing.T) { l.try(t) })
			}
		}
		unread := []string{"broken", "cisco", "mpe", "plan9", "vos", "zos-jes"}
		if tried == 0 && !slices.Contains(unread, system) {
			t.Errorf("%s: no listing is tried", system)
		}
	}
}

// fetchable reports whether all entries are small and can be in one directory: some listings show one name in several
// ways.
func (l systemListing) fetchable() bool {
	seen := make(map[string]bool)
	for _, e := range l.entries {
		_, ok := e.contents()
		if !ok || seen[e.name] {
			return false
		}
		seen[e.name] = true
	}
	return true
}

// try lists and fetches a directory in every way.
func (l systemListing) try(t *testing.T) {
	t.Parallel()
	s := l.serve(t)
	url := s.URL("/" + l.dir + "/")
	code, out, said := run(t, "-l", "--retries", "0", url)
	if code != 0 {
		t.Errorf("-l: exit %d\n%s\n%s", code, l.lines, said)
	}
	for _, e := range l.entries {
		row := "  " + e.name
		if e.kind == 'd' {
			row += "/"
		}
		if !strings.Contains(out, row+"\n") && !strings.Contains(out, row+" -> ") {
			t.Errorf("-l does not list %q:\n%s", e.name, out)
		}
	}
	for _, mode := range [][]string{{"-r", url}, {"--glob", url + "*"}} {
		dir := t.TempDir()
		code, _, said := run(t, append(mode, "-d", dir, "--retries", "0")...)
		files := l.files()
		if code != 0 && len(files) > 0 {
			t.Errorf("%s: exit %d\n%s\n%s", mode[0], code, l.lines, said)
		}
		for _, e := range files {
			text, _ := e.contents()
			if b, err := os.ReadFile(filepath.Join(dir, e.name)); err != nil || string(b) != text {
				t.Errorf("%s: %q: %d bytes, %v, want %d\n%s", mode[0], e.name, len(b), err, len(text), said)
			}
		}
	}
	l.walk(t, url)
}

// files returns the files of the listing.
func (l systemListing) files() []systemEntry {
	return slices.DeleteFunc(slices.Clone(l.entries), func(e systemEntry) bool { return !strings.ContainsRune("-?ugt", rune(e.kind)) })
}

// walk reads the files through io/fs.
func (l systemListing) walk(t *testing.T, url string) {
	c := &ftpexec.Client{}
	defer c.CloseIdleConnections()
	d := must.Get(ftpfs.Open(t.Context(), c, url))(t)
	entries, err := fs.ReadDir(d, ".")
	listed := make(map[string]bool)
	for _, e := range entries {
		listed[e.Name()] = true
	}
	for _, e := range l.entries {
		if !utf8.ValidString(e.name) { // io/fs cannot name it
			err = nil
			continue
		}
		if !listed[e.name] {
			t.Errorf("io/fs: %q is not listed", e.name)
		}
	}
	if err != nil {
		t.Errorf("io/fs: %v", err)
	}
	for _, e := range l.files() {
		if !fs.ValidPath(e.name) {
			continue
		}
		text, _ := e.contents()
		if b, err := fs.ReadFile(d, e.name); err != nil || string(b) != text {
			t.Errorf("io/fs: %q: %d bytes, %v, want %d", e.name, len(b), err, len(text))
		}
	}
}

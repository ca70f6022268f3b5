package main

import (
	"io/fs"
	"slices"
	"strings"
	"testing"
)

// TestDialogue checks what the tables of docs/clients.md show of a dialogue.
func TestDialogue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		said        dialogue
		cell, whole string
	}{
		{nil, "", ""},
		{dialogue{{"USER anonymous", "PASS x@", "CWD etc", "TYPE I", "EPSV", "RETR motd", "QUIT"}}, "CWD etc, RETR motd", "USER anonymous, PASS x@, CWD etc, TYPE I, EPSV, RETR motd"},
		{dialogue{{"CWD ", "TYPE A", "RETR f"}}, `CWD "", TYPE A, RETR f`, `CWD "", TYPE A, RETR f`},
		{dialogue{{"RETR f"}}, "TYPE A, RETR f", "RETR f"},
		{dialogue{{"TYPE I", "SIZE f", "MDTM f"}}, "SIZE f, MDTM f", "TYPE I, SIZE f, MDTM f"},
		{dialogue{{"USER me", "PASS "}, {"USER me", "PASS "}, {"USER me"}}, `USER me, PASS "" / USER me`, `USER me, PASS "" / USER me`},
		{dialogue{{"TYPE I", "PORT 127,0,0,1,4,5", "RETR a", "RETR a"}}, "RETR a", "TYPE I, PORT, RETR a, RETR a"},
		{dialogue{{"CDUP", "NLST"}, nil, {"LIST -a"}}, "CDUP, NLST / LIST -a", "CDUP, NLST / LIST -a"},
	} {
		if got := c.said.cell(false); got != c.cell {
			t.Errorf("%q: the cell is %q, want %q", c.said, got, c.cell)
		}
		if got := c.said.whole(); got != c.whole {
			t.Errorf("%q: the whole is %q, want %q", c.said, got, c.whole)
		}
	}
	if got := (dialogue{{"EPSV", "RETR f"}}).cell(true); got != "EPSV, TYPE A, RETR f" {
		t.Errorf("with ports: %q", got)
	}
}

// TestSections checks which section of RFC 1738 a cell is said to leave.
func TestSections(t *testing.T) {
	t.Parallel()
	columns := slices.Concat(tellings...)
	for _, c := range []struct{ url, cell, section string }{
		{"/%2Fetc/motd", "RETR /etc/motd", "3.2.2"},
		{"/%2Fetc/motd", "RETR %2Fetc/motd", "2.2"},
		{"/dir/q?x", "CWD dir, RETR q", "5"},
		{"/dir/q?x", "RETR /dir/q?x", "3.2.2"},
		{"/dir/f#x", "CWD dir, RETR f#x", "2.2"},
		{"/dir/f#x", "RETR /dir/f", "3.2.2"},
		{"me@HOST/dir/f", `USER me, PASS ""`, "3.2.1"},
		{"me@HOST/dir/f", "USER anonymous", "3.1"},
		{":2121/dir/f", "", "3.1"},
		{":2121/dir/f", "RETR /dir/f", "3.2.2"},
	} {
		i := slices.IndexFunc(columns, func(u telling) bool { return strings.HasSuffix(u.url, c.url) })
		if got := columns[i].section(c.cell); got != c.section {
			t.Errorf("%s: %q leaves %s, want %s", c.url, c.cell, got, c.section)
		}
	}
	if len(columns) != 14 || countable() != 13 {
		t.Errorf("%d URLs, %d of which count", len(columns), countable())
	}
}

// TestSenders checks that each script of a command line exists, and is used.
func TestSenders(t *testing.T) {
	t.Parallel()
	files, err := fs.ReadDir(senderFiles, "senders")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if !slices.ContainsFunc(senders, func(s sender) bool { return strings.Contains(s.line, "DIR/"+f.Name()) }) {
			t.Errorf("no program uses senders/%s", f.Name())
		}
	}
	for _, s := range senders {
		words := s.words("ftp://host/f", &cell{dir: "/work"})
		for _, word := range words {
			name, found := strings.CutPrefix(word, "senders/")
			if found && !slices.ContainsFunc(files, func(f fs.DirEntry) bool { return f.Name() == name }) {
				t.Errorf("%s: no file %s", s.name, word)
			}
		}
		if !slices.ContainsFunc(words, func(word string) bool { return strings.Contains(word, "ftp://host/f") }) {
			t.Errorf("%s: %q lacks the URL", s.name, words)
		}
	}
}

package download

import (
	"context"
	"errors"
	"iter"
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/ledger"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/urlparse"
)

// TestWants checks which part of a path a pattern is compared with. The tests of doublestar check what a pattern
// matches.
func TestWants(t *testing.T) {
	tests := []struct {
		accept, reject string // separated by spaces
		below          string // the path of a directory if it ends in "/"
		want           bool
	}{
		{"", "", "a.gz", true},
		{"", "", "d/", true},
		{"*.gz", "", "a.gz", true},
		{"*.gz", "", "d/a.gz", true},
		{"*.gz", "", "a.GZ", false}, // names on servers are case-sensitive
		{"*.gz", "", "a.gz.md5", false},
		{"*.gz", "", "d/", true}, // the directory may contain a match
		{"*.gz *.md5", "", "a.md5", true},
		{"d/*.gz", "", "d/a.gz", true},
		{"d/*.gz", "", "a.gz", false},
		{"d/*.gz", "", "d/e/a.gz", false},
		{"d/*.gz", "", "x/d/a.gz", false},
		{"/*.gz", "", "a.gz", true}, // only at the top
		{"/*.gz", "", "d/a.gz", false},
		{"**/x/*", "", "d/e/x/a", true},
		{"d/**", "", "d/e/f", true},
		{"", "*.tmp", "a.tmp", false},
		{"", "*.tmp", "a.gz", true},
		{"", "old", "old/", false}, // and all that it contains
		{"", "old", "d/old/", false},
		{"", "/old", "d/old/", true},
		{"", "d/**", "d/e", false},
		{"", "22/", "22/", false}, // a directory
		{"", "22/", "d/22/", false},
		{"", "22/", "22", true}, // a file
		{"", "/22/", "d/22/", true},
		{"", "d/22/", "d/22/", false},
		{"", "d/22/", "x/d/22/", true},
		{"", "/", "d/", true},
		{"22/", "", "22/a", true},
		{"22/", "", "d/22/e/a", true},
		{"/22/", "", "d/22/a", false},
		{"22/", "", "22", false},
		{"*.gz", "a*", "a.gz", false}, // Reject wins
		{"*.gz", "a*", "b.gz", true},
	}
	for _, tt := range tests {
		tree := Tree{Accept: strings.Fields(tt.accept), Reject: strings.Fields(tt.reject)}
		if err := tree.check(); err != nil {
			t.Errorf("%+v: %v", tt, err)
		}
		below, dir := strings.CutSuffix(tt.below, "/")
		if got := tree.wants(below, dir, dir); got != tt.want {
			t.Errorf("accept %q, reject %q: %s is wanted: %v", tt.accept, tt.reject, tt.below, got)
		}
	}
}

func TestTreeCheck(t *testing.T) {
	for what, tree := range map[string]Tree{
		"pattern [a": {Accept: []string{"*", "[a"}}, "pattern {a": {Reject: []string{"{a"}}, "pattern [b": {Names: "[b"}, "Depth ": {Depth: -1},
	} {
		if err := tree.check(); err == nil || !strings.Contains(err.Error(), what) || !strings.Contains(err.Error(), "write ") {
			t.Errorf("%+v: %v", tree, err)
		}
	}
}

// TestFollow checks where links in the directory d of a tree lead.
func TestFollow(t *testing.T) {
	tests := []struct {
		root, target string
		want         string // "-": not followed
	}{
		{"pub/", "f", "d/f"},
		{"pub/", "e/f", "d/e/f"},
		{"pub/", "../f", "f"},
		{"pub/", "./../d/f/", "d/f"},
		{"pub/", "../../f", "-"},
		{"pub/", "../../pub/f", "-"}, // leads out and in again; the directories above are unknown
		{"pub/", "..", "-"},          // a circle
		{"pub/", ".", "-"},
		{"pub/", "", "-"},
		{"pub/", "/pub/f", "-"}, // the login directory is unknown
		{"%2Fpub/", "/pub/f", "f"},
		{"%2Fpub/", "/pub/./x/../f", "f"},
		{"%2Fpub/", "/pub", "-"},
		{"%2Fpub/", "/public/f", "-"},
		{"%2Fpub/", "/f", "-"},
		{"%2Fpub/", "/pub/../f", "-"},
		{"%2Fpub/a/", "/pub/a/f", "f"},
		{"%2Fpub/a/", "/pub/f", "-"},
		{"%2F/", "/x/y", "x/y"},
		{"%2F/", "/", "-"},
		{"%2F/", "../../f", "-"},
	}
	for _, tt := range tests {
		u := must.Get(urlparse.Parse("ftp://h/" + tt.root))(t)
		top := &node{root: u.Child("", ""), survey: new(survey)}
		in := &node{root: top.root, below: "d", real: "d", depth: 1, up: top}
		p := &node{root: top.root, below: "d/l", real: "d/l", depth: 2, up: in}
		got := "-"
		if p.follow(in, tt.target) {
			got = p.real
		}
		if got != tt.want {
			t.Errorf("in %s, a link to %q leads to %q, want %q", tt.root, tt.target, got, tt.want)
		}
	}
}

// shown is a Source that lists these names.
type shown struct {
	Source
	names []string
}

func (s shown) Entries(context.Context, *urlparse.URL) iter.Seq2[ftpexec.Entry, error] {
	return func(yield func(ftpexec.Entry, error) bool) {
		for _, name := range s.names {
			if !yield(ftpexec.Entry{Name: name}, nil) {
				return
			}
		}
	}
}

// TestQueuedBefore lists a directory twice, as a run does that lacks open files after the first listing. Each time entries
// must omit a file that is already queued, but not a second entry of its name.
func TestQueuedBefore(t *testing.T) {
	b := &engine{src: full(shown{names: []string{"a", "b", "a"}})}
	var taken nameSet
	taken.add("a")
	for range 2 {
		if c, err := b.entries(t.Context(), nil, listingHooks{}, &taken); err != nil || c.all != 3 || len(c.entries) != 2 || c.entries[0].Name != "b" || c.entries[1].Name != "a" {
			t.Errorf("%+v, %v", c, err)
		}
	}
}

// TestNamedMeanwhile checks that a run finds the records of all files that another run has saved since this run began,
// although it reads them from the ledger all at once.
func TestNamedMeanwhile(t *testing.T) {
	modified := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	root := must.Get(os.OpenRoot(t.TempDir()))(t)
	defer root.Close()
	b := &engine{root: root, group: new(partfile.Group), ledger: must.Get(ledger.Open(root, ledger.Name))(t)}
	other := must.Get(ledger.Open(root, ledger.Name))(t)
	defer other.Close()
	defer func() { b.ledger.Close() }()
	var tasks []*Task
	for _, path := range []string{"a", "b", "c"} {
		tasks = append(tasks, &Task{URLs: []*urlparse.URL{must.Get(urlparse.Parse("ftp://h/" + path))(t)}, Path: path})
	}
	for _, task := range tasks[:2] {
		must.Do(t, errors.Join(root.WriteFile(task.Path, []byte("x"), 0o666), root.Chtimes(task.Path, modified, modified)))
		must.Do(t, errors.Join(other.Add(recordOf(task, task.URLs[0], Result{Size: 1, ModTime: modified})), other.Flush()))
	}
	for i, task := range tasks {
		place := must.Get(b.group.Find(b.root, task.Path))(t)
		got := false
		if place.Info != nil {
			got = b.recorded(&job{Task: task, listed: -1}, time.Time{}, place.Info) != nil
		}
		if got != (i < 2) {
			t.Errorf("%s: %v", task.Path, got)
		}
	}
}

// TestHostileTotals checks that sums of sizes do not overflow, whatever a server reports. A size that would make them
// overflow is unknown.
func TestHostileTotals(t *testing.T) {
	sizes := []int64{-1, 0, 1 << 31, 1 << 32, 1 << 62, math.MaxInt64 - 1, math.MaxInt64}
	for _, a := range sizes {
		for _, b := range sizes {
			for _, third := range sizes {
				var c counts
				most, unknown := int64(0), int64(0)
				for _, size := range []int64{a, b, third} {
					c.file(size)
					most = max(most, size)
					unknown += max(0, -size)
				}
				if c.size < 0 || c.unsized < unknown || c.unsized == 0 && c.size < most || c.Files != 3 {
					t.Errorf("%d, %d and %d: %+v", a, b, third, c)
				}
			}
		}
	}
}

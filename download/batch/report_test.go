package batch_test

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"example.com/ftpfetch/download/batch"
)

// newReport creates a report with a head.
func newReport(t *testing.T, head string) (*batch.Report, string) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "report")
	r, err := batch.CreateReport(path, head)
	if err != nil {
		t.Fatal(err)
	}
	return r, path
}

func contents(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestReportOrder writes many rows from several goroutines, in no order: while the
// run lasts all written rows are in the file, and in the end they are in the order of the
// list, those of trees first, by their names. A line may name several files.
func TestReportOrder(t *testing.T) {
	for _, head := range []string{"", "line\tpath"} {
		r, path := newReport(t, head)
		type one struct {
			line int
			name string
		}
		var all []one
		for i := range 500 {
			all = append(all, one{line: i/2 + 1, name: fmt.Sprintf("n%03d", i)}, one{name: fmt.Sprintf("d/%03d", i)})
		}
		rand.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		text := func(x one) string { return fmt.Sprintf("%d\t%s %s\n", x.line, x.name, strings.Repeat("x", x.line)) }
		var writing sync.WaitGroup
		for part := range slices.Chunk(all, 100) {
			writing.Go(func() {
				for _, x := range part {
					if err := r.Write(x.line, x.name, []byte(text(x))); err != nil {
						t.Error(err)
					}
				}
			})
		}
		writing.Wait()
		first := ""
		if head != "" {
			first = head + "\n"
		}
		before := strings.SplitAfter(strings.TrimPrefix(contents(t, path), first), "\n")
		if !strings.HasPrefix(contents(t, path), first) || len(before) != len(all)+1 {
			t.Errorf("before Close there are %d rows", len(before))
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		slices.SortFunc(all, func(a, b one) int {
			if a.line == 0 && b.line == 0 {
				return strings.Compare(a.name, b.name)
			}
			return cmp.Or(a.line-b.line, strings.Compare(a.name, b.name))
		})
		want := first
		for _, x := range all {
			want += text(x)
		}
		if got := contents(t, path); got != want {
			t.Errorf("with head %q: the rows are not in their order", head)
		}
		if left, err := os.ReadDir(filepath.Dir(path)); err != nil || len(left) != 1 {
			t.Errorf("left behind: %v, %v", left, err)
		}
	}
}

// TestReportKept checks that a report in order is not written a second time, so
// that it may be a pipe or a device, and that an older one is replaced.
func TestReportKept(t *testing.T) {
	r, path := newReport(t, "head")
	for line := range 3 {
		if err := r.Write(line+1, "", fmt.Appendf(nil, "%d\n", line+1)); err != nil {
			t.Fatal(err)
		}
	}
	before, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	after, err := os.Stat(path)
	if err != nil || !os.SameFile(before, after) || contents(t, path) != "head\n1\n2\n3\n" {
		t.Errorf("replaced, or %v: %q", err, contents(t, path))
	}
	if r, err = batch.CreateReport(path, ""); err != nil {
		t.Fatal(err)
	}
	if err := r.Close(); err != nil || contents(t, path) != "" {
		t.Errorf("an empty report holds %q, %v", contents(t, path), err)
	}
}

// TestReportErrors checks that a place where no report can be is refused.
func TestReportErrors(t *testing.T) {
	if _, err := batch.CreateReport(t.TempDir(), ""); err == nil {
		t.Error("a directory is accepted")
	}
	if _, err := batch.CreateReport(filepath.Join(t.TempDir(), "no", "report"), ""); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("in a missing directory: %v", err)
	}
}

// TestReportLink checks that a link to the report stays one.
func TestReportLink(t *testing.T) {
	target := filepath.Join(t.TempDir(), "target")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	r, err := batch.CreateReport(link, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, line := range []int{2, 1} {
		if err := r.Write(line, "", fmt.Appendf(nil, "%d\n", line)); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if to, err := os.Readlink(link); err != nil || to != target || contents(t, target) != "1\n2\n" {
		t.Errorf("the link leads to %q, %v; the report is %q", to, err, contents(t, target))
	}
}

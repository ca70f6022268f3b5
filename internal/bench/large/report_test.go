//go:build linux

package large

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/internal/bench/lab"
)

func runs(processor ...time.Duration) (samples []sample) {
	for _, p := range processor {
		samples = append(samples, sample{Outcome: lab.Outcome{Elapsed: 4 * p, Processor: p}, memory: 2048})
	}
	return samples
}

func TestRowMarkdown(t *testing.T) {
	j, x := &job{number: 1, title: "t", file: largeFile, runs: 3}, &client{name: "x"}
	base := &row{client: &client{program: reference}, job: j, samples: runs(time.Second, 2*time.Second, 4*time.Second)}
	timed := runs(time.Second)
	timed[0].memory = 0
	for _, c := range []struct {
		name string
		row  row
		base *row
		want string
	}{
		{"the median of the pairs", row{samples: runs(2*time.Second, 2*time.Second, 2*time.Second)}, base,
			"| x | 1.00 | 1.00 | 1.00 | 2.000 | 2.0 | 8.000 |\n"},
		{"no memory", row{samples: timed}, base, "| x | 1.00 | | 1.00 | 1.000 | | 4.000 |\n"},
		{"no reference", row{samples: runs(time.Second)}, nil, "| x | | | | 1.000 | 2.0 | 4.000 |\n"},
		{"failed", row{err: errors.New("a|b")}, base, "| x | a\\|b | | | | | |\n"},
	} {
		c.row.client, c.row.job = x, j
		got := c.row.markdown(c.base)
		if got != c.want {
			t.Errorf("%s:\n got %swant %s", c.name, got, c.want)
		}
		if rule := strings.Split(head(j), "\n")[3]; strings.Count(strings.ReplaceAll(got, `\|`, ""), "|") != strings.Count(rule, "|") {
			t.Errorf("%s: %q has not the columns of %q", c.name, got, rule)
		}
	}
}

func TestWords(t *testing.T) {
	s := &settings{size: 1, huge: 2, runs: 1}
	tls, resume := s.jobs()[1], s.jobs()[5]
	if got, want := lab.ShellLine(tls.words("get, {ca}, x {host}:{tls}/{file}")), "get ca.pem 'x 127.0.0.1:2021/large'"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if resume.part != 1<<20 {
		t.Errorf("half of 2 MiB is %d bytes", resume.part)
	}
}

// Every case has a row of ftpfetch and one of the reference.
func TestEveryJobHasRows(t *testing.T) {
	found := map[int]map[string]bool{}
	for _, w := range makeRows(&settings{runs: 1}) {
		if found[w.job.number] == nil {
			found[w.job.number] = map[string]bool{}
		}
		found[w.job.number][w.client.program] = true
	}
	for number := range 6 {
		if programs := found[number+1]; !programs[ours] || !programs[reference] {
			t.Errorf("case %d has only %v", number+1, programs)
		}
	}
}

func TestSame(t *testing.T) {
	dir := t.TempDir()
	served, local := filepath.Join(dir, "served"), filepath.Join(dir, "local")
	const size = 3*block + 7
	if err := writeServed(served, size, true); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name  string
		bytes int64
		flip  int64 // -1: none
		ok    bool
	}{{"whole", size, -1, true}, {"short", size - 1, -1, false}, {"one byte differs", size, size - 1, false}, {"empty", 0, -1, false}} {
		if err := copyFirst(local, served, c.bytes); err != nil {
			t.Fatal(err)
		}
		if c.flip >= 0 {
			flip(t, local, c.flip)
		}
		if err := same(local, served); (err == nil) != c.ok {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}

func flip(t *testing.T, path string, at int64) {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	b[at] ^= 1
	if err := os.WriteFile(path, b, 0o644); err != nil {
		t.Fatal(err)
	}
}

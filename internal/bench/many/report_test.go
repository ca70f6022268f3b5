//go:build linux

package many

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/internal/bench/lab"
)

// newTestWorld returns a world that runs nothing.
func newTestWorld() *world {
	return newWorld(&lab.Site{}, &settings{rtt: 50 * time.Millisecond, files: 2, size: 1})
}

// took returns a run that kept everything.
func took(d time.Duration) sample {
	return sample{Outcome: lab.Outcome{Elapsed: d, Processor: d / 10}, controls: 3}
}

// limitedJob returns a job whose reference is ftpfetch with 3 connections.
func limitedJob() *job {
	return &job{number: 5, form: formList, files: newServed(2, 1).list, reference: 3, link: &lab.Link{OneWay: 25 * time.Millisecond}}
}

func TestRowMarkdown(t *testing.T) {
	j := limitedJob()
	tree := &job{form: formTree, files: newServed(2, 1).tree, link: j.link}
	large := &job{form: formLarge, files: newServed(2, 1_000_000).large, link: j.link}
	lost := took(time.Second)
	lost.lost, lost.Code, lost.err = 1, 7, errors.New("7")
	stopped := took(time.Second)
	stopped.Code, stopped.err = -1, errors.New("not done")
	x := &client{name: "x"}
	for _, c := range []struct {
		name string
		row  row
		want string
	}{
		{"time", row{job: j, samples: []sample{took(time.Second), took(4 * time.Second), took(2 * time.Second)}},
			"| 8 | x | 2.00 | 4.00 | 20.00 | 3 | 0.20 | 0 |\n"},
		{"lost", row{job: j, samples: []sample{lost}}, "| 8 | x | **lost 1 of 2**, in 1 s | | | 3 | 0.10 | 7 |\n"},
		{"stopped", row{job: j, samples: []sample{stopped}}, "| 8 | x | **lost 0 of 2**, still running after 1 s | | | 3 | 0.10 | stopped |\n"},
		{"links", row{job: tree, samples: []sample{took(time.Second)}}, "| 8 | x | 1.00 | 2.00 | 0 of 1 | 3 | 0.10 | 0 |\n"},
		{"rate", row{job: large, samples: []sample{took(time.Second)}}, "| 8 | x | 1.00 | 2.00 | 1.0 | 3 | 0.10 | 0 |\n"},
		{"not installed", row{job: j}, "| 8 | x | not installed | | | | | |\n"},
	} {
		c.row.client, c.row.connections, c.row.installed = x, 8, len(c.row.samples) > 0
		got := c.row.markdown(500 * time.Millisecond)
		if got != c.want {
			t.Errorf("%s:\n got %swant %s", c.name, got, c.want)
		}
		if head := strings.Split(c.row.job.head(), "\n")[2]; strings.Count(got, "|") != strings.Count(head, "|") {
			t.Errorf("%s: %q has not the columns of %q", c.name, got, head)
		}
	}
}

func TestReferenceTime(t *testing.T) {
	j, same := limitedJob(), limitedJob()
	same.reference = 0
	ours, theirs := &client{program: reference}, &client{program: "x"}
	lost := took(9 * time.Second)
	lost.lost = 1
	r := &report{rows: []*row{
		{client: ours, job: j, connections: 3, samples: []sample{took(3 * time.Second)}},
		{client: ours, job: j, connections: 8, samples: []sample{took(8 * time.Second)}},
		{client: ours, job: same, connections: 8, samples: []sample{took(7 * time.Second)}},
		{client: ours, job: same, connections: 3, samples: []sample{lost}},
	}}
	for _, c := range []struct {
		name string
		row  *row
		want time.Duration
	}{
		{"the case's cap", &row{client: theirs, job: j, connections: 8}, 3 * time.Second},
		{"the same cap", &row{client: theirs, job: same, connections: 8}, 7 * time.Second},
		{"lost files are no reference", &row{client: theirs, job: same, connections: 3}, 0},
	} {
		if got := r.referenceTime(c.row); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestFailureIsAboutFtpfetch(t *testing.T) {
	lost := took(time.Second)
	lost.lost = 1
	for _, program := range []string{reference, "curl"} {
		r := &report{rows: []*row{{client: &client{program: program}, job: limitedJob(), samples: []sample{lost}}}}
		if err := r.failure(); (err != nil) != (program == reference) {
			t.Errorf("%s lost a file: got %v", program, err)
		}
	}
}

func TestAgain(t *testing.T) {
	lost := took(time.Second)
	lost.lost = 1
	for _, c := range []struct {
		name string
		last sample
		want bool
	}{{"quick", took(time.Second), true}, {"slow", took(time.Hour), false}, {"lost", lost, false}} {
		w := &row{samples: []sample{c.last}}
		if got := w.again(time.Minute); got != c.want {
			t.Errorf("%s: got %v, want %v", c.name, got, c.want)
		}
	}
}

func TestVerify(t *testing.T) {
	s := newServed(2, 1)
	for _, c := range []struct {
		name   string
		files  *files
		isTree bool
		prefix string // of the local paths
		want   found
	}{
		{"a list", s.list, false, "", found{}},
		{"a list in a directory", s.list, false, "x/y", found{}},
		{"a tree", s.tree, true, "", found{links: 1}},
		{"a tree under its name", s.tree, true, "tree", found{links: 1}},
		{"a tree under its server", s.tree, true, "198.18.0.2/tree", found{links: 1}},
		{"a tree elsewhere", s.tree, true, "other", found{lost: len(s.tree.names)}},
	} {
		dir := t.TempDir()
		for name, b := range c.files.bytes {
			if err := lab.WriteFile(filepath.Join(dir, c.prefix, name), b); err != nil {
				t.Fatal(err)
			}
		}
		for name, target := range c.files.links {
			if err := os.Symlink(target, filepath.Join(dir, c.prefix, name)); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := c.files.verify(dir, c.isTree); got != c.want || err != nil {
			t.Errorf("%s: got %+v, %v; want %+v", c.name, got, err, c.want)
		}
	}
}

func TestVerifyFindsWhatIsLost(t *testing.T) {
	s, dir := newServed(3, 1), t.TempDir()
	name := s.list.names[0]
	for local, b := range map[string][]byte{name: s.list.bytes[name], s.list.names[1]: s.list.bytes[name]} {
		if err := lab.WriteFile(filepath.Join(dir, local), b); err != nil {
			t.Fatal(err)
		}
	}
	// The second has other bytes, and the third is missing.
	if got, err := s.list.verify(dir, false); got.lost != 2 || err != nil {
		t.Errorf("got %+v, %v; want 2 lost", got, err)
	}
}

func TestTree(t *testing.T) {
	tree := newServed(8, 1).tree
	if got, want := len(tree.names)+len(tree.links), 80-8; got != want {
		t.Errorf("got %d files and links, want %d", got, want)
	}
	for name, target := range tree.links {
		if _, ok := tree.bytes[filepath.Join(filepath.Dir(name), target)]; !ok {
			t.Errorf("%s leads to %s, which is not there", name, target)
		}
	}
	if !slices.Contains(tree.names, "e00000/e00010/e00020/e00030/e00031") || !slices.Contains(tree.names, "e00040/e00041") {
		t.Errorf("the directories are not four levels deep: %v", tree.names)
	}
}

func TestWords(t *testing.T) {
	j := newTestWorld().jobs()[1]
	got := lab.ShellLine(j.words([]string{"get", "{n}", "{base}", "{url}", "{host}", "{port}", "{dir}", "{home}/urls"}, "h", 6))
	want := "get 6 ftp://127.0.0.1:2120/long/ ftp://127.0.0.1:2120/long/d00/f00000 127.0.0.1 2120 long h/urls"
	if got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	j.files.names = j.files.names[:2]
	if got, want := lab.ShellLine(j.words([]string{"get", "{paths}"}, "h", 6)), "get long/d00/f00000 long/d01/f00001"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestLists(t *testing.T) {
	dir := t.TempDir()
	j := newTestWorld().jobs()[1]
	j.files.names = j.files.names[:1]
	if err := j.writeLists(dir, 6); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		urlList:  "ftp://127.0.0.1:2120/long/d00/f00000\n",
		pathList: "d00/f00000\n",
		curlList: "url = \"ftp://127.0.0.1:2120/long/d00/f00000\"\noutput = \"f00000\"\n",
		lftpList: "set cmd:queue-parallel 6\nopen ftp://127.0.0.1:2120/long/\nqueue get d00/f00000\nwait all\n",
	} {
		got, err := os.ReadFile(filepath.Join(dir, name))
		if err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v; want %q", name, got, err, want)
		}
	}
}

// ftpfetch and a client with as many connections must be in every table.
func TestEveryJobHasRows(t *testing.T) {
	for _, j := range newTestWorld().jobs() {
		for _, n := range j.caps {
			programs := map[string]bool{}
			for _, c := range clients {
				if line, can := c.lines[j.form]; can && line.at(j, n) {
					programs[c.program] = true
				}
			}
			if !programs[reference] || len(programs) < 3 {
				t.Errorf("case %d with %d connections has only %v", j.number, n, programs)
			}
		}
	}
}

func TestParse(t *testing.T) {
	for _, c := range []struct {
		args string
		ok   bool
	}{
		{"", true}, {"-n 1 -files 20 -case 1,4 -clients curl", true},
		{"-n 0", false}, {"-files 0", false}, {"-files 5001", false}, {"-rtt 0s", false}, {"-size 0", false}, {"-timeout 0s", false}, {"x", false},
	} {
		if _, err := parse(strings.Fields(c.args), io.Discard); (err == nil) != c.ok {
			t.Errorf("%q: got %v, want success %v", c.args, err, c.ok)
		}
	}
}

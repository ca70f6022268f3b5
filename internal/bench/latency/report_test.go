//go:build linux

package latency

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/internal/bench/lab"
)

func ms(values ...int) []sample {
	var s []sample
	for _, v := range values {
		d := time.Duration(v) * time.Millisecond
		s = append(s, sample{exit: d, last: d / 2, controls: 1})
	}
	return s
}

func TestRoundTrips(t *testing.T) {
	got := roundTrips(ms(20, 10, 90), ms(310, 360, 260), 50*time.Millisecond, untilExit)
	if want := (lab.Spread{Min: 5, Median: 6, Max: 7}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
}

func TestRowMarkdown(t *testing.T) {
	r := &report{settings: &settings{rtt: 50 * time.Millisecond}}
	file, many := &job{form: formFile}, &job{form: formMany, paths: []string{"many/a", "many/b"}}
	x := &client{name: "x"}
	for _, c := range []struct {
		name string
		row  *row
		want string
	}{
		{"numbers", &row{client: x, job: file, near: ms(10), far: ms(310)}, "| x | 6.0 | 6.0 | 6.0 | 3.0 | 1 | 310 | 10 |\n"},
		{"many files", &row{client: x, job: many, near: ms(10), far: ms(310)}, "| x | 6.0 | 6.0 | 6.0 | 3.00 | 3.0 | 1 | 310 | 10 |\n"},
		{"note", &row{client: x, job: file, note: "not installed"}, "| x | not installed | | | | | | |\n"},
		{"only failures", &row{client: x, job: file, failures: 3, err: errors.New("a|b\nc")}, "| x | failed 3 times: a\\|b c | | | | | | |\n"},
		{"some failures", &row{client: x, job: file, near: ms(10), far: ms(310), tries: 2, failures: 1, err: errors.New("e")},
			"| x (1 of 2 runs failed: e) | 6.0 | 6.0 | 6.0 | 3.0 | 1 | 310 | 10 |\n"},
	} {
		got := c.row.markdown(r)
		if got != c.want {
			t.Errorf("%s:\n got %swant %s", c.name, got, c.want)
		}
		rule := strings.Split(head(c.row.job), "\n")[3]
		if strings.Count(strings.ReplaceAll(got, `\|`, ""), "|") != strings.Count(rule, "|") {
			t.Errorf("%s: %q has not the columns of %q", c.name, got, rule)
		}
	}
}

func TestJobWords(t *testing.T) {
	tr := newTree(2)
	all := jobs(tr, false)
	for _, c := range []struct {
		job      *job
		template []string
		want     string
	}{
		{all[0], []string{"get", "{url}"}, "get ftp://h/a/b/c/file"},
		{all[1], []string{"get", "{url}"}, "get ftp://reader:correct-horse@h/a/b/c/file"},
		{all[2], []string{"get", "{ca}", "{ftps}", "{ftpes}"},
			"get ca.pem ftps://reader:correct-horse@h:2021/a/b/c/file ftpes://reader:correct-horse@h:2021/a/b/c/file"},
		{all[3], []string{"get", "{url};type=d"}, "get 'ftp://h/many/;type=d'"},
		{all[4], []string{"get", "{urls}"}, "get ftp://h/many/f001 ftp://h/many/f002"},
		{all[4], []string{"get", "{host}", "{paths}"}, "get h many/f001 many/f002"},
		{all[4], []string{"get", "open {dir}; get {names}"}, "get 'open many; get f001 f002'"},
	} {
		if got := lab.ShellLine(c.job.words(c.template, "h")); got != c.want {
			t.Errorf("case %d: got %s, want %s", c.job.number, got, c.want)
		}
	}
}

func TestJobsOfAnonymousServer(t *testing.T) {
	var got []int
	for _, j := range jobs(newTree(1), true) {
		got = append(got, j.number)
		if j.login {
			t.Errorf("case %d logs in with a name", j.number)
		}
	}
	if want := []int{1, 3, 4, 5}; !slices.Equal(got, want) {
		t.Errorf("got cases %v, want %v", got, want)
	}
}

func TestVerifyFetched(t *testing.T) {
	tr := newTree(2)
	dir := t.TempDir()
	if err := tr.verifyFiles(dir, []string{deepFile}); err == nil {
		t.Error("a missing file was taken for fetched")
	}
	if err := lab.WriteFile(dir+"/file", tr.files[deepFile][:fileSize-1]); err != nil {
		t.Fatal(err)
	}
	if err := tr.verifyFiles(dir, []string{deepFile}); err == nil {
		t.Error("a short file was taken for the whole")
	}
	if err := lab.WriteFile(dir+"/file", tr.files[deepFile]); err != nil {
		t.Fatal(err)
	}
	if err := tr.verifyFiles(dir, []string{deepFile}); err != nil {
		t.Errorf("the whole file: %v", err)
	}
}

func TestVerifyListed(t *testing.T) {
	tr := newTree(2)
	for _, c := range []struct {
		name, stdout, page string
		ok                 bool
	}{
		{"names", "f002\r\nf001\n", "", true},
		{"paths", "many/f001\nmany/f002\n", "", true},
		{"one missing", "f001\n", "", false},
		{"one too many", "f001\nf002\nf003\n", "", false},
		{"nothing", "", "", false},
		{"page", "", `<a href="f001">f001</a><a href="f002">f002</a>`, true},
		{"page with one missing", "", `<a href="f001">f001</a>`, false},
	} {
		dir := t.TempDir()
		if c.page != "" {
			if err := lab.WriteFile(dir+"/index.html", []byte(c.page)); err != nil {
				t.Fatal(err)
			}
		}
		if err := tr.verifyList(dir, []byte(c.stdout)); (err == nil) != c.ok {
			t.Errorf("%s: got %v, want success %v", c.name, err, c.ok)
		}
	}
}

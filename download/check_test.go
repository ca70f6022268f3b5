package download_test

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// standTime is the time of the files of a stand's server.
var standTime = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// checked returns what a check says about each path but those that are the same: its plan, size and reason, and what
// was not compared.
func checked(s *stand) map[string]string {
	all := make(map[string]string)
	for _, o := range s.outcomes {
		text := fmt.Sprintf("%s %d %s", o.Plan, o.Result.Size, o.Result.Left)
		switch {
		case o.Text != "":
			continue
		case o.Err != nil:
			text = "failed: " + o.Err.Error()
		case o.Untold != nil:
			text += fmt.Sprint(" untold ", o.Untold)
		case o.Plan == "same" && o.Result.Left == "":
			continue
		}
		if before, twice := all[o.Task.Path]; twice {
			text = before + " and " + text
		}
		if s.srv != nil {
			text = strings.ReplaceAll(text, s.srv.URL("/"), "URL/")
		}
		all[o.Task.Path] = text
	}
	return all
}

// check runs a check and compares what it says with want, and the disk with what it was before. It retrieves nothing.
func (s *stand) check(want map[string]string, tasks ...download.Task) {
	s.Helper()
	before := pictureOf(s.T, s.dir)
	s.options.Check = true
	s.options.Each.Retries = -1
	s.run(s.Context(), tasks...)
	if got := checked(s); !maps.Equal(got, want) {
		s.Errorf("got\n%q\nwant\n%q", got, want)
	}
	if after := pictureOf(s.T, s.dir); after != before {
		s.Errorf("a check changed\n%s to\n%s", before, after)
	}
	if s.srv == nil {
		return
	}
	for _, sent := range s.srv.Commands() {
		if verb, name, _ := strings.Cut(sent, " "); verb == "RETR" && !strings.Contains(name, "SUMS") {
			s.Errorf("a check sent %s", sent)
		}
	}
}

// checkTree is what the server has for TestCheck, and checkWant what a check says of the files that lefts puts here.
var checkTree = map[string]string{
	"/t/same": "0123456789", "/t/older": "0123456789", "/t/newer": "0123456789", "/t/shorter": "0123456789", "/t/longer": "0123456789",
	"/t/dir": "0123456789", "/t/dangles": "0123456789", "/t/part": "0123456789", "/t/linked": "0123456789", "/t/file/in": "in", "/t/new": "new", "/t/sub/deep/er": "deeper",
}

var checkWant = map[string]string{
	"older":       "differs 10 time: 2026-01-02T03:04:05Z there, 2026-01-02T02:04:05Z here",
	"newer":       "differs 10 time: 2026-01-02T03:04:05Z there, 2026-01-02T04:04:05Z here",
	"shorter":     "differs 10 size: 10 there, 4 here",
	"longer":      "differs 10 size: 10 there, 11 here",
	"dir":         "differs 10 kind: a directory here, a file there",
	"dir/in":      "extra 2 not on the server",
	"dangles":     "differs 10 kind: a link here, which leads to nothing",
	"part":        "missing 10 not here",
	"file":        "extra 4 a directory on the server",
	"file/in":     "missing 2 not here: file is a file",
	"new":         "missing 3 not here",
	"sub/deep/er": "missing 6 not here",
	"mine":        "extra 4 not on the server",
	"old/a/b":     "extra 1 not on the server",
	"old/link":    "extra 4 not on the server",
}

// fill puts the files of lefts into the stand's directory, and files that the server lacks.
func (s *stand) fill() {
	for name, leave := range lefts {
		leave(s.T, filepath.Join(s.dir, name), standTime)
	}
	for name, text := range map[string]string{"dir/in": "in", "file": "file", "mine": "mine", "old/a/b": "b", "old/.ftpfetch-trash/x": "x", ".ftpfetch-ledger-9": "", "old/c.ftpfetch.bad": "c"} {
		must.Do(s.T, os.MkdirAll(filepath.Dir(filepath.Join(s.dir, name)), 0o755))
		must.Do(s.T, os.WriteFile(filepath.Join(s.dir, name), []byte(text), 0o644))
	}
	must.Do(s.T, os.Mkdir(filepath.Join(s.dir, "empty"), 0o755))
	must.Do(s.T, os.Symlink("mine", filepath.Join(s.dir, "old", "link")))
}

// TestCheck compares all kinds of local files with a tree, on servers with listings of all kinds, and with the list of
// the same files, which has no extra ones.
func TestCheck(t *testing.T) {
	for name, tt := range map[string][]string{ // what the server refuses
		"MLSD": nil, "LIST": {"MLSD", "MLST"}, "LIST without MDTM": {"MLSD", "MLST", "MDTM"},
	} {
		for _, kind := range []string{"tree", "list"} {
			t.Run(name+" "+kind, func(t *testing.T) {
				t.Parallel()
				s := newStand(t, checkTree, testserver.Options{Fault: refusing(tt...)})
				s.fill()
				want := maps.Clone(checkWant)
				if slices.Contains(tt, "MDTM") {
					for _, name := range []string{"same", "newer", "older", "linked"} {
						want[name] = "same 10  untold [time]"
					}
				}
				if kind == "tree" {
					s.check(want, download.Task{URLs: []*urlparse.URL{s.url("/t/")}, Tree: &download.Tree{}})
					return
				}
				for path, text := range want {
					switch {
					case strings.HasPrefix(text, "extra"):
						delete(want, path)
					case slices.Contains(tt, "MDTM") && strings.Contains(text, "size:"): // the server is asked first
						want[path] += " untold [time]"
					}
				}
				var tasks []download.Task
				for _, path := range slices.Sorted(maps.Keys(checkTree)) {
					tasks = append(tasks, fileOf(s.url(path), strings.TrimPrefix(path, "/t/")))
				}
				s.check(want, tasks...)
			})
		}
	}
}

// refusing returns a fault that refuses commands as unknown.
func refusing(verbs ...string) func(*testserver.Conn) testserver.Action {
	return func(c *testserver.Conn) testserver.Action {
		if slices.Contains(verbs, c.Verb) {
			return testserver.Reply("500 Unknown command")
		}
		return nil
	}
}

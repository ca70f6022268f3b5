package download_test

import (
	"fmt"
	"io/fs"
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

// lefts are the files that may exist before a run, besides those that an earlier run fetched.
var lefts = map[string]func(t *testing.T, name string, at time.Time){
	"same":    func(t *testing.T, name string, at time.Time) { leave(t, name, "0123456789", at) },
	"older":   func(t *testing.T, name string, at time.Time) { leave(t, name, "9876543210", at.Add(-time.Hour)) },
	"newer":   func(t *testing.T, name string, at time.Time) { leave(t, name, "9876543210", at.Add(time.Hour)) },
	"shorter": func(t *testing.T, name string, at time.Time) { leave(t, name, "0123", at) },
	"longer":  func(t *testing.T, name string, at time.Time) { leave(t, name, "0123456789x", at) },
	"dir":     func(t *testing.T, name string, _ time.Time) { must.Do(t, os.Mkdir(name, 0o755)) },
	"dangles": func(t *testing.T, name string, _ time.Time) { must.Do(t, os.Symlink("nowhere", name)) },
	"part": func(t *testing.T, name string, at time.Time) {
		leave(t, name+".ftpfetch.part", "0123", at)
		leave(t, name+".ftpfetch.json", "{}", at)
	},
	"linked": func(t *testing.T, name string, at time.Time) { // as a killed run leaves it
		leave(t, name, "0123456789", at)
		must.Do(t, os.Link(name, name+".ftpfetch.part"))
	},
}

func leave(t *testing.T, name, text string, at time.Time) {
	must.Do(t, os.WriteFile(name, []byte(text), 0o644))
	must.Do(t, os.Chtimes(name, at, at))
}

// TestDry compares the plan of a dry run for each file with what a run then does, for all local files, all flags, and
// trees and lists with and without digests. It also checks that a dry run fetches nothing and leaves the disk
// unchanged.
func TestDry(t *testing.T) {
	tree := map[string]string{"/t/fetched": "0123456789", "/t/new": "0123456789", "/t/sub/deeper": "0123456789", "/t/new~1": "", "/t/n\u00e4w": "0123456789"}
	for name := range lefts {
		tree["/t/"+name] = "0123456789"
	}
	flags := map[string]download.Options{
		"none": {}, "overwrite": {Existing: download.Overwrite}, "skip": {Existing: download.Skip}, "newer": {Existing: download.Newer}, "continue": {Existing: download.Continue},
		"newer and continue": {Existing: download.NewerOrContinue}, "no resume": {NoResume: true},
	}
	for flag, each := range flags {
		for _, kind := range []string{"tree", "tree without parts", "list", "digests", "gone", "sizes", "gone with a size"} {
			t.Run(kind+" "+flag, func(t *testing.T) {
				t.Parallel()
				s := newStand(t, tree, testserver.Options{})
				s.run(t.Context(), fileOf(s.url("/t/fetched"), "fetched"))
				for name, leave := range lefts {
					if kind == "tree without parts" && (name == "part" || name == "linked") {
						continue // the names in the directory then show which files are not here
					}
					leave(t, filepath.Join(s.dir, name), time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC))
				}
				tasks := dryTasks(s, kind, tree)
				s.options.Each = each
				s.options.Each.Retries = -1
				before := pictureOf(t, s.dir)
				commands := len(s.srv.Commands())
				s.options.Dry = true
				s.run(t.Context(), tasks...)
				plans := outcomesOf(s)
				if after := pictureOf(t, s.dir); after != before {
					t.Errorf("a dry run changed\n%s to\n%s", before, after)
				}
				if sent := strings.Join(s.srv.Commands()[commands:], "\n"); strings.Contains(sent, "RETR") {
					t.Errorf("a dry run sent\n%s", sent)
				}
				s.options.Dry = false
				s.run(t.Context(), tasks...)
				did := outcomesOf(s)
				for name := range did {
					if plans[name] != did[name] {
						t.Errorf("%s: planned %q, done %q", name, plans[name], did[name])
					}
				}
				if len(plans) != len(did) {
					t.Errorf("%d planned, %d done", len(plans), len(did))
				}
			})
		}
	}
}

// TestDryReport checks that a dry run refuses to replace its report, as a run does.
func TestDryReport(t *testing.T) {
	s := newStand(t, map[string]string{"/f": "0123456789"}, testserver.Options{})
	report := filepath.Join(s.dir, "f")
	must.Do(t, os.WriteFile(report, nil, 0o644))
	s.options.Report = must.Get(os.Stat(report))(t)
	s.options.Each.Existing = download.Overwrite
	for _, s.options.Dry = range []bool{false, true} {
		s.run(t.Context(), fileOf(s.url("/f"), "f"))
		if failed := s.failures(); len(failed) != 1 || !strings.Contains(failed[0], "is the report of this run") {
			t.Errorf("dry %v: got %q", s.options.Dry, failed)
		}
	}
}

// dryTasks returns the tasks of a kind: the files one by one, with or without digests or sizes, a file that the server
// lacks, or the tree.
func dryTasks(s *stand, kind string, tree map[string]string) (tasks []download.Task) {
	switch kind {
	case "tree", "tree without parts":
		u := s.url("/t/")
		return []download.Task{{URLs: []*urlparse.URL{u}, Tree: &download.Tree{}}}
	case "digests":
		tasks = s.tasks(tree)
	case "gone":
		return []download.Task{fileOf(s.url("/t/none"), "none")}
	case "gone with a size", "sizes": // wrong sizes
		paths := []string{"/t/none"}
		if kind == "sizes" {
			paths = slices.Sorted(maps.Keys(tree))
		}
		for _, path := range paths {
			task := fileOf(s.url(path), path)
			task.Size = new(int64(99))
			tasks = append(tasks, task)
		}
	default:
		for _, path := range slices.Sorted(maps.Keys(tree)) {
			tasks = append(tasks, fileOf(s.url(path), path))
		}
	}
	for i := range tasks {
		tasks[i].Path = filepath.Base(tasks[i].Path)
	}
	return tasks
}

// outcomesOf returns the outcome or the plan for each file: left, fetched or failed, with the reason or the size.
func outcomesOf(s *stand) map[string]string {
	all := make(map[string]string)
	for _, o := range s.outcomes {
		text := fmt.Sprintf("fetched: %d", o.Result.Size)
		switch {
		case o.Err != nil:
			text = "failed: " + o.Err.Error()
		case o.Plan == "leave":
			text = "left: " + o.Result.Left
		case o.Plan != "":
			text = fmt.Sprintf("fetched: %d", o.Result.Size)
			if _, err := os.Lstat(filepath.Join(s.dir, o.Task.Path)); (err == nil) != (o.Plan == "replace") || o.Result.Left == "" {
				s.Errorf("%s: %+v, and there is one here: %v", o.Task.Path, o, err == nil)
			}
		case o.Result.Left != "":
			text = "left: " + o.Result.Left
		}
		all[o.Task.Path] = text
	}
	return all
}

// pictureOf returns everything that a directory shows, as text.
func pictureOf(t *testing.T, dir string) string {
	var text strings.Builder
	must.Do(t, filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info := must.Get(e.Info())(t)
		data, _ := os.ReadFile(name)
		fmt.Fprintf(&text, "%s %v %v %q\n", name, info.Mode(), info.ModTime(), data)
		return nil
	}))
	return text.String()
}

package download_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/afero"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// moved takes the files of the stand away, as a pipeline does, and returns their contents by their paths. Ledgers stay,
// and so do parts.
func (s *stand) moved() map[string]string {
	s.Helper()
	got := map[string]string{}
	must.Do(s, filepath.WalkDir(s.dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.Contains(d.Name(), "ftpfetch") {
			return err
		}
		text, err := os.ReadFile(path)
		below, _ := filepath.Rel(s.dir, path)
		got["/"+filepath.ToSlash(below)] = string(text)
		return errors.Join(err, os.Remove(path))
	}))
	return got
}

// verbs counts the commands of a run after the login, by their verbs. "" counts the logins.
func (s *stand) verbs() map[string]int {
	n := map[string]int{}
	for _, line := range s.srv.Commands() {
		verb, _, _ := strings.Cut(line, " ")
		switch verb {
		case "USER":
			n[""]++
		case "PASS", "FEAT", "OPTS", "SYST", "PWD", "QUIT", "TYPE", "CWD", "EPSV", "CLNT", "STRU", "MODE":
		default:
			n[verb]++
		}
	}
	s.srv.ResetCommands()
	return n
}

// onceStand is a stand with Once whose server has three files below /d that a test can change.
type onceStand struct {
	*stand
	fs    afero.Fs
	files map[string]string
}

func newOnceStand(t *testing.T, o testserver.Options) *onceStand {
	fs := afero.NewMemMapFs()
	files := map[string]string{"/d/a": "first", "/d/b": "second", "/d/sub/c": ""}
	o.FS = afero.NewIOFS(fs)
	s := &onceStand{newStand(t, files, o), fs, files}
	s.options.Once = true
	s.options.Jobs, s.options.PerHost = 1, 1
	return s
}

// change writes a file of the server, with a time so much after that of the others.
func (s *onceStand) change(path, text string, later time.Duration) {
	s.Helper()
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC).Add(later)
	must.Do(s, errors.Join(afero.WriteFile(s.fs, path, []byte(text), 0o644), s.fs.Chtimes(path, at, at)))
}

// asks are the ways to ask for the three files, and what a second run sends for them.
var asks = map[string]struct {
	tasks func(s *onceStand) []download.Task
	old   bool           // the server lists only times without seconds
	want  map[string]int // commands of the second run
	newer bool           // Newer sends the same if the files are there
}{
	"list": {func(s *onceStand) (tasks []download.Task) {
		for _, path := range slices.Sorted(maps.Keys(s.files)) {
			tasks = append(tasks, fileOf(s.url(path), strings.TrimPrefix(path, "/d/")))
		}
		return tasks
	}, false, map[string]int{"": 1, "SIZE": 3, "MDTM": 3}, true},
	"list with sizes": {func(s *onceStand) (tasks []download.Task) {
		for _, task := range asksOf(s) {
			task.Sum = digest.Sum{}
			tasks = append(tasks, task)
		}
		return tasks
	}, false, map[string]int{"": 1, "SIZE": 3, "MDTM": 3}, true},
	"list with digests": {asksOf, false, map[string]int{}, true},
	"tree": {func(s *onceStand) []download.Task {
		return []download.Task{treeOf(s.T, s.srv.URL("/d/"), download.Tree{})}
	}, false, map[string]int{"": 1, "MLSD": 2}, true},
	"old tree": {func(s *onceStand) []download.Task {
		return []download.Task{treeOf(s.T, s.srv.URL("/d/"), download.Tree{})}
	}, true, map[string]int{"": 1, "LIST": 2, "SIZE": 3, "MDTM": 3}, true},
	"glob": {func(s *onceStand) []download.Task {
		return []download.Task{treeOf(s.T, s.srv.URL("/d/"), download.Tree{Names: "[ab]", Depth: 1})}
	}, false, map[string]int{"": 1, "MLSD": 1}, true},
}

// asksOf returns a list with sizes and digests.
func asksOf(s *onceStand) (tasks []download.Task) {
	for _, task := range s.tasks(s.files) {
		task.Path = strings.TrimPrefix(task.Path, "d/")
		tasks = append(tasks, task)
	}
	return tasks
}

// TestOnce fetches files, moves them away and fetches them again, with what the server has then. The second run must send
// exactly what Newer sends when the files are there.
func TestOnce(t *testing.T) {
	for name, way := range asks {
		t.Run(name, func(t *testing.T) {
			o := testserver.Options{}
			if way.old {
				o.Fault = func(c *testserver.Conn) testserver.Action {
					if c.Verb == "MLSD" || c.Verb == "MLST" {
						return testserver.Reply("500 Unknown command.")
					}
					return nil
				}
			}
			s := newOnceStand(t, o)
			first := s.run(t.Context(), way.tasks(s)...)
			n := int(first.Files)
			if !first.Whole() || first.Before != 0 || s.verbs()["RETR"] != n || n < 2 {
				t.Fatalf("%+v, %q", first, s.failures())
			}
			s.options.Once, s.options.Each.Existing = false, download.Newer
			s.run(t.Context(), way.tasks(s)...)
			newer := s.verbs()
			s.options.Once, s.options.Each.Existing = true, ""
			s.moved()
			for range 2 {
				got := s.run(t.Context(), way.tasks(s)...)
				verbs := s.verbs()
				delete(verbs, "MLST")
				delete(newer, "MLST")
				if !got.Whole() || got.Before != int64(n) || !maps.Equal(verbs, way.want) && !way.old || !maps.Equal(verbs, newer) {
					t.Errorf("%+v, %q, %v, want %v as with Newer (%v)", got, s.failures(), verbs, way.want, newer)
				}
				for _, o := range s.outcomes {
					if o.Result.Left != "fetched before" || o.Result.Size != int64(len(s.files["/d/"+o.Task.Path])) || o.Result.ModTime.IsZero() {
						t.Errorf("%s: %+v", o.Task.Path, o.Result)
					}
				}
			}
			if left := s.moved(); len(left) > 0 {
				t.Errorf("%q is here again", left)
			}
			if name == "list with digests" { // which say what the files are
				return
			}
			s.change("/d/a", "longer than before", 0)
			s.change("/d/b", s.files["/d/b"], time.Second)
			tasks := way.tasks(s)
			for i := range tasks {
				tasks[i].Size = nil
			}
			got := s.run(t.Context(), tasks...)
			if here := s.moved(); !got.Whole() || got.Before != int64(n-2) || len(here) != 2 || here["/a"] != "longer than before" || here["/b"] != s.files["/d/b"] {
				t.Errorf("after the change: %+v, %q, %q", got, s.failures(), here)
			}
			s.verbs()
			if got := s.run(t.Context(), tasks...); s.verbs()["RETR"] > 0 || !got.Whole() {
				t.Errorf("after that: %+v, %q", got, s.failures())
			}
			s.change("/d/b", s.files["/d/b"], -time.Hour)
			if got := s.run(t.Context(), tasks...); s.verbs()["RETR"] != 1 || !got.Whole() {
				t.Errorf("an older one: %+v, %q", got, s.failures())
			}
		})
	}
}

// TestOnceHere checks what becomes of files that are still here.
func TestOnceHere(t *testing.T) {
	for _, tt := range []struct {
		what     string
		existing download.Existing
		here     string // what the file has here; "-": it is as it was
		server   string // what the server has; "": as it was
		left     string
		has      string
		fails    bool
	}{
		{"as it was", "", "-", "", "already there", "first", false},
		{"changed here", "", "mine", "", "fetched before", "mine", false},
		{"changed here, Newer", download.Newer, "mine", "", "fetched before", "mine", false},
		{"emptied here, Continue", download.Continue, "", "", "fetched before", "", false},
		{"changed there", "", "-", "another", "", "first", true},
		{"changed there, Newer", download.Newer, "-", "another", "", "another", false},
		{"changed here and there, Newer", download.Newer, "mine", "another", "", "another", false},
		{"changed there, Skip", download.Skip, "-", "another", "already exists", "first", false},
	} {
		s := newOnceStand(t, testserver.Options{})
		task := fileOf(s.url("/d/a"), "a")
		if got := s.run(t.Context(), task); !got.Whole() {
			t.Fatal(s.failures())
		}
		if tt.here != "-" {
			s.write("a", tt.here, time.Now())
		}
		if tt.server != "" {
			s.change("/d/a", tt.server, time.Hour)
		}
		s.options.Each.Existing = tt.existing
		got := s.run(t.Context(), task)
		if left := s.outcomes[0].Result.Left; left != tt.left || got.Whole() == tt.fails {
			t.Errorf("%s: %q, %q, want %q", tt.what, left, s.failures(), tt.left)
		}
		s.compare(map[string]string{"a": tt.has})
	}
}

// TestOncePart checks that a recorded file counts as fetched only if no part of it is here: the part may be whole, or
// what a later run had of it when it was killed.
func TestOncePart(t *testing.T) {
	for _, part := range []string{"first", "fi", "other", "longer than the file"} {
		s := newOnceStand(t, testserver.Options{})
		task := fileOf(s.url("/d/a"), "a")
		if got := s.run(t.Context(), task); !got.Whole() {
			t.Fatal(s.failures())
		}
		s.moved()
		s.write("a.ftpfetch.part", part, time.Now())
		if got := s.run(t.Context(), task); !got.Whole() {
			t.Errorf("part %q: %q", part, s.failures())
		}
		s.compare(map[string]string{"a": "first"})
	}
}

// TestOnceUnnamed has a run fail that would have given a recorded file its name, after an earlier one was killed just
// before it did. The next run fetches the file again, whatever became of the part.
func TestOnceUnnamed(t *testing.T) {
	for _, text := range []string{"", "first"} {
		for _, how := range []string{"refused", "wrong digest", "not once"} {
			var fails atomic.Bool
			s := newOnceStand(t, testserver.Options{Fault: func(c *testserver.Conn) testserver.Action {
				if c.Verb == "RETR" && fails.Load() && how != "wrong digest" {
					return testserver.Reply("550 Not now.")
				}
				return nil
			}})
			s.change("/d/a", text, 0)
			task := fileOf(s.url("/d/a"), "a")
			if how == "wrong digest" {
				task.Sum = must.Get(digest.Parse(fmt.Sprintf("sha256:%x", sha256.Sum256([]byte(text)))))(t)
			}
			if got := s.run(t.Context(), task); !got.Whole() {
				t.Fatal(s.failures())
			}
			s.moved()
			s.write("a.ftpfetch.part", text, time.Now())
			fails.Store(true)
			if how == "wrong digest" {
				s.change("/d/a", "other", 0)
			}
			s.options.Once = how != "not once"
			if got := s.run(t.Context(), task); got.Whole() {
				t.Errorf("%q, %s: the run is whole", text, how)
			}
			fails.Store(false)
			s.change("/d/a", text, 0)
			s.options.Once = true
			if got := s.run(t.Context(), task); !got.Whole() || s.outcomes[0].Result.Left != "" {
				t.Errorf("%q, %s: %+v, %q", text, how, s.outcomes[0].Result, s.failures())
			}
			if got := must.Get(os.ReadFile(filepath.Join(s.dir, "a")))(t); string(got) != text {
				t.Errorf("%q, %s: got %q", text, how, got)
			}
		}
	}
}

// TestOnceCreatedPart checks that an empty part, as another run has just created it, does not make a recorded file come
// again.
func TestOnceCreatedPart(t *testing.T) {
	s := newOnceStand(t, testserver.Options{})
	task := fileOf(s.url("/d/a"), "a")
	if got := s.run(t.Context(), task); !got.Whole() {
		t.Fatal(s.failures())
	}
	s.moved()
	s.write("a.ftpfetch.part", "", time.Now())
	s.verbs()
	if got := s.run(t.Context(), task); !got.Whole() || s.verbs()["RETR"] > 0 || s.outcomes[0].Result.Left != download.LeftBefore {
		t.Errorf("%+v, %q", s.outcomes[0].Result, s.failures())
	}
}

// TestOnceVerified checks that only what was verified counts, if that is asked for.
func TestOnceVerified(t *testing.T) {
	s := newOnceStand(t, testserver.Options{Fault: withoutHash})
	s.change("/d/SHA256SUMS", fmt.Sprintf("%x  a\n", sha256.Sum256([]byte("first"))), 0)
	task := fileOf(s.url("/d/a"), "a")
	for i, verify := range []bool{false, true, true, false} {
		s.options.Each.Verify = verify
		s.verbs()
		got := s.run(t.Context(), task)
		n := s.verbs()["RETR"]
		if want := []int{1, 2, 0, 0}[i]; n != want || !got.Whole() || verify && s.outcomes[0].Result.Verified == "" {
			t.Errorf("run %d: %d transfers, want %d: %q", i, n, want, s.failures())
		}
		s.moved()
	}
}

// TestOnceOther checks that a record counts only for its URL and size, and that a server that tells nothing has
// changed nothing.
func TestOnceOther(t *testing.T) {
	quiet := new(atomic.Bool)
	s := newOnceStand(t, testserver.Options{Fault: func(c *testserver.Conn) testserver.Action {
		if quiet.Load() && slices.Contains([]string{"SIZE", "MDTM", "MLST"}, c.Verb) {
			return testserver.Reply("550 No.")
		}
		return nil
	}})
	a := fileOf(s.url("/d/a"), "a")
	elsewhere, sized, again := fileOf(s.url("/d/b"), "a"), a, a
	sized.Size = new(int64(7))
	again.URLs = []*urlparse.URL{s.url("/d/sub/c"), s.url("/d/a")}
	for i, tt := range []struct {
		task  download.Task
		quiet bool
		retr  int
		fails bool
	}{
		{a, false, 1, false}, {a, true, 0, false}, {sized, false, 1, true}, {elsewhere, false, 1, false}, {a, false, 1, false}, {a, true, 0, false},
	} {
		quiet.Store(tt.quiet)
		s.verbs()
		if got := s.run(t.Context(), tt.task); got.Whole() == tt.fails || s.verbs()["RETR"] != tt.retr {
			t.Errorf("run %d: %+v, %q", i, got, s.failures())
		}
		s.moved()
	}
}

// TestOnceDry checks that a dry run says what the run does.
func TestOnceDry(t *testing.T) {
	for name, way := range asks {
		s := newOnceStand(t, testserver.Options{})
		s.run(t.Context(), way.tasks(s)...)
		s.moved()
		if name != "list with digests" && name != "list with sizes" {
			s.change("/d/a", "another", time.Hour)
		}
		s.options.Dry = true
		s.run(t.Context(), way.tasks(s)...)
		plans := map[string]string{}
		for _, o := range s.outcomes {
			plans[o.Task.Path] = o.Plan + " " + o.Result.Left
		}
		s.options.Dry = false
		s.run(t.Context(), way.tasks(s)...)
		for _, o := range s.outcomes {
			want := "leave fetched before"
			if o.Result.Left == "" {
				want = "fetch not here"
			}
			if got := plans[o.Task.Path]; got != want {
				t.Errorf("%s: %s: %q, want %q", name, o.Task.Path, got, want)
			}
		}
	}
}

// TestOnceKilled stops a run at each call on the disk, as a kill would, and takes away every file that has its name.
// The next run must bring exactly the others.
func TestOnceKilled(t *testing.T) {
	files := randomFiles(5)
	files["/d0/empty"] = ""
	dead := errors.New("dead")
	points := 0
	for at, more := int64(1), true; more; at += int64(night.Or(7, 1)) {
		s := newStand(t, files, testserver.Options{})
		s.options.Jobs, s.options.PerHost, s.options.Once = 3, 3, true
		ctx, cancel := context.WithCancel(t.Context())
		var calls atomic.Int64
		disk.Fault = func(string, string) error {
			if calls.Add(1) >= at {
				cancel()
				return dead
			}
			return nil
		}
		task := treeOf(t, s.srv.URL("/"), download.Tree{})
		s.run(ctx, task)
		disk.Fault = nil
		cancel()
		more = calls.Load() >= at
		points++
		first := s.moved()
		got := s.run(t.Context(), task)
		second := s.moved()
		for path, text := range files {
			one, in := first[path]
			two, again := second[path]
			if in == again || one+two != text {
				t.Errorf("call %d: %s: in the first run %v, in the second %v", at, path, in, again)
			}
		}
		if left, _ := filepath.Glob(s.dir + "/*/*ftpfetch*"); !got.Whole() || len(left) > 0 {
			t.Errorf("call %d: %+v, %q, left %q", at, got, s.failures(), left)
		}
		if t.Failed() {
			return
		}
	}
	t.Logf("%d points", points)
}

// TestOnceTogether has several runs fetch one tree at the same time, while each file is taken away as soon as it has its
// name. Each must come exactly once.
func TestOnceTogether(t *testing.T) {
	files := randomFiles(night.Or(30, 300))
	s := newStand(t, files, testserver.Options{})
	var mu sync.Mutex
	came := map[string]int{}
	var runs sync.WaitGroup
	for range 4 {
		one := newClientStand(t)
		one.srv, one.dir, one.options.Once = s.srv, s.dir, true
		one.options.Events = func(e download.Event) {
			if e.Kind == download.Ended && e.Err == nil && e.Result.Left == "" {
				mu.Lock()
				defer mu.Unlock()
				came[e.Task.Path]++
				if err := os.Remove(filepath.Join(s.dir, e.Task.Path)); err != nil {
					t.Error(err)
				}
			}
		}
		runs.Go(func() {
			if got := one.run(t.Context(), treeOf(t, s.srv.URL("/"), download.Tree{})); !got.Whole() {
				t.Errorf("%+v, %q", got, one.failures())
			}
		})
	}
	runs.Wait()
	for path := range below(files) {
		if came[path] != 1 {
			t.Errorf("%s came %d times", path, came[path])
		}
	}
}

// TestOnceUnwritable checks that no file gets its name if the ledger cannot remember it.
func TestOnceUnwritable(t *testing.T) {
	for _, call := range []string{"append", "commit", "flush"} {
		s := newOnceStand(t, testserver.Options{})
		disk.Fault = func(c, _ string) error {
			if c == call {
				return errors.New("broken")
			}
			return nil
		}
		got := s.run(t.Context(), fileOf(s.url("/d/a"), "a"))
		disk.Fault = nil
		if got.Failed != 1 || !errors.Is(s.outcomes[0].Err, download.ErrLocal) && call == "append" {
			t.Errorf("%s: %+v, %q", call, got, s.failures())
		}
		_ = os.Remove(filepath.Join(s.dir, "a.ftpfetch.json"))
		s.compare(map[string]string{"a.ftpfetch.part": "first"})
		if got := s.run(t.Context(), fileOf(s.url("/d/a"), "a")); !got.Whole() {
			t.Errorf("%s: the next run: %q", call, s.failures())
		}
		s.compare(map[string]string{"a": "first"})
	}
}

// TestOnceChecked checks the options that Run refuses.
func TestOnceChecked(t *testing.T) {
	for _, o := range []download.RunOptions{{Once: true}, {Once: true, Ledger: ledgerName, Each: download.Options{Existing: download.Overwrite}}} {
		s := newOnceStand(t, testserver.Options{})
		if _, err := download.Run(t.Context(), &s.client, nil, &o); err == nil || !strings.Contains(err.Error(), "Once") {
			t.Errorf("got %v", err)
		}
	}
}

package cli_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/afero"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// grow puts a random tree below dir: each of a few names is a file, a directory or nothing.
func grow(files afero.Fs, r *rand.Rand, dir string, depth int) error {
	err := files.MkdirAll(dir, 0o755)
	for _, name := range []string{"a", "b", "c"} {
		path := dir + "/" + name
		switch kind := r.IntN(5); {
		case err != nil || kind == 0:
		case kind < 3 && depth > 0:
			err = grow(files, r, path, depth-1)
		default:
			err = afero.WriteFile(files, path, []byte(strings.Repeat("x", r.IntN(3))), 0o644)
		}
		if err == nil {
			err = files.Chtimes(dir, time.Unix(1e9, 0), time.Unix(1e9, 0))
		}
	}
	return err
}

// deeds returns what happened to each file by what --dry-run or --report says: "get", "leave" or "delete" and its path.
func deeds(t *testing.T, lines string) (all []string) {
	for line := range strings.Lines(lines) {
		var x struct{ Action, Status, Path string }
		must.Do(t, json.Unmarshal([]byte(line), &x))
		what, counts := map[string]string{"fetch": "get", "replace": "get", "complete": "get", "leave": "leave", "before": "leave", "delete": "delete", "deleted": "delete"}[x.Action+x.Status]
		if counts {
			all = append(all, what+" "+x.Path)
		}
	}
	slices.Sort(all)
	return all
}

// complaints returns the lines about failures.
func complaints(said string) (all []string) {
	for line := range strings.Lines(said) {
		if strings.HasPrefix(line, "ftpfetch: ") {
			all = append(all, line)
		}
	}
	slices.Sort(all)
	return all
}

// TestPlanAndDeed mirrors a random tree, changes it on the server and here, and compares what --dry-run says with what
// the same command then does: the exit codes, the files and the failures. What ftpfetch saved itself gives way with -N
// --delete to what has another kind on the server now, so that such a run fails only for files of the user's.
func TestPlanAndDeed(t *testing.T) {
	counts := map[int]int{}
	for seed := range uint64(night.Or(60, 3000)) {
		r := rand.New(rand.NewPCG(seed, 7))
		files := afero.NewMemMapFs()
		s := testserver.New(t, &testserver.Options{FS: afero.NewIOFS(files), ModTime: time.Unix(1e9, 0), Tree: map[string]string{"/t/keep": "k"}})
		t.Chdir(t.TempDir())
		must.Do(t, grow(files, r, "/t", 2))
		if code, _, said := run(t, "-q", "-r", "-N", "-d", "m", s.URL("/t/")); code != 0 {
			t.Fatalf("seed %d: exit %d, %s", seed, code, said)
		}
		for _, name := range []string{"a", "b", "c"} {
			if r.IntN(2) == 0 {
				must.Do(t, files.RemoveAll("/t/"+name))
				must.Do(t, grow(files, r, "/t/"+name, r.IntN(2)))
			}
			if r.IntN(6) == 0 {
				must.Do(t, files.RemoveAll("/t/"+name))
				must.Do(t, afero.WriteFile(files, "/t/"+name, []byte("file now"), 0o644))
			}
		}
		mine := 0
		must.Do(t, filepath.WalkDir("m", func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() && r.IntN(12) == 0 {
				mine++
				return os.WriteFile(filepath.Join(path, "mine"), nil, 0o644)
			}
			return err
		}))
		flags := [][]string{{}, {"-N"}, {"-N", "--delete"}, {"-N", "--delete"}, {"-N", "--delete", "--backup"}, {"-N", "--delete", "--max-delete", "1"}, {"-N", "--accept", "a"}}[r.IntN(7)]
		args := append([]string{"-q", "-r", "-d", "m", s.URL("/t/")}, flags...)
		planned, plan, objections := run(t, append(args, "--dry-run", "--json")...)
		done, _, said := run(t, append(args, "--report", "report.json")...)
		report := string(must.Get(os.ReadFile("report.json"))(t))
		counts[done]++
		same := slices.Equal(deeds(t, plan), deeds(t, report)) && slices.Equal(complaints(objections), complaints(said))
		if slices.Contains(flags, "--max-delete") { // what is first in the way may go, and which is, depends on the server
			same = strings.Count(report, `"deleted"`) < 2
		}
		if planned != done || !same {
			t.Errorf("seed %d, %q: planned with %d:\n%s%s\ndone with %d:\n%s%s", seed, flags, planned, plan, objections, done, report, said)
		}
		if done == 0 && slices.Equal(flags, []string{"-N", "--delete"}) {
			if again, plan, _ := run(t, append(args, "--dry-run", "--json")...); again != 0 || strings.Contains(plan, `"fetch","`) {
				t.Errorf("seed %d: the next plan, %d: %s", seed, again, plan)
			}
		}
		if done != 0 && slices.Contains(flags, "--delete") && !slices.Contains(flags, "--max-delete") && mine == 0 {
			t.Errorf("seed %d, %q: nothing here is the user's, but exit %d, %s", seed, flags, done, said)
		}
		_ = filepath.WalkDir("m", func(path string, e fs.DirEntry, err error) error {
			if err == nil && e.Name() == "mine" {
				mine--
			}
			return err
		})
		if mine != 0 {
			t.Errorf("seed %d, %q: %d files of the user are gone", seed, flags, mine)
		}
		s.Close()
		if t.Failed() {
			break
		}
	}
	t.Log("exit codes: " + fmt.Sprint(counts))
}

package cli_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path"
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

// filesOf returns the texts of the files of a tree, by their paths.
func filesOf(t *testing.T, files fs.FS) map[string]string {
	all := make(map[string]string)
	must.Do(t, fs.WalkDir(files, ".", func(name string, e fs.DirEntry, err error) error {
		if err == nil && !e.IsDir() && !strings.HasPrefix(name, ".ftpfetch-") {
			all[name] = string(must.Get(fs.ReadFile(files, name))(t))
		}
		return err
	}))
	return all
}

// differences returns what --check must say about two trees whose files all have one time: "missing", "differs" or
// "extra" and the path, for the paths that are wanted.
func differences(there, here map[string]string, wanted func(string) bool) (all []string) {
	for name, text := range there {
		mine, both := here[name]
		info, err := os.Stat(filepath.Join("m", name))
		switch {
		case !wanted(name):
		case err == nil && info.IsDir(), both && len(mine) != len(text):
			all = append(all, "differs "+name)
		case !both:
			all = append(all, "missing "+name)
		}
	}
	for name := range here {
		if _, both := there[name]; !both && wanted(name) {
			all = append(all, "extra "+name)
		}
	}
	slices.Sort(all)
	return all
}

// TestCheckSweep compares what --check says about random trees with what their files are. Whatever it says, nothing here
// changes; and if it finds no difference, a mirror has nothing to fetch.
func TestCheckSweep(t *testing.T) {
	filters := map[string]func(string) bool{
		"":               func(string) bool { return true },
		"--accept=a":     func(name string) bool { return path.Base(name) == "a" },
		"--reject=b":     func(name string) bool { return !slices.Contains(strings.Split(name, "/"), "b") },
		"--reject=c/":    func(name string) bool { return !slices.Contains(strings.Split(path.Dir(name), "/"), "c") },
		"--depth=1":      func(name string) bool { return !strings.Contains(name, "/") },
		"--max-size=1":   nil, // only that it runs
		"--follow-links": func(string) bool { return true },
	}
	codes := make(map[int]int)
	for seed := range uint64(night.Or(60, 3000)) {
		r := rand.New(rand.NewPCG(seed, 11))
		files := afero.NewMemMapFs()
		s := testserver.New(t, &testserver.Options{FS: afero.NewIOFS(files), ModTime: time.Unix(1e9, 0), Tree: map[string]string{"/t/a": "k"}})
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
		}
		must.Do(t, afero.Walk(files, "/t", func(name string, _ fs.FileInfo, err error) error {
			if err != nil {
				return err
			}
			return files.Chtimes(name, time.Unix(1e9, 0), time.Unix(1e9, 0))
		}))
		must.Do(t, filepath.WalkDir("m", func(name string, e fs.DirEntry, err error) error {
			if err == nil && e.IsDir() && r.IntN(6) == 0 {
				return os.WriteFile(filepath.Join(name, "b.ftpfetch.part"), nil, 0o644)
			}
			return os.Chtimes(name, time.Unix(1e9, 0), time.Unix(1e9, 0))
		}))
		there, here := filesOf(t, afero.NewIOFS(afero.NewBasePathFs(files, "/t"))), filesOf(t, os.DirFS("m"))
		maps.DeleteFunc(here, func(name, _ string) bool { return strings.HasSuffix(name, ".part") })
		filter := slices.Sorted(maps.Keys(filters))[r.IntN(len(filters))]
		args := slices.DeleteFunc([]string{"-r", "-d", "m", s.URL("/t/"), filter}, func(a string) bool { return a == "" })
		before := picture(t, "m")
		code, out, said := run(t, append(args, "--check", "--json")...)
		codes[code]++
		if after := picture(t, "m"); after != before {
			t.Errorf("seed %d: a check changed\n%s to\n%s", seed, before, after)
		}
		got, wanted := verdicts(t, out), filters[filter]
		if wanted != nil && code != 78 {
			if want := differences(there, here, wanted); !slices.Equal(got, want) || (code == 80) != (want != nil) {
				t.Errorf("seed %d, %s: exit %d\n%q, want\n%q\n%s\nthere %q\nhere %q", seed, filter, code, got, want, said, there, here)
			}
		}
		if code == 0 {
			if _, plan, _ := run(t, append(args, "-N", "--dry-run", "--json")...); strings.Contains(plan, `"fetch","`) || strings.Contains(plan, `"replace","`) {
				t.Errorf("seed %d, %s: nothing differs, but a mirror would do\n%s", seed, filter, plan)
			}
		}
		s.Close()
		if t.Failed() {
			break
		}
	}
	t.Log("exit codes: ", codes)
}

// verdicts returns what --check --json says: "missing", "differs" or "extra" and the path below m.
func verdicts(t *testing.T, lines string) (all []string) {
	for line := range strings.Lines(lines) {
		var x struct{ Action, Path string }
		must.Do(t, json.Unmarshal([]byte(line), &x))
		if x.Action != "" {
			all = append(all, x.Action+" "+strings.TrimPrefix(x.Path, "m/"))
		}
	}
	slices.Sort(all)
	return all
}

// picture returns everything that a directory shows, as text.
func picture(t *testing.T, dir string) string {
	var text strings.Builder
	must.Do(t, filepath.WalkDir(dir, func(name string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info := must.Get(e.Info())(t)
		data, _ := os.ReadFile(name)
		text.WriteString(strings.Join([]string{name, info.Mode().String(), info.ModTime().String(), string(data)}, " ") + "\n")
		return nil
	}))
	return text.String()
}

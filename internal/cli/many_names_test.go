package cli_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/internal/rules/night"
	"example.com/ftpfetch/testserver"
)

// sources are all ways to name files: by the URL of their directory, and their names. Each returns the arguments.
var sources = map[string]func(t *testing.T, dir string, names []string) []string{
	"URLs": func(_ *testing.T, dir string, names []string) []string { return each(dir, names) },
	"together": func(_ *testing.T, dir string, names []string) []string {
		return append(each(dir, names), "-j2", dir+"ok")
	},
	"-i": func(t *testing.T, dir string, names []string) []string {
		return []string{"-i", written(t, strings.Join(each(dir, names), "\n"))}
	},
	"--manifest": func(t *testing.T, dir string, names []string) []string {
		rows := "url\tpath\n"
		for _, name := range names {
			rows += dir + name + "\t" + name + "\n"
		}
		return []string{"--manifest", written(t, rows)}
	},
	"tree": func(_ *testing.T, dir string, _ []string) []string { return []string{"-r", "-d", ".", dir} },
	"glob": func(_ *testing.T, dir string, _ []string) []string { return []string{"--glob", dir + "*"} },
}

func each(dir string, names []string) (urls []string) {
	for _, name := range names {
		urls = append(urls, dir+name)
	}
	return urls
}

// written writes a list, outside the current directory.
func written(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "list")
	writeFile(t, path, text)
	return path
}

// local returns the files in the current directory, without the ledger.
func local() map[string]string {
	files := map[string]string{}
	entries, _ := os.ReadDir(".")
	for _, e := range entries {
		if text, err := os.ReadFile(e.Name()); err == nil && e.Name() != ".ftpfetch-ledger" {
			files[e.Name()] = string(text)
		}
	}
	return files
}

// TestOwnNames checks that no source of names saves a file under a name that this program gives its own files, and that
// such a run fails.
func TestOwnNames(t *testing.T) {
	names := []string{
		"x.ftpfetch.json", "X.Ftpfetch.JSON", "x.ftpfetch.json~", ".ftpfetch.json", ".ftpfetch-ledger" + "-1-of-2", ".ftpfetch-ledger" + ".evil",
		".FTPFETCH-ledger", "x.ftpfetch.part", "x.ftpfetch.bad", "x~0123456789ABCDEF.ftpfetch.part",
	}
	cases := 0
	for _, name := range names {
		s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/d/" + name: "evil", "/d/ok": "ok"}})
		all := maps.Clone(sources)
		all["-o"] = func(_ *testing.T, dir string, names []string) []string { return []string{"-o", names[0], dir + "ok"} }
		all["--report"] = func(_ *testing.T, dir string, names []string) []string {
			return []string{"-r", "--report", names[0], dir}
		}
		for what, source := range all {
			if cases++; cases%night.Or(4, 1) != 0 {
				continue
			}
			t.Chdir(t.TempDir())
			args := source(t, s.URL("/d/"), []string{name})
			code, _, stderr := run(t, args...)
			got := local()
			delete(got, "ok")
			if code == 0 || !strings.Contains(stderr, "its own files") || len(got) != 0 {
				t.Errorf("%s, %s: code %d, files %q, %s", name, what, code, got, stderr)
			}
		}
	}
	t.Logf("%d cases", cases)
}

// TestNamesMeet fetches files whose names are those of one another's parts, from every source, in both orders, with every
// flag about existing files, twice.
func TestNamesMeet(t *testing.T) {
	tree := map[string]string{"x": "the text of x", "x.part": "the t", "x.bad": "bad", "x.part.part": "", "ok": "ok"}
	served := map[string]string{}
	for name, text := range tree {
		served["/d/"+name] = text
	}
	s := testserver.New(t, &testserver.Options{Tree: served})
	names := slices.Sorted(maps.Keys(tree))
	cases, asked := 0, 0
	for what, source := range sources {
		for _, flag := range []string{"-c", "--overwrite", "-N", "--no-clobber", "--retries=0"} {
			if asked++; asked%night.Or(4, 1) != 0 {
				continue
			}
			t.Chdir(t.TempDir())
			for range 2 {
				for range 2 {
					cases++
					args := append(source(t, s.URL("/d/"), names), flag)
					code, _, stderr := run(t, args...)
					if code != 0 && flag != "--retries=0" || !maps.Equal(local(), tree) {
						t.Errorf("%s %s: code %d, files %q\n%s", what, flag, code, local(), stderr)
					}
				}
				slices.Reverse(names)
				t.Chdir(t.TempDir())
			}
		}
	}
	t.Logf("%d cases", cases)
}

// TestReportPlace fetches a file to the place of the report, which fails that file alone. A report never replaces a file that
// was fetched.
func TestReportPlace(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/d/a": "contents", "/d/sub/b": "b"}})
	for _, args := range [][]string{{"-j2", s.URL("/d/a"), s.URL("/d/sub/b")}, {"-i", written(t, s.URL("/d/a")+"\n")}, {"-r", "-d.", s.URL("/d/")}} {
		for _, fetched := range []bool{false, true} {
			t.Chdir(t.TempDir())
			if fetched {
				must.Do(t, os.WriteFile("a", []byte("contents"), 0o666))
			}
			code, _, stderr := run(t, append(args, "--report", "a")...)
			told := fetched || args[0] == "-r" || strings.Contains(stderr, "a: is the place of the report: write another name for --report")
			if text := string(must.Get(os.ReadFile("a"))(t)); code == 0 || (text == "contents") != fetched || !told {
				t.Errorf("%q, fetched before %t: code %d, %s, %q", args, fetched, code, stderr, text)
			}
		}
	}
}

//go:build interop

package interop

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
)

// hostileNames are names that could confuse a shell, a listing, a local file system or the command's own files.
var hostileNames = []string{
	" lead", "  two", "trail ", "in  ner", "-rf", "--help", "-", "*", "?", "[", "[a-z]*", "{a,b}", `"`, `""`, `a"b`, "'", "`id`", "$(id)",
	"\\", backslashName, "\u00fcn\u00efcode \u2603", "e\u0301", "\u202ertl", latin1Name, "\xff\xfe", "\xc3", "tab\there", "esc\x1b[31m", "bell\a", "\x7f",
	"...", "....", ".. ", "..a", ".hidden", "~", "~root", "#", "%", "%2F", "%00", "&", ";", "a;type=d", "=", "a=b;c", "size=5; x", "a -> b",
	"Jan  1 00:00 x", "total 5", "drwxr-xr-x", "f", "f.part", "f.bad", "f.part.json", "f.ftpfetch", "ftpfetch-ledger", "CON", "nul.txt", "a:b", "a|b", "<>",
	"x.", "@", "@eaDir", "file.TMP", ".part", ".bad", strings.Repeat("n", 255), strings.Repeat("n", 250) + ".part", strings.Repeat("\u2603", 85),
}

// unserved reports whether a server omits a name from its listings, or cannot retrieve it.
func unserved(kind Kind, name string) bool {
	control := strings.ContainsFunc(name, func(r rune) bool { return r < 0x20 || r == 0x7f })
	switch kind {
	case PureFTPd: // anonymous users may not read names that begin with a dot
		return control || strings.Contains(name, "\\") || name[0] == '.'
	case Proftpd:
		return name == "\xff\xfe"
	}
	return false
}

// mirror is a tree on a server and a copy of it.
type mirror struct {
	*testing.T
	server         *Server
	source, binary string
	dir            string            // the copy is in dir/out
	planted        map[string]string // below source: name -> text, or directory
	files          int               // number of planted files
}

// directory marks a directory among the texts of files.
const directory = "\x00directory"

func newMirror(t *testing.T, kind Kind, binary string) *mirror {
	dir := must.Get(publicTempDir("ftpfetch-interop-mirror-"))(t)
	t.Cleanup(func() { os.RemoveAll(dir) })
	m := &mirror{T: t, binary: binary, dir: t.TempDir(), source: filepath.Join(dir, "public"), planted: map[string]string{}}
	must.Do(t, makePublicDir(m.source))
	m.server = New(t, kind, &Tree{Public: m.source, Home: m.source}, Options{})
	return m
}

// plant creates a file, and the directories above it.
func (m *mirror) plant(path, text string) {
	m.Helper()
	must.Do(m, writeFile(m.source+"/"+path, text))
	if _, ok := m.planted[path]; !ok {
		m.files++
	}
	m.planted[path] = text
	if dir := filepath.Dir(path); m.planted[dir] == "" && dir != "." {
		m.plantDir(dir)
	}
}

func (m *mirror) plantDir(path string) {
	m.Helper()
	must.Do(m, makePublicDir(m.source+"/"+path))
	for dir := path; dir != "."; dir = filepath.Dir(dir) {
		m.planted[dir] = directory
	}
}

// run runs the command on the tree.
func (m *mirror) run(flags ...string) (code int, stderr string) {
	m.Helper()
	cmd := exec.CommandContext(testContext(m.T), m.binary, append([]string{"-r", "-d", "out", m.server.URL("/")}, flags...)...)
	var text strings.Builder
	cmd.Dir, cmd.Stdout, cmd.Stderr = m.dir, &text, &text // the total of -I goes to standard output
	_ = cmd.Run()                                         // the exit code is checked instead
	return cmd.ProcessState.ExitCode(), text.String()
}

// wants runs the command and compares the exit code and the last line. place matches the directory of the files in that
// line.
var place = regexp.MustCompile(`complete in [^ ,:]*`)

func (m *mirror) wants(code int, last string, flags ...string) (stderr string) {
	m.Helper()
	got, stderr := m.run(flags...)
	if end := place.ReplaceAllString(lastLine(stderr), "complete"); got != code || !strings.HasPrefix(end, last) {
		m.Errorf("%q: exit %d, %q, want %d and %q\n%s", flags, got, end, code, last, beginning(stderr))
	}
	return stderr
}

// beginning returns at most the first 2,000 bytes of a text.
func beginning(text string) string { return text[:min(len(text), 2000)] }

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
	return lines[len(lines)-1]
}

// same compares the copy with planted, byte for byte.
func (m *mirror) same(planted map[string]string) {
	m.Helper()
	got := map[string]string{}
	out := filepath.Join(m.dir, "out")
	err := filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		below, _ := filepath.Rel(out, path)
		if err != nil || below == "." || below == ".ftpfetch-ledger" {
			return err
		}
		if d.IsDir() {
			got[below] = directory
			return nil
		}
		text, err := os.ReadFile(path)
		got[below] = string(text)
		return err
	})
	if err != nil {
		m.Fatal(err)
	}
	for path := range maps.Keys(merge(got, planted)) {
		is, ok := got[path]
		want, wanted := planted[path]
		if ok != wanted || is != want {
			m.Errorf("%q: there %v, wanted %v, %s, want %s", path, ok, wanted, digest(is), digest(want))
		}
	}
}

func forEachMirror(t *testing.T, test func(m *mirror)) {
	t.Helper()
	t.Parallel()
	binary := build(t)
	for _, kind := range []Kind{Vsftpd, Proftpd, PureFTPd} {
		t.Run(string(kind), func(t *testing.T) {
			t.Parallel()
			test(newMirror(t, kind, binary))
		})
	}
}

// TestMirror mirrors a tree of many entries with hostile names. A second run must fetch nothing. With -N, a third must
// fetch what has changed in size, in time or in both, even if the ledger has the file.
func TestMirror(t *testing.T) {
	forEachMirror(t, func(m *mirror) {
		for i, name := range hostileNames {
			if unserved(m.server.Kind, name) {
				continue
			}
			m.plant("names/"+name, strings.Repeat("x", i))
			m.plant("dirs/"+name+"/"+name, "inside "+name)
			m.plantDir("empty/" + name)
		}
		deep := strings.Repeat("deep/", 50)
		m.plant(deep+"file", "fifty levels down")
		m.plant("same size", "old")
		m.plant("same time", "old")
		for i := 0; len(m.planted) < night.Or(450, 5000); i++ {
			m.plant(fmt.Sprintf("many/%d/%d", i%50, i), fmt.Sprint(i))
		}
		n := m.files
		m.wants(0, fmt.Sprintf("%d of %d complete: ", n, n))
		m.same(m.planted)
		before := fmt.Sprintf("%d of %d complete, %d already there", n, n, n)
		m.wants(0, before)
		m.wants(0, before, "-N")
		must.Do(m, os.Remove(filepath.Join(m.dir, "out/.ftpfetch-ledger")))
		m.wants(0, before, "-N")
		for path, text := range map[string]string{deep + "file": "changed", "same size": "new", "same time": "newer"} {
			m.plant(path, text)
			if path == "same time" {
				continue
			}
			must.Do(m, os.Chtimes(m.source+"/"+path, time.Time{}, modTime.Add(time.Hour)))
		}
		m.wants(0, fmt.Sprintf("%d of %d complete, %d already there: 15 B in ", n, n, n-3), "-N")
		m.same(m.planted)
	})
}

// TestMirrorImpossible checks that the run reports what cannot be listed or saved and fails, and that everything else
// is fetched.
func TestMirrorImpossible(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"a\nb", "a\rb", "g.ftpfetch.json", ".ftpfetch-ledger", ".ftpfetch-ledger-1-of-2"} {
		t.Run(fmt.Sprintf("%q", name), func(t *testing.T) {
			forEachMirror(t, func(m *mirror) {
				m.plant("plain", "text")
				planted := maps.Clone(m.planted)
				m.plant(name, "bad")
				if m.server.Kind == PureFTPd && strings.ContainsAny(name, "\r\n") {
					return // the server's listings omit such names
				}
				code, stderr := m.run()
				if code == 0 || !strings.Contains(stderr, "ftpfetch: "+m.server.URL("/")) {
					m.Errorf("exit %d, %q", code, stderr)
				}
				m.same(planted)
			})
		})
	}
}

// TestMirrorDeletes checks that exactly those files are deleted that the server no longer has, whatever their names.
func TestMirrorDeletes(t *testing.T) {
	forEachMirror(t, func(m *mirror) {
		for _, name := range hostileNames {
			if !unserved(m.server.Kind, name) {
				m.plant("d/"+name, name)
			}
		}
		m.plant("gone/sub/x", "x")
		m.plant("kept", "x")
		m.wants(0, fmt.Sprintf("%d of %[1]d complete", m.files), "-N")
		lost := 1
		for i, path := range slices.Sorted(maps.Keys(m.planted)) {
			if gone := strings.HasPrefix(path, "gone"); gone || m.planted[path] != directory && i%2 == 0 && path != "kept" {
				must.Do(m, os.RemoveAll(m.source+"/"+path))
				delete(m.planted, path)
				lost += map[bool]int{false: 1}[gone]
			}
		}
		if code, told := m.run("-N", "--delete"); code != 0 || !strings.Contains(told, fmt.Sprintf(", %d deleted", lost)) {
			m.Errorf("exit %d, %s", code, told)
		}
		m.same(m.planted)
	})
}

// TestMirrorTold checks the total of a tree that is only listed, and which files patterns in each segment select from
// it.
func TestMirrorTold(t *testing.T) {
	forEachMirror(t, func(m *mirror) {
		m.plant("2023/a.gz", "aa")
		m.plant("2024/a.gz", "aaa")
		m.plant("2024/b.txt", "bbbb")
		for flags, want := range map[string]string{"-I": "9\t3 files\ttotal", "-I --accept *.gz": "5\t2 files\ttotal", "-I --glob URL/2024/*": "16\t5 files\ttotal"} {
			if code, stderr := m.run(strings.Fields(strings.ReplaceAll(flags, "URL", m.server.URL("")))...); code != 0 || !strings.Contains(stderr, want) {
				m.Errorf("%s: exit %d, %s, want %s", flags, code, stderr, want)
			}
		}
		if code, stderr := m.run("--glob", m.server.URL("/*/a.gz")); code != 0 || !strings.HasPrefix(stderr, "3 of 3 complete") {
			m.Errorf("a pattern: exit %d, %s", code, stderr)
		}
	})
}

// TestMirrorDenied checks that directories that may not be listed make the run fail, whatever their names and those of
// their parents, and that everything beside them is fetched.
func TestMirrorDenied(t *testing.T) {
	forEachMirror(t, func(m *mirror) {
		m.plant("a/file", "a")
		m.plant("z/file", "z")
		var shut []string
		for _, name := range []string{"denied", "empty", "no files", "No files found.", "no such file", "No such file or directory", "too many connections", "TLS required"} {
			shut = append(shut, "itself/"+name, "above/"+name+"/in", "beside/"+name+" and/"+name)
		}
		for _, dir := range shut {
			m.plantDir(filepath.Dir(dir))
		}
		planted := maps.Clone(m.planted)
		for _, dir := range shut {
			m.plant(dir+"/file", "secret")
			if err := os.Chmod(m.source+"/"+dir, 0o711); err != nil { // CWD can still enter it
				m.Fatal(err)
			}
		}
		code, stderr := m.run("-v") // -v names all of them
		for i, dir := range shut {
			url := m.server.URL("/" + strings.ReplaceAll(dir, " ", "%20") + "/")
			if code == 0 || !strings.Contains(stderr, url) {
				m.Errorf("%s: exit %d, %q", dir, code, stderr)
			}
			for j, args := range [][]string{{"-l", url}, {url}, {strings.TrimSuffix(url, "/") + ";type=d"}} { // NLST for the last two
				if (i+i/3+j)%night.Or(3, 1) != 0 { // by day, one of them for each directory
					continue
				}
				out, err := exec.CommandContext(testContext(m.T), m.binary, args...).CombinedOutput()
				if err == nil || strings.Contains(string(out), "ftpes://") || strings.Contains(string(out), "too many connections for") {
					m.Errorf("%s: %v, %s", args, err, out)
				}
			}
		}
		m.same(planted)
	})
}

// TestOnePort lists a directory on a vsftpd that has one port for data and allows one connection. The server has no
// MLSD, and the next listing would use the same port.
func TestOnePort(t *testing.T) {
	t.Parallel()
	s, ctx := New(t, Vsftpd, tree, Options{OnePort: true}), testContext(t)
	for range 5 {
		c := &ftpexec.Client{}
		_, err := list(ctx, c, s.URL("/pub/"))
		for err != nil && ctx.Err() == nil { // the server still counts another connection
			_, err = list(ctx, c, s.URL("/pub/"))
		}
		entries, lines, err := entriesOf(ctx, c, s.URL("/pub/"))
		if err != nil || len(lines) > 0 || entries["text.txt"].Size <= 0 {
			t.Errorf("%v, %v, %v", entries, lines, err)
		}
		c.CloseIdleConnections()
	}
}

// TestMirrorLinks checks that symbolic links are reported, and followed only within the tree.
func TestMirrorLinks(t *testing.T) {
	forEachMirror(t, func(m *mirror) {
		m.plant("dir/file", "text")
		m.plantDir("links")
		for name, target := range map[string]string{
			"to-file": "../dir/file", "to-dir": "../dir", "dangling": "nowhere", "itself": "itself", "out": "../../secret", "up": "..", "here": ".",
		} {
			must.Do(m, os.Symlink(target, m.source+"/links/"+name))
		}
		must.Do(m, writeFile(filepath.Join(filepath.Dir(m.source), "secret"), "outside"))
		links := 7
		if m.server.Kind == Proftpd {
			links = 4 // its MLSD omits links to nothing
		}
		m.wants(0, fmt.Sprintf("1 of 1 complete, %d links not followed", links))
		m.same(m.planted)
		if m.server.Kind == Proftpd { // its MLSD does not tell the targets of links
			m.wants(0, "1 of 1 complete, 1 already there, 4 links not followed", "--follow-links")
			return
		}
		m.wants(0, "3 of 3 complete, 1 already there, 5 links not followed", "--follow-links")
		m.planted["links/to-file"], m.planted["links/to-dir/file"], m.planted["links/to-dir"] = "text", "text", directory
		m.same(m.planted)
	})
}

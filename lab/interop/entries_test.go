//go:build interop

package interop

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/ftpfs"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/urlparse"
)

// planted are the entries of the directory that TestEntries lists, with what describe says about them.
var planted = map[string]string{
	"dir": "dir", ".hidden dir": "dir", "-d": "dir", "dir with  spaces ": "dir",
	"link": "link to plain", "dangling": "link to no where", "dirlink": "link to dir", "arrow -> link": "link to plain",
}

func init() {
	for i, name := range []string{"none", "plain", ".hidden", " lead", "  two", "trail ", "in  ner", "-x", "-a", "semi;colon; x",
		"a -> b", "Jan  2 15:04 x", "type=file; n", "tab\there", "bell\a", "\u00fcn\u00efcode \u2603", latin1Name, backslashName,
		`"quoted"`, "100%", "*", "total 5"} {
		planted[name] = fmt.Sprintf("file of %d", i)
	}
}

// told has, for each server, the entries that its listing describes differently from planted. "" means that the listing
// omits the entry.
var told = map[Kind]map[string]string{
	// MLSD says type=OS.unix=symlink without the target.
	Proftpd: {"link": "link to ", "dirlink": "link to ", "arrow -> link": "link to ", "dangling": ""},
	// Names with control characters are left out.
	PureFTPd: {"tab\there": "", "bell\a": ""},
	// MLSD follows links.
	Globus: {"link": "file of 1", "dirlink": "dir", "arrow -> link": "file of 1", "dangling": ""},
	// A link is a file as long as the name of its target.
	Library: {"link": "file of 5", "dirlink": "file of 3", "arrow -> link": "file of 5", "dangling": "file of 8"},
	// MLSD follows links, and names are UTF-8.
	Pyftpdlib: {"link": "file of 1", "dirlink": "dir", "arrow -> link": "file of 1", "dangling": "", latin1Name: "", "caf?": "file of 16"},
}

// nameAlone is what describe says about an entry of which only the name is known.
const nameAlone = "?---------"

// wanted returns what the server lists.
func (s *Server) wanted() map[string]string {
	want := maps.Clone(planted)
	if s.Kind == Netkit { // LIST runs an ls that does not exist, so there are only names
		for name := range want {
			want[name] = nameAlone
		}
	}
	maps.Copy(want, told[s.Kind])
	maps.DeleteFunc(want, func(_, what string) bool { return what == "" })
	return want
}

// plantEntries returns a tree with the entries in /entries, and directories with one file or none that may be read.
func plantEntries(t *testing.T) *Tree {
	t.Helper()
	tree := plantTree(t, map[string]string{"dash/-a": "x", "hidden/.only": "x", "denied/x": "x"})
	below := func(path string) string { return filepath.Join(tree.Public, path) }
	err := errors.Join(os.Remove(below("denied/x")), os.Chmod(below("denied"), 0o711), makePublicDir(below("entries")))
	for name, what := range planted {
		if err == nil {
			err = makeEntry(below("entries")+"/"+name, what)
		}
	}
	must.Do(t, err)
	return tree
}

// makeEntry creates the entry for which describe returns what.
func makeEntry(path, what string) error {
	if target, ok := strings.CutPrefix(what, "link to "); ok {
		return os.Symlink(target, path)
	}
	if what == "dir" {
		return makePublicDir(path)
	}
	size, err := strconv.Atoi(strings.TrimPrefix(what, "file of "))
	return errors.Join(err, writeFile(path, strings.Repeat("x", size)))
}

// describe says what an entry is.
func describe(e ftpexec.Entry) string {
	switch e.Mode.Type() {
	case 0:
		return fmt.Sprintf("file of %d", e.Size)
	case fs.ModeDir:
		return "dir"
	case fs.ModeSymlink:
		return "link to " + e.Target
	}
	return e.Mode.Type().String()
}

// entriesOf returns the entries by name, and the errors for lines that cannot be read.
func entriesOf(ctx context.Context, c *ftpexec.Client, url string) (map[string]ftpexec.Entry, []error, error) {
	u, err := urlparse.Parse(url)
	if err != nil {
		return nil, nil, err
	}
	entries, lines := map[string]ftpexec.Entry{}, []error(nil)
	for e, err := range c.Entries(ctx, u) {
		switch {
		case errors.Is(err, ftpexec.ErrLine):
			lines = append(lines, err)
		case err != nil:
			return entries, lines, err
		default:
			if _, twice := entries[path.Base(e.Name)]; twice {
				return entries, lines, fmt.Errorf("%q twice", path.Base(e.Name))
			}
			entries[path.Base(e.Name)] = e
		}
	}
	return entries, lines, nil
}

func TestEntries(t *testing.T) {
	forEachOn(t, plantEntries(t), func(t *testing.T, s *Server) { bothWays(t, s, testEntries) })
}

func testEntries(t *testing.T, s *Server, c *ftpexec.Client) {
	tests := []struct {
		path string
		want map[string]string
	}{
		{"/entries/", s.wanted()},
		{"/entries;type=d", s.wanted()},
		{"/dash/", map[string]string{"-a": "file of 1"}},
		{"/hidden/", map[string]string{".only": "file of 1"}},
		{"/pub/empty/", map[string]string{}},
		{"/pub/a/b/", map[string]string{"c": "dir"}},
	}
	if s.flavour.breaksOff {
		tests = tests[2:]
	}
	for _, test := range tests {
		entries, lines, err := entriesOf(testContext(t), c, s.URL(test.path))
		if err != nil || len(lines) > 0 {
			t.Errorf("%s: %v, lines not understood: %v", test.path, err, lines)
		}
		got := map[string]string{}
		for name, e := range entries {
			got[name] = describe(e)
			if s.Kind == Netkit && got[name] == nameAlone && test.want[name] != "" {
				test.want[name] = nameAlone
			}
			if isLink := strings.HasPrefix(planted[name], "link"); planted[name] != "" && e.Mode.IsRegular() && !isLink {
				checkTime(t, e)
			}
		}
		for name := range maps.Keys(merge(got, test.want)) {
			if got[name] != test.want[name] {
				t.Errorf("%s: %q is %q, want %q", test.path, name, got[name], test.want[name])
			}
		}
	}
	for _, path := range []string{"/denied/", "/absent/", "/absent;type=d", "/pub/text.txt/"} {
		entries, lines, err := entriesOf(testContext(t), c, s.URL(path))
		if root := path == "/denied/" && slices.Contains([]Kind{Pyftpdlib, Twisted, Aioftp, Library, Netkit}, s.Kind); !root && err == nil && len(lines) == 0 { // it may read everything, or calls it empty
			t.Errorf("%s: got %v and no error", path, entries)
		}
	}
}

func merge(a, b map[string]string) map[string]string {
	both := maps.Clone(a)
	maps.Copy(both, b)
	return both
}

// checkTime checks that an entry has the time of every file. The server's zone may be any.
func checkTime(t *testing.T, e ftpexec.Entry) {
	t.Helper()
	tolerance := time.Duration(0)
	if e.Local {
		tolerance = 14 * time.Hour
	}
	if early := modTime.Sub(e.ModTime); early < -tolerance || early >= e.Precision+tolerance {
		t.Errorf("%q: got %v, want %v within %v", e.Name, e.ModTime, modTime, e.Precision)
	}
}

// list returns the last components of the names listed, sorted.
func list(ctx context.Context, c *ftpexec.Client, url string) ([]string, error) {
	u, err := urlparse.Parse(url)
	if err != nil {
		return nil, err
	}
	var names []string
	for e, err := range c.List(ctx, u) {
		if err != nil {
			return names, err
		}
		names = append(names, path.Base(e.Name))
	}
	slices.Sort(names)
	return names, nil
}

// TestList lists directories. No server may make a missing directory look like an empty one.
func TestList(t *testing.T) {
	pub := []string{"a", "big.bin", "empty", "fs", "none.bin", "odd", "odd-dirs", "text.txt"}
	tests := []struct {
		path string
		want []string
		err  error
	}{
		{"", []string{"pub"}, nil},
		{"/pub/a;type=d", []string{"b"}, nil},
		{"/pub/a/b/c/", []string{"file.txt"}, nil},
		{"/pub/", pub, nil},
		{"/pub;type=d", pub, nil},
		{"/%2Fpub%2Fa;type=d", []string{"b"}, nil},
		{"/pub/empty/", nil, nil},
		{"/pub/empty;type=d", nil, nil},
		{"/pub/absent/", nil, ftpexec.ErrRefused},
		{"/pub/absent/absent;type=d", nil, ftpexec.ErrRefused},
		{"/pub/absent;type=d", nil, ftpexec.ErrNotFound},
		{"/absent%2Fabsent;type=d", nil, ftpexec.ErrNotFound},
	}
	forEachClient(t, func(t *testing.T, s *Server, c *ftpexec.Client) {
		for _, test := range tests {
			got, err := list(testContext(t), c, s.URL(test.path))
			if s.Kind == Aioftp && test.err != nil && errors.Is(err, ftpexec.ErrRefused) {
				continue // the server has no NLST, so CWD finds that out
			}
			if !errors.Is(err, test.err) || err == nil && !slices.Equal(got, test.want) {
				t.Errorf("%s: got %q and %v, want %q and %v", test.path, got, err, test.want, test.err)
			}
		}
	})
}

// TestStatAll checks that StatAll returns the size and time of the files of the tree, and continues after missing files
// and directories.
func TestStatAll(t *testing.T) {
	forEach(t, false, func(f flavour) bool { return !f.noFacts }, func(t *testing.T, s *Server) {
		bothWays(t, s, testStatAll)
	})
}

func testStatAll(t *testing.T, s *Server, c *ftpexec.Client) {
	flights, trace := 0, *c.Trace
	c.Trace = &trace
	shown := trace.Command
	trace.Command = func(e ftpexec.CommandInfo) {
		if !e.Joined {
			flights++
		}
		shown(e)
	}
	var urls []*urlparse.URL
	var want []string // a path, "" for a missing file or directory
	for _, file := range slices.Sorted(maps.Keys(tree.Files)) {
		if strings.ContainsFunc(file, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' }) {
			continue
		}
		for _, path := range []string{urlPath(file), "/pub/absent/file", "/pub/absent.txt"} {
			urls = append(urls, parse(t, s.URL(path)))
		}
		want = append(want, file, "", "")
	}
	next := 0
	for info, err := range c.StatAll(testContext(t), urls) {
		file := want[next]
		switch size := int64(len(tree.Files[file])); {
		case file == "" && !errors.Is(err, ftpexec.ErrNotFound) && !errors.Is(err, ftpexec.ErrRefused),
			file != "" && (err != nil || info.Size != size || !info.ModTime.Equal(modTime)):
			t.Errorf("%s: got %+v, %v", urls[next], info, err)
		}
		next++
	}
	if most := 4 + len(urls)*8/64; next != len(urls) || !c.NoPipelining && flights > most {
		t.Errorf("%d answers for %d URLs, %d flights, want at most %d", next, len(urls), flights, most)
	}
}

// TestFS checks that every server's files form a file system by the rules of io/fs.
func TestFS(t *testing.T) {
	forEachClient(t, func(t *testing.T, s *Server, c *ftpexec.Client) {
		t.Cleanup(c.CloseIdleConnections)
		d := must.Get(ftpfs.Open(testContext(t), c, s.URL("/pub/fs/")))(t)
		err := fstest.TestFS(d, append(slices.Clone(fsNames), "none")...)
		if seeks := !s.flavour.noRest; seeks != (err == nil) || !seeks && !strings.Contains(err.Error(), ftpexec.ErrNoRestart.Error()) {
			t.Errorf("seeks %v: got %v", seeks, err)
		}
	})
}

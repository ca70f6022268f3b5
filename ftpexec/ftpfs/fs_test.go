package ftpfs_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"go.uber.org/goleak"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/ftpfs"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// fsTree is what most tests of FS serve.
var fsTree = map[string]string{
	"/pub/motd": "hello\n", "/pub/empty": "", "/pub/.hidden": "x", "/pub/a b": "spaces", "/pub/grün": "ü",
	"/pub/src/main.go": "package main\n", "/pub/src/deep/er/f": strings.Repeat("0123456789", 30), "/pub/none/": "",
}

// unknown returns a Fault that answers commands with 502.
func unknown(verbs ...string) func(*testserver.Conn) testserver.Action {
	return func(p *testserver.Conn) testserver.Action {
		if slices.Contains(verbs, p.Verb) {
			return testserver.Reply("502 Command not implemented.")
		}
		return nil
	}
}

// openFS returns the directory at path on s as a file system.
func openFS(t *testing.T, c *ftpexec.Client, url string) *ftpfs.FS {
	t.Helper()
	t.Cleanup(c.CloseIdleConnections)
	return must.Get(ftpfs.Open(t.Context(), c, url))(t)
}

// The FS keeps the rules of io/fs, whichever commands show what is in a directory.
func TestFS(t *testing.T) {
	for _, tt := range []struct {
		name, path string
		without    []string
	}{
		{"MLSD and MLST", "/pub/", nil},
		{"MLSD alone", "/pub/", []string{"MLST"}},
		{"LIST", "/pub;type=d", []string{"MLSD", "MLST"}},
		{"nothing but LIST", "/pub/", []string{"MLSD", "MLST", "SIZE", "MDTM"}},
		{"NLST", "/pub/", []string{"MLSD", "MLST", "LIST"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := testserver.New(t, &testserver.Options{Tree: fsTree, Fault: unknown(tt.without...)})
			must.Do(t, fstest.TestFS(openFS(t, new(ftpexec.Client), s.URL(tt.path)), "motd", "empty", ".hidden", "a b", "grün", "none", "src/main.go", "src/deep/er/f"))
		})
	}
}

// mlst replies to MLST with facts.
func mlst(facts string) testserver.Action {
	return testserver.Reply("250-Here\r\n " + facts + "; /n\r\n250 End")
}

// What Stat says about a name, and how many flights that takes on an open connection.
func TestFSStat(t *testing.T) {
	on := func(verb, reply string) testserver.Step { return testserver.On(verb, testserver.Reply(reply)) }
	noDir, noMLST := on("CWD n", "550 no"), on("MLST", "500 unknown")
	neither := on("SIZE", "550 no").With("MDTM", testserver.Reply("550 no"))
	told := func(facts string) testserver.Step { return testserver.On("MLST", mlst(facts)) }
	listing := func(line string) []testserver.Step { // only LIST says what n is
		return []testserver.Step{noMLST, noDir, on("SIZE", "500 unknown"), on("MDTM", "500 unknown"), on("MLSD", "500 unknown"), testserver.On("LIST", testserver.Transfer(line))}
	}
	const asked, askedDir = "-r--r--r-- 8 2020-01-02 03:04:05 n", "dr-xr-xr-x 0 2020-01-02 03:04:05 n/"
	for _, tt := range []struct {
		name    string
		steps   []testserver.Step
		want    string
		err     error
		flights int // including those that show what the server does not know
	}{
		{"MLST of a file", []testserver.Step{told("type=file;size=7;modify=20260102030405")}, "-r--r--r-- 7 2026-01-02 03:04:05 n", nil, 1},
		{"MLST of a directory with a size", []testserver.Step{told("Type=dir;Size=4096;Modify=20260102030405")}, "dr-xr-xr-x 0 2026-01-02 03:04:05 n/", nil, 1},
		{"MLST without a time", []testserver.Step{told("type=file;size=7")}, "-r--r--r-- 7 0001-01-01 00:00:00 n", nil, 1},
		{"MLST of nothing", []testserver.Step{on("MLST", "550 no")}, "", fs.ErrNotExist, 1},
		{"MLST denied", []testserver.Step{on("MLST", "550 Permission denied")}, "", fs.ErrPermission, 1},
		{"MLST of a link to a file", []testserver.Step{told("type=OS.unix=symlink;size=3"), noDir}, asked, nil, 2},
		{"MLST of a link to a directory", []testserver.Step{told("type=OS.unix=slink:/x;size=3")}, askedDir, nil, 2},
		{"MLST without type", []testserver.Step{told("size=3"), noDir}, asked, nil, 2},
		{"MLST out of order", []testserver.Step{on("MLST", "250 fine"), noDir}, asked, nil, 2},
		{"SIZE of a file", []testserver.Step{noMLST, noDir}, asked, nil, 2},
		{"SIZE of a directory", []testserver.Step{noMLST}, askedDir, nil, 2},
		{"a directory that has neither", []testserver.Step{noMLST, neither}, "dr-xr-xr-x 0 0001-01-01 00:00:00 n/", nil, 2},
		{"nothing", []testserver.Step{noMLST, neither, noDir}, "", fs.ErrNotExist, 2},
		{"a closed directory", []testserver.Step{noMLST, neither, on("CWD n", "550 Permission denied")}, "", fs.ErrPermission, 2},
		{"only the listing knows it", listing("-rw-r--r-- 1 u g 12 Jan  2  2020 n\r\n"), "-r--r--r-- 12 2020-01-02 00:00:00 n", nil, 5},
		{"the listing does not know it", listing("-rw-r--r-- 1 u g 12 Jan  2  2020 m\r\n"), "", fs.ErrNotExist, 5},
		{"the listing has a link that leads nowhere", listing("lrwxrwxrwx 1 u g 1 Jan  2  2020 n -> m\r\n"), "", fs.ErrNotExist, 5},
	} {
		s := testserver.New(t, nil, append([]testserver.Step{testserver.Honest("contents"), noMLST}, tt.steps...)...)
		d := openFS(t, new(ftpexec.Client), s.URL("/d/"))
		must.Get(d.ReadFile("warm"))(t)
		s.ResetCommands()
		info, err := d.Stat("n")
		switch pe := (*fs.PathError)(nil); {
		case err == nil && tt.err == nil:
			if got := fs.FormatFileInfo(info); got != tt.want {
				t.Errorf("%s: got %q, want %q", tt.name, got, tt.want)
			}
		case !errors.Is(err, tt.err) || !errors.As(err, &pe) || pe.Op != "stat" || pe.Path != "n" || tt.flights < 5 && !errors.As(err, new(*ftpexec.Error)):
			t.Errorf("%s: got %v, want a PathError that is %v and wraps an Error of the server", tt.name, err, tt.err)
		}
		if got := len(s.Flights()); got != tt.flights {
			t.Errorf("%s: %d flights, want %d: %v", tt.name, got, tt.flights, s.Flights())
		}
		if got, err := d.ReadFile("warm"); err != nil || string(got) != "contents" || s.Connections() > 1 { // the connection is where it was
			t.Errorf("%s: afterwards: got %q, %v, %d connections", tt.name, got, err, s.Connections())
		}
	}
}

// Every error is a PathError, and is what io/fs asks for.
func TestFSErrors(t *testing.T) {
	for _, without := range [][]string{nil, {"MLST", "MLSD"}} {
		s := testserver.New(t, &testserver.Options{Tree: fsTree, Fault: unknown(without...)})
		d := openFS(t, new(ftpexec.Client), s.URL("/pub/"))
		file, shut, dir := open(t, d, "motd"), open(t, d, "motd"), open(t, d, "src")
		shut.Close()
		for _, tt := range []struct {
			op, name string
			do       func() error
			want     error
		}{
			{"open", "missing", func() error { _, err := d.Open("missing"); return err }, fs.ErrNotExist},
			{"open", "missing/f", func() error { _, err := d.Open("missing/f"); return err }, fs.ErrNotExist},
			{"open", "../f", func() error { _, err := d.Open("../f"); return err }, fs.ErrInvalid},
			{"open", "/motd", func() error { _, err := d.Open("/motd"); return err }, fs.ErrInvalid},
			{"open", "a\nb", func() error { _, err := d.Open("a\nb"); return err }, fs.ErrInvalid},
			{"stat", "missing", func() error { _, err := d.Stat("missing"); return err }, fs.ErrNotExist},
			{"lstat", "missing", func() error { _, err := d.Lstat("missing"); return err }, fs.ErrNotExist},
			{"readlink", "motd", func() error { _, err := d.ReadLink("motd"); return err }, fs.ErrInvalid},
			{"readdir", "missing", func() error { _, err := d.ReadDir("missing"); return err }, fs.ErrNotExist},
			{"readdir", "motd", func() error { _, err := d.ReadDir("motd"); return err }, syscall.ENOTDIR},
			{"readdir", "", func() error { _, err := d.ReadDir(""); return err }, fs.ErrInvalid},
			{"read", "missing", func() error { _, err := d.ReadFile("missing"); return err }, fs.ErrNotExist},
			{"read", ".", func() error { _, err := d.ReadFile("."); return err }, ftpexec.ErrIsDirectory},
			{"read", "src", func() error { _, err := dir.Read(make([]byte, 1)); return err }, ftpexec.ErrIsDirectory},
			{"seek", "motd", func() error { _, err := file.Seek(-1, io.SeekStart); return err }, fs.ErrInvalid},
			{"seek", "motd", func() error { _, err := file.Seek(0, 3); return err }, fs.ErrInvalid},
			{"readat", "motd", func() error { _, err := file.ReadAt(nil, -1); return err }, fs.ErrInvalid},
			{"read", "motd", func() error { _, err := shut.Read(nil); return err }, fs.ErrClosed},
			{"stat", "motd", func() error { _, err := shut.Stat(); return err }, fs.ErrClosed},
			{"seek", "motd", func() error { _, err := shut.Seek(0, 0); return err }, fs.ErrClosed},
			{"readat", "motd", func() error { _, err := shut.ReadAt(make([]byte, 1), 0); return err }, fs.ErrClosed},
			{"close", "motd", shut.Close, fs.ErrClosed},
			{"close", "src", func() error { dir.Close(); return dir.Close() }, fs.ErrClosed},
			{"readdir", "src", func() error { _, err := dir.(fs.ReadDirFile).ReadDir(-1); return err }, fs.ErrClosed},
		} {
			err := tt.do()
			var pe *fs.PathError
			if !errors.As(err, &pe) || pe.Op != tt.op || pe.Path != tt.name || !errors.Is(err, tt.want) {
				t.Errorf("%s %q: got %v, want %v", tt.op, tt.name, err, tt.want)
			}
		}
	}
	if _, err := ftpfs.Open(t.Context(), nil, "ftp://example.invalid/file"); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("FS of a file: got %v", err)
	}
}

// An entry that io/fs cannot name is reported, and the others are listed. An open directory returns the entries in
// parts, then the error, then io.EOF.
func TestFSNames(t *testing.T) {
	mlsd := "type=file;size=8; ok\r\ntype=file;size=8; caf\xe9\r\ntype=file;size=8; a/b\r\ntype=dir; sub\r\nnonsense\r\n"
	s := testserver.New(t, nil, testserver.Honest("contents"), testserver.On("MLST", mlst("Type=dir")),
		testserver.On("MLSD", testserver.Transfer(mlsd)), testserver.On("#2 MLSD", testserver.Transfer("")))
	d := openFS(t, &ftpexec.Client{MaxIdle: 1}, s.URL("/d/"))
	var names []string
	var bad error
	err := fs.WalkDir(d, ".", func(path string, _ fs.DirEntry, err error) error {
		if errors.Is(err, ftpexec.ErrLine) {
			bad = err
			return nil
		}
		names = append(names, path)
		return err
	})
	if want := []string{".", "ok", "sub"}; err != nil || !slices.Equal(names, want) {
		t.Errorf("walked %q, %v, want %q", names, err, want)
	}
	if got, err := fs.Glob(d, "[o-s]*"); err != nil || !slices.Equal(got, []string{"ok", "sub"}) {
		t.Errorf("Glob: got %q, %v", got, err)
	}
	if pe := (*fs.PathError)(nil); !errors.As(bad, &pe) || pe.Path != "." || strings.Count(bad.Error(), ftpexec.ErrLine.Error()) != 3 || !strings.Contains(bad.Error(), "caf%E9") {
		t.Errorf("got %v, want a PathError with three lines", bad)
	}
	dir, got := open(t, d, ".").(fs.ReadDirFile), ""
	for range 4 {
		list, err := dir.ReadDir(1)
		for _, e := range list {
			got += e.Name()
		}
		got += fmt.Sprint(" ", errors.Is(err, ftpexec.ErrLine), " ", err == io.EOF, "|")
	}
	if want := "ok false false|sub false false| true false| false true|"; got != want {
		t.Errorf("in parts: got %q, want %q", got, want)
	}
}

// Links are followed by Open and Stat, and not by Lstat and the entries of ReadDir.
func TestFSLinks(t *testing.T) {
	list := "lrwxrwxrwx 1 u g 6 Jan  2  2020 link -> target\r\n-rw-r--r-- 1 u g 8 Jan  2  2020 target\r\n"
	s := testserver.New(t, nil, testserver.Honest("contents"), testserver.On("LIST", testserver.Transfer(list)),
		testserver.On("CWD link", testserver.Reply("550 no")).With("CWD target", testserver.Reply("550 no")))
	d := openFS(t, new(ftpexec.Client), s.URL("/d/"))
	info, err := d.Stat("link")
	if err != nil || info.Mode() != 0o444 || info.Size() != 8 || info.Sys().(*ftpexec.Entry).URL.Name != "link" {
		t.Errorf("Stat: got %v, %v", info, err)
	}
	link, err := d.Lstat("link")
	target, rerr := fs.ReadLink(d, "link")
	if err != nil || link.Mode().Type() != fs.ModeSymlink || !link.ModTime().Equal(time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC)) || target != "target" || rerr != nil {
		t.Errorf("Lstat: got %v, %v; ReadLink: %q, %v", link, err, target, rerr)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func count(lines []string, line string) int {
	return len(slices.DeleteFunc(lines, func(l string) bool { return l != line }))
}

// WithContext ends the calls of one FS and of its files, and leaves the other alone. The two share connections.
func TestWithContext(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: fsTree})
	d := openFS(t, new(ftpexec.Client), s.URL("/pub/"))
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	other := d.WithContext(ctx)
	f := must.Get(other.Open("motd"))(t)
	if got, err := other.ReadFile("motd"); string(got) != "hello\n" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	cancel()
	_, err := other.ReadFile("motd")
	_, rerr := f.Read(make([]byte, 1))
	if !errors.Is(err, context.Canceled) || !errors.Is(rerr, context.Canceled) {
		t.Errorf("after the end of the context: ReadFile %v, Read %v", err, rerr)
	}
	must.Do(t, f.Close())
	if got, err := d.ReadFile("motd"); string(got) != "hello\n" || err != nil {
		t.Errorf("with the first context: got %q, %v", got, err)
	}
}

// Arguments that are nil or empty, and an FS that New has not made, are errors.
func TestNothing(t *testing.T) {
	d := openFS(t, new(ftpexec.Client), "ftp://127.0.0.1:1/")
	var none context.Context
	for what, made := range map[string]*ftpfs.FS{"zero": {}, "no context": d.WithContext(none)} {
		_, open := made.Open("f")
		_, stat := made.Stat("f")
		_, lstat := made.Lstat("f")
		_, self := made.Lstat(".")
		_, link := made.ReadLink("f")
		_, file := made.ReadFile("f")
		_, dir := made.ReadDir(".")
		names, glob := made.Glob("*")
		for i, err := range []error{open, stat, lstat, self, link, file, dir} {
			if !errors.Is(err, fs.ErrInvalid) || !errors.As(err, new(*fs.PathError)) {
				t.Errorf("%s, method %d: got %v", what, i, err)
			}
		}
		if len(names) > 0 || glob != nil { // fs.Glob ignores errors
			t.Errorf("%s: Glob: %q, %v", what, names, glob)
		}
	}
	if _, err := ftpfs.Open(none, nil, "ftp://h/"); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("no context: %v", err)
	}
	for _, url := range []string{"", "/", "ftp:", "ftp:///", "ftp://h/f", "http://h/", "ftp://h/;type=i"} {
		if _, err := ftpfs.Open(t.Context(), nil, url); err == nil {
			t.Errorf("%q: no error", url)
		}
	}
	for what, root := range map[string]*urlparse.URL{"nil": nil, "zero": {}, "CR": {Scheme: "ftp", Host: "h", Dirs: []string{"a\rb"}}} {
		if _, err := ftpfs.New(t.Context(), nil, root); err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	for _, name := range []string{"", "/", "..", "a/../b", "a\x00", "a\n", "a//b", "/a"} {
		if _, err := d.Open(name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%q: %v", name, err)
		}
	}
}

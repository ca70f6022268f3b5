package ftpfs_test

import (
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
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// fsTree is what most tests of FS serve.
var fsTree = map[string]string{
	"/pub/motd": "hello\n", "/pub/empty": "", "/pub/.hidden": "x", "/pub/a b": "spaces", "/pub/grün": "ü",
	"/pub/src/main.go": "package main\n", "/pub/src/deep/er/f": strings.Repeat("0123456789", 30), "/pub/none/": "",
}

// unknown returns a Fault that answers commands with 502.
func unknown(verbs ...string) func(testserver.FaultPoint) testserver.Fault {
	return func(p testserver.FaultPoint) testserver.Fault {
		if slices.Contains(verbs, p.Verb) {
			return testserver.Fault{Reply: "502 Command not implemented."}
		}
		return testserver.Fault{}
	}
}

// openFS returns the directory at path on s as a file system.
func openFS(t *testing.T, c *ftpexec.Client, url string) *ftpfs.FS {
	t.Helper()
	t.Cleanup(c.CloseIdleConnections)
	d, err := ftpfs.New(t.Context(), c, parse(t, url))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// Whatever tells what is in a directory, the FS is one by the rules of io/fs.
func TestFS(t *testing.T) {
	tests := []struct {
		name, path string
		without    []string
	}{
		{"MLSD and MLST", "/pub/", nil},
		{"MLSD alone", "/pub/", []string{"MLST"}},
		{"LIST", "/pub;type=d", []string{"MLSD", "MLST"}},
		{"nothing but LIST", "/pub/", []string{"MLSD", "MLST", "SIZE", "MDTM"}},
		{"NLST", "/pub/", []string{"MLSD", "MLST", "LIST"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := testserver.New(t, &testserver.Options{Tree: fsTree, Fault: unknown(tt.without...)})
			d := openFS(t, new(ftpexec.Client), s.URL(tt.path))
			if err := fstest.TestFS(d, "motd", "empty", ".hidden", "a b", "grün", "none", "src/main.go", "src/deep/er/f"); err != nil {
				t.Error(err)
			}
		})
	}
}

// mlst replies to MLST with facts.
func mlst(facts string) testserver.Action {
	return testserver.Reply("250-Here\r\n " + facts + "; /n\r\n250 End")
}

// both takes two steps.
func both(a, b testserver.Step) testserver.Step {
	return func(d *testserver.Dialogue) { a(d); b(d) }
}

// What Stat says of a name, and how many flights that takes on a connection that is there.
func TestFSStat(t *testing.T) {
	noDir := testserver.On("CWD n", testserver.Reply("550 no"))
	no := testserver.On("SIZE", testserver.Reply("550 no")).With("MDTM", testserver.Reply("550 no")).With("CWD n", testserver.Reply("550 no"))
	old := testserver.On("MLST", testserver.Reply("500 unknown"))
	listing := func(lines string) testserver.Step {
		return testserver.On("MLSD", testserver.Reply("500 unknown")).With("LIST", testserver.Transfer(lines)...)
	}
	bare := testserver.On("SIZE", testserver.Reply("500 unknown")).With("MDTM", testserver.Reply("500 unknown")).With("CWD n", testserver.Reply("550 no"))
	tests := []struct {
		name    string
		step    testserver.Step
		want    string
		err     error
		flights int // with those that learn what the server does not know
	}{
		{"MLST of a file", testserver.On("MLST", mlst("type=file;size=7;modify=20260102030405")), "-r--r--r-- 7 2026-01-02 03:04:05 n", nil, 1},
		{"MLST of a directory with a size", testserver.On("MLST", mlst("Type=dir;Size=4096;Modify=20260102030405")), "dr-xr-xr-x 0 2026-01-02 03:04:05 n/", nil, 1},
		{"MLST without a time", testserver.On("MLST", mlst("type=file;size=7")), "-r--r--r-- 7 0001-01-01 00:00:00 n", nil, 1},
		{"MLST of nothing", testserver.On("MLST", testserver.Reply("550 no")), "", fs.ErrNotExist, 1},
		{"MLST denied", testserver.On("MLST", testserver.Reply("550 Permission denied")), "", fs.ErrPermission, 1},
		{"MLST of a link to a file", both(testserver.On("MLST", mlst("type=OS.unix=symlink;size=3")), noDir), "-r--r--r-- 8 2020-01-02 03:04:05 n", nil, 2},
		{"MLST of a link to a directory", testserver.On("MLST", mlst("type=OS.unix=slink:/x;size=3")), "dr-xr-xr-x 0 2020-01-02 03:04:05 n/", nil, 2},
		{"MLST without type", both(testserver.On("MLST", mlst("size=3")), noDir), "-r--r--r-- 8 2020-01-02 03:04:05 n", nil, 2},
		{"MLST out of order", both(testserver.On("MLST", testserver.Reply("250 fine")), noDir), "-r--r--r-- 8 2020-01-02 03:04:05 n", nil, 2},
		{"SIZE of a file", both(old, noDir), "-r--r--r-- 8 2020-01-02 03:04:05 n", nil, 2},
		{"SIZE of a directory", old, "dr-xr-xr-x 0 2020-01-02 03:04:05 n/", nil, 2},
		{"a directory that has neither", both(old, testserver.On("SIZE", testserver.Reply("550 no")).With("MDTM", testserver.Reply("550 no"))), "dr-xr-xr-x 0 0001-01-01 00:00:00 n/", nil, 2},
		{"nothing", both(old, no), "", fs.ErrNotExist, 2},
		{"a closed directory", both(old, no.With("CWD n", testserver.Reply("550 Permission denied"))), "", fs.ErrPermission, 2},
		{"only the listing knows it", both(both(old, bare), listing("-rw-r--r-- 1 u g 12 Jan  2  2020 n\r\n")), "-r--r--r-- 12 2020-01-02 00:00:00 n", nil, 7},
		{"the listing does not know it", both(both(old, bare), listing("-rw-r--r-- 1 u g 12 Jan  2  2020 m\r\n")), "", fs.ErrNotExist, 7},
		{"the listing has a link that leads nowhere", both(both(old, bare), listing("lrwxrwxrwx 1 u g 1 Jan  2  2020 n -> m\r\n")), "", fs.ErrNotExist, 7},
		{"closed at MLST", testserver.On("MLST", testserver.CloseConn()), "", ftpexec.ErrLost, 0},
		{"150 to MLST", testserver.On("MLST", testserver.Reply("150 what")), "", ftpexec.ErrProtocol, 0},
		{"331 to CWD", both(old, testserver.On("CWD n", testserver.Reply("331 what"))), "", ftpexec.ErrProtocol, 0},
		{"421 to CWD", both(old, testserver.On("CWD n", testserver.Reply("421 bye"), testserver.CloseConn())), "", ftpexec.ErrLost, 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := testserver.NewScript(t, testserver.Honest("contents"), testserver.On("MLST", testserver.Reply("500 unknown")), tt.step)
			c := new(ftpexec.Client)
			d := openFS(t, c, s.URL("/d/"))
			if _, err := d.ReadFile("warm"); err != nil {
				t.Fatal(err)
			}
			s.ResetCommands()
			info, err := d.Stat("n")
			if !errors.Is(err, tt.err) {
				t.Fatalf("got %v, %v, want %v", info, err, tt.err)
			}
			var pe *fs.PathError
			if err != nil && (!errors.As(err, &pe) || pe.Op != "stat" || pe.Path != "n" || tt.flights < 7 && !errors.As(err, new(*ftpexec.Error))) {
				t.Errorf("got %#v, want a PathError, which wraps an Error of the server", err)
			}
			if err == nil && fs.FormatFileInfo(info) != tt.want {
				t.Errorf("got %q, want %q", fs.FormatFileInfo(info), tt.want)
			}
			if got := len(s.Flights()); tt.flights > 0 && got != tt.flights {
				t.Errorf("%d flights, want %d: %v", got, tt.flights, s.Flights())
			}
			if tt.err == nil || tt.flights > 0 { // the connection is where it was
				if got, err := d.ReadFile("warm"); err != nil || string(got) != "contents" || s.Connections() > 1 {
					t.Errorf("afterwards: got %q, %v, %d connections", got, err, s.Connections())
				}
			}
		})
	}
}

// Every error is a PathError, and is what io/fs asks for.
func TestFSErrors(t *testing.T) {
	for _, without := range [][]string{nil, {"MLST", "MLSD"}} {
		s := testserver.New(t, &testserver.Options{Tree: fsTree, Fault: unknown(without...)})
		d := openFS(t, new(ftpexec.Client), s.URL("/pub/"))
		file, shut, dir := open(t, d, "motd"), open(t, d, "motd"), open(t, d, "src")
		shut.Close()
		tests := []struct {
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
		}
		for _, tt := range tests {
			err := tt.do()
			var pe *fs.PathError
			if !errors.As(err, &pe) || pe.Op != tt.op || pe.Path != tt.name || !errors.Is(err, tt.want) {
				t.Errorf("%s %q: got %v, want %v", tt.op, tt.name, err, tt.want)
			}
		}
	}
	if _, err := ftpfs.New(t.Context(), new(ftpexec.Client), parse(t, "ftp://example.invalid/file")); !errors.Is(err, syscall.ENOTDIR) {
		t.Errorf("FS of a file: got %v", err)
	}
}

// An entry that io/fs cannot name is reported, and the others are listed.
func TestFSNames(t *testing.T) {
	mlsd := "type=file;size=8; ok\r\ntype=file;size=8; caf\xe9\r\ntype=file;size=8; a/b\r\ntype=dir; sub\r\nnonsense\r\n"
	s := testserver.NewScript(t, testserver.Honest("contents"), testserver.On("MLST", mlst("Type=dir")),
		testserver.On("MLSD", testserver.Transfer(mlsd)...), testserver.OnNth(2, "MLSD", testserver.Transfer("")...))
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
}

// A handle gives the entries in parts, then the entries that cannot be listed as an error, then io.EOF.
func TestFSReadDirInParts(t *testing.T) {
	mlsd := "type=file;size=8; b\r\ntype=file;size=8; a\r\nnonsense\r\n"
	s := testserver.NewScript(t, testserver.Honest("contents"), testserver.On("MLST", mlst("Type=dir")),
		testserver.On("MLSD", testserver.Transfer(mlsd)...))
	dir := open(t, openFS(t, new(ftpexec.Client), s.URL("/d/")), ".")
	var got []string
	for range 4 {
		list, err := dir.(fs.ReadDirFile).ReadDir(1)
		for _, e := range list {
			got = append(got, e.Name())
		}
		got = append(got, fmt.Sprint(errors.Is(err, ftpexec.ErrLine), err == io.EOF))
	}
	if want := []string{"a", "false false", "b", "false false", "true false", "false true"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

// Links are followed by Open and Stat, and not by Lstat and the entries of ReadDir.
func TestFSLinks(t *testing.T) {
	list := "lrwxrwxrwx 1 u g 6 Jan  2  2020 link -> target\r\n-rw-r--r-- 1 u g 8 Jan  2  2020 target\r\n"
	s := testserver.NewScript(t, testserver.Honest("contents"), testserver.On("LIST", testserver.Transfer(list)...),
		testserver.On("CWD link", testserver.Reply("550 no")).With("CWD target", testserver.Reply("550 no")))
	d := openFS(t, new(ftpexec.Client), s.URL("/d/"))
	if info, err := d.Stat("link"); err != nil || info.Mode() != 0o444 || info.Size() != 8 || info.Sys().(*ftpexec.Entry).URL.Name != "link" {
		t.Errorf("Stat: got %v, %v", info, err)
	}
	if info, err := d.Lstat("link"); err != nil || info.Mode().Type() != fs.ModeSymlink || !info.ModTime().Equal(time.Date(2020, 1, 2, 0, 0, 0, 0, time.UTC)) {
		t.Errorf("Lstat: got %v, %v", info, err)
	}
	if target, err := fs.ReadLink(d, "link"); err != nil || target != "target" {
		t.Errorf("ReadLink: got %q, %v", target, err)
	}
	if got, err := d.ReadFile("link"); err != nil || string(got) != "contents" {
		t.Errorf("ReadFile: got %q, %v", got, err)
	}
}

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func parse(t testing.TB, text string) *urlparse.URL {
	t.Helper()
	u, err := urlparse.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func count(lines []string, line string) int {
	return len(slices.DeleteFunc(lines, func(l string) bool { return l != line }))
}

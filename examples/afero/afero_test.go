package ftpafero

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/spf13/afero"
	"go.uber.org/goleak"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var (
	contents = strings.Repeat("0123456789abcdef", 1<<15)
	modified = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
)

func start(t *testing.T) afero.Fs {
	s := testserver.New(t, &testserver.Options{ModTime: modified, Tree: map[string]string{
		"/secret": "SECRET", "/pub/big": contents, "/pub/sub/a b": "odd", "/pub/sub/deep/c.txt": "deep",
	}})
	c := &ftpexec.Client{}
	t.Cleanup(c.CloseIdleConnections)
	fsys, err := New(t.Context(), c, s.URL("/pub/"))
	if err != nil {
		t.Fatal(err)
	}
	return fsys
}

// TestReads checks that programs can use afero as usual, with names as package os takes them.
func TestReads(t *testing.T) {
	fsys := start(t)
	for _, name := range []string{"sub/a b", "/sub/a b", "sub//a b", "./sub/../sub/a b"} {
		if got, err := afero.ReadFile(fsys, name); err != nil || string(got) != "odd" {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	info, err := fsys.Stat("/big")
	if err != nil || info.Size() != int64(len(contents)) || !info.ModTime().Equal(modified) {
		t.Errorf("%v, %v", info, err)
	}
	for _, dir := range []string{"", "/", ".", "sub/", "/sub"} {
		if ok, err := afero.DirExists(fsys, dir); !ok || err != nil {
			t.Errorf("%q: %v, %v", dir, ok, err)
		}
	}
	var walked []string
	err = afero.Walk(fsys, "", func(path string, info fs.FileInfo, err error) error {
		walked = append(walked, path)
		return err
	})
	if want := []string{"", "big", "sub", "sub/a b", "sub/deep", "sub/deep/c.txt"}; err != nil || !slices.Equal(walked, want) {
		t.Errorf("walked %q, %v", walked, err)
	}
	if got, err := afero.Glob(fsys, "sub/*/*.txt"); err != nil || !slices.Equal(got, []string{"sub/deep/c.txt"}) {
		t.Errorf("%q, %v", got, err)
	}
	if err := fstest.TestFS(afero.NewIOFS(fsys), "big", "sub/a b", "sub/deep/c.txt"); err != nil {
		t.Error(err)
	}
}

// TestSeek checks that a file can be read from any offset.
func TestSeek(t *testing.T) {
	f, err := start(t).Open("big")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b := make([]byte, 16)
	if n, err := f.ReadAt(b, 400000); n != 16 || err != nil || string(b) != contents[400000:400016] {
		t.Errorf("%q, %v", b, err)
	}
	if _, err := f.Seek(-3, io.SeekEnd); err != nil {
		t.Fatal(err)
	}
	if rest, err := io.ReadAll(f); err != nil || string(rest) != "def" {
		t.Errorf("%q, %v", rest, err)
	}
}

// TestOnTop checks that nothing is written, that names above the directory do not exist, and that a file system on top
// is read and written.
func TestOnTop(t *testing.T) {
	fsys := start(t)
	_, createErr := fsys.Create("new")
	_, openErr := fsys.OpenFile("big", os.O_RDWR, 0)
	for what, err := range map[string]error{"create": createErr, "open": openErr, "remove": fsys.Remove("big"), "rename": fsys.Rename("big", "b"), "mkdir": fsys.Mkdir("d", 0o777), "chmod": fsys.Chmod("big", 0)} {
		if err == nil {
			t.Errorf("%s: no error", what)
		}
	}
	for _, name := range []string{"none", "../secret", "/../secret", "sub/../../secret"} {
		if _, err := fsys.Open(name); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}
	both := afero.NewCopyOnWriteFs(fsys, afero.NewMemMapFs())
	if err := afero.WriteFile(both, "sub/a b", []byte("changed"), 0o666); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{"sub/a b": "changed", "sub/deep/c.txt": "deep"} {
		if got, err := afero.ReadFile(both, name); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
	if got, err := afero.ReadFile(fsys, "sub/a b"); err != nil || string(got) != "odd" {
		t.Errorf("below: %q, %v", got, err)
	}
}

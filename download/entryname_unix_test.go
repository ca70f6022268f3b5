//go:build unix

package download

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// TestHostileListing saves every entry of a hostile listing that is not refused
// into a directory in which one of the names is a link to the outside. Only that
// directory may change.
func TestHostileListing(t *testing.T) {
	s := testserver.NewScript(t, testserver.Honest("contents").With("NLST", testserver.Transfer(strings.Join(hostile, "\r\n")+"\r\n")...))
	top := t.TempDir()
	outside, dir := filepath.Join(top, "outside"), filepath.Join(top, "a", "dir")
	if err := errors.Join(os.MkdirAll(dir, 0o777), os.WriteFile(outside, []byte("untouched"), 0o666)); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
		t.Fatal(err)
	}
	var c ftpexec.Client
	var n EntryNames
	for e, err := range c.List(t.Context(), urlOf(t, s.URL("/"))) {
		if err != nil {
			t.Fatal(err)
		}
		saveEntry(t, &c, &n, dir, e)
	}
	if got, err := os.ReadFile(outside); err != nil || string(got) != "untouched" {
		t.Errorf("the file outside holds %q, %v", got, err)
	}
	for at, want := range map[string][]string{top: {"a", "outside"}, filepath.Dir(dir): {"dir"}} {
		if got := namesIn(t, at); !slices.Equal(got, want) {
			t.Errorf("%s holds %q, want %q", at, got, want)
		}
	}
	if got := namesIn(t, dir); !slices.Contains(got, "ok") || slices.Contains(got, "ok.part.json") {
		t.Errorf("the directory holds %q", got)
	}
}

func saveEntry(t *testing.T, c *ftpexec.Client, n *EntryNames, dir string, e ftpexec.Entry) {
	t.Helper()
	name, err := n.Local(e.Base)
	if err != nil {
		return
	}
	if filepath.Dir(filepath.Join(dir, name)) != dir {
		t.Errorf("%q would be saved as %q", e.Name, name)
		return
	}
	_, err = File(t.Context(), c, e.URL, filepath.Join(dir, name), nil)
	if name == "link" && !errors.Is(err, ErrExists) {
		t.Errorf("a link in the way: got %v, want ErrExists", err)
	}
}

// TestRootHoldsLinks checks that os.Root guards against what EntryNames does not.
func TestRootHoldsLinks(t *testing.T) {
	top := t.TempDir()
	dir := filepath.Join(top, "dir")
	if err := errors.Join(os.Mkdir(dir, 0o777), os.Symlink(top, filepath.Join(dir, "out"))); err != nil {
		t.Fatal(err)
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	for _, name := range []string{"out/x", "../x", filepath.Join(top, "x")} {
		if f, err := root.Create(name); err == nil {
			f.Close()
			t.Errorf("%s was created", name)
		}
	}
}

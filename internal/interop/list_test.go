//go:build interop

package interop

import (
	"context"
	"errors"
	"maps"
	"path"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/ftpexec/ftpfs"
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/urlparse"
)

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

// No server may make an absent directory look like an empty one.
func TestList(t *testing.T) {
	pub := []string{"a", "big.bin", "empty", "none.bin", "odd", "odd-dirs", "text.txt"}
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
				continue // it has no NLST: CWD told
			}
			if !errors.Is(err, test.err) || err == nil && !slices.Equal(got, test.want) {
				t.Errorf("%s: got %q and %v, want %q and %v", test.path, got, err, test.want, test.err)
			}
		}
	})
}

// StatAll tells the size and time of the files of the tree, and goes on after missing files and directories.
func TestStatAll(t *testing.T) {
	forEach(t, false, func(f flavour) bool { return !f.noFacts }, func(t *testing.T, s *Server) {
		bothWays(t, s, testStatAll)
	})
}

func testStatAll(t *testing.T, s *Server, c *ftpexec.Client) {
	flights, trace := 0, c.Trace
	c.Trace = func(e ftpexec.Event) {
		if e.Mark == ">" {
			flights++
		}
		trace(e)
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

// Every server's files are a file system by the rules of io/fs.
func TestFS(t *testing.T) {
	forEachClient(t, func(t *testing.T, s *Server, c *ftpexec.Client) {
		t.Cleanup(c.CloseIdleConnections)
		d := must.Get(ftpfs.New(testContext(t), c, s.URL("/pub/a/")))(t)
		err := fstest.TestFS(d, "b/c/file.txt")
		if seeks := !s.flavour.noRest; seeks != (err == nil) || !seeks && !strings.Contains(err.Error(), ftpexec.ErrNoRestart.Error()) {
			t.Errorf("seeks %v: got %v", seeks, err)
		}
	})
}

//go:build interop

package interop

import (
	"context"
	"errors"
	"path"
	"slices"
	"testing"

	"example.com/ftpfetch/ftpexec"
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

func TestList(t *testing.T) {
	tests := []struct {
		path string
		want []string
	}{
		{"", []string{"pub"}},
		{"/pub/a;type=d", []string{"b"}},
		{"/pub/a/", []string{"b"}},
		{"/pub/a/b/c/", []string{"file.txt"}},
		{"/pub/", []string{"a", "big.bin", "empty", "none.bin", "odd", "odd-dirs", "text.txt"}},
		{"/pub;type=d", []string{"a", "big.bin", "empty", "none.bin", "odd", "odd-dirs", "text.txt"}},
		{"/%2Fpub%2Fa;type=d", []string{"b"}},
		{"/pub/empty/", nil},
		{"/pub/empty;type=d", nil},
	}
	forEachClient(t, func(t *testing.T, s *Server, c *ftpexec.Client) {
		for _, test := range tests {
			got, err := list(testContext(t), c, s.URL(test.path))
			if err != nil {
				t.Errorf("%s: %v", test.path, err)
			} else if !slices.Equal(got, test.want) {
				t.Errorf("%s: got %q, want %q", test.path, got, test.want)
			}
		}
	})
}

// No server may make an absent directory look like an empty one.
func TestListRefused(t *testing.T) {
	tests := []struct {
		path string
		want error
	}{
		{"/pub/absent/", ftpexec.ErrRefused},
		{"/pub/absent/absent;type=d", ftpexec.ErrRefused},
		{"/pub/absent;type=d", ftpexec.ErrNotFound},
		{"/absent%2Fabsent;type=d", ftpexec.ErrNotFound},
	}
	forEachClient(t, func(t *testing.T, s *Server, c *ftpexec.Client) {
		for _, test := range tests {
			got, err := list(testContext(t), c, s.URL(test.path))
			if s.Kind == Aioftp && errors.Is(err, ftpexec.ErrRefused) {
				continue // it has no NLST: CWD told
			}
			if !errors.Is(err, test.want) {
				t.Errorf("%s: got %q and %v, want %v", test.path, got, err, test.want)
			}
		}
	})
}

// A listing leads to its files: the URL of every entry retrieves it.
func TestListThenRetrieve(t *testing.T) {
	forEachClient(t, func(t *testing.T, s *Server, c *ftpexec.Client) {
		var got []string
		want := reachable(s)
		u, err := urlparse.Parse(s.URL("/pub/odd/"))
		if err != nil {
			t.Fatal(err)
		}
		c.Timeout = hangTimeout
		for e, err := range c.List(testContext(t), u) {
			if s.flavour.breaksOff {
				if err == nil {
					t.Errorf("got %q from a listing that is broken off, want an error", e.Name)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(want, path.Base(e.Name)) {
				continue // listed, but the server cannot serve it, and may misspell it
			}
			_, text, err := fetch(testContext(t), c, e.URL.String())
			if err != nil {
				t.Errorf("%q: %v", e.Name, err)
				continue
			}
			wantFile(t, "pub/odd/"+path.Base(e.Name), text)
			got = append(got, path.Base(e.Name))
		}
		slices.Sort(got)
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// reachable returns the odd names that the server can serve, sorted.
func reachable(s *Server) []string {
	names := slices.DeleteFunc(slices.Clone(oddNames), func(n string) bool { return !s.serves(n) })
	slices.Sort(names)
	return names
}

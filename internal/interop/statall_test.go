//go:build interop

package interop

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

// StatAll tells the size and time of every file of the tree, and goes on after
// missing files and directories.
func TestStatAll(t *testing.T) {
	forEachClient(t, func(t *testing.T, s *Server, c *ftpexec.Client) {
		if s.flavour.noFacts {
			return // nothing to ask with
		}
		flights := 0
		trace := c.Trace
		c.Trace = func(e ftpexec.Event) {
			if e.Mark == ">" {
				flights++
			}
			trace(e)
		}
		var urls []*urlparse.URL
		var want []string // a path, "" for a missing file or directory
		add := func(path, file string) {
			u, err := urlparse.Parse(s.URL(path))
			if err != nil {
				t.Fatal(err)
			}
			urls, want = append(urls, u), append(want, file)
		}
		for _, file := range statPaths() {
			add("/"+strings.ReplaceAll(Escape(file), "%2F", "/"), file)
			add("/pub/absent/file", "")
			add("/pub/absent.txt", "")
		}
		next := 0
		for info, err := range c.StatAll(testContext(t), urls) {
			file := want[next]
			switch size := int64(len(tree.Files[file])); {
			case file == "" && !errors.Is(err, ftpexec.ErrNotFound) && !errors.Is(err, ftpexec.ErrRefused):
				t.Errorf("%s: got %+v, %v, want an error", urls[next], info, err)
			case file != "" && (err != nil || info.Size != size || !info.ModTime.Equal(modTime)):
				t.Errorf("%s: got %+v, %v, want %d bytes", urls[next], info, err, size)
			}
			next++
		}
		if next != len(urls) {
			t.Errorf("%d answers for %d URLs", next, len(urls))
		}
		if most := 4 + len(urls)*8/64; !c.NoPipelining && flights > most {
			t.Errorf("%d flights for %d files, want at most %d", flights, len(urls), most)
		}
	})
}

// statPaths returns the files of the tree whose names are ASCII.
func statPaths() []string {
	return slices.DeleteFunc(slices.Sorted(maps.Keys(tree.Files)), func(path string) bool {
		return !strings.HasPrefix(path, "pub/") || strings.ContainsFunc(path, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '\\' })
	})
}

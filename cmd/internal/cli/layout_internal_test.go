package cli

import (
	"strings"
	"testing"

	"example.com/ftpfetch/cmd/internal/cli/config"
)

// layouts has flags, and below which path each URL is saved with them; "-": its contents are in the output directory
// itself.
var layouts = []struct {
	args  string
	paths map[string]string
}{
	{"-r", map[string]string{
		"ftp://h/": "h", "ftp://h/pub/": "pub", "ftp://h/pub": "pub", "ftp://h/a/b/": "b", "ftp://h/a/b": "b", "ftp://h/%2F": "h", "ftp://h/%2Fa/b/": "b", "ftp://h//a//": "a"}},
	{"-r -d D", map[string]string{
		"ftp://h/": "-", "ftp://h/pub/": "-", "ftp://h/pub": "-", "ftp://h/a/b/": "-", "ftp://h/%2Fa/b/": "-"}},
	{"-r --keep-dirs=1", map[string]string{
		"ftp://h/": "h", "ftp://h/pub/": "pub", "ftp://h/pub": "pub", "ftp://h/a/b/": "b", "ftp://h/a/b": "b", "ftp://h/%2F": "h", "ftp://h/%2Fa/b/": "b"}},
	{"-r -d D --keep-dirs=1", map[string]string{
		"ftp://h/": "h", "ftp://h/pub/": "pub", "ftp://h/pub": "pub", "ftp://h/a/b/": "b", "ftp://h/a/b": "b", "ftp://h/%2F": "h", "ftp://h/%2Fa/b/": "b"}},
	{"-r -d D --keep-dirs=2", map[string]string{
		"ftp://h/": "h", "ftp://h/pub/": "pub", "ftp://h/a/b/": "a/b", "ftp://h/a/b": "a/b", "ftp://h/a/b/c/": "b/c"}},
	{"-r -d D --keep-dirs", map[string]string{
		"ftp://h/": "-", "ftp://h/pub/": "pub", "ftp://h/a/b/": "a/b", "ftp://h/a/b": "a/b"}},
	{"-r --keep-dirs", map[string]string{
		"ftp://h/": "-", "ftp://h/pub/": "pub", "ftp://h/a/b/": "a/b", "ftp://h/a/b": "a/b"}},
	{"-r --glob -d D", map[string]string{
		"ftp://h/x/{a}/": "a", "ftp://h/x/{b}": "b", "ftp://h/[1-1]/x/": "1/x", "ftp://h/{y}/z": "y/z", "ftp://h/pub/": "-"}},
	{"-r --glob", map[string]string{
		"ftp://h/x/{a}/": "a", "ftp://h/x/{b}": "b", "ftp://h/[1-1]/x/": "1/x", "ftp://h/{y}/z": "y/z", "ftp://h/pub/": "pub"}},
	{"--keep-dirs=1 -d D -j 2", map[string]string{
		"ftp://h/f": "f", "ftp://h/a/f": "a/f", "ftp://h/a/b/f": "b/f"}},
	{"--keep-dirs=2", map[string]string{
		"ftp://h/f": "f", "ftp://h/a/f": "a/f", "ftp://h/a/b/c/f": "b/c/f"}},
	{"-j 2 -d D --overwrite --report r", map[string]string{"ftp://h/f": "f", "ftp://h/a/g": "g"}},
	{"--glob -d D", map[string]string{"ftp://h/f": "f", "ftp://h/{a}/g": "a/g", "ftp://h/x/[1-1]": "1", "ftp://h/{a}/x/g": "a/x/g"}},
}

// saved returns the paths of the URLs of a command line, or the errors of reading it.
func saved(t *testing.T, args string) (paths []string, err error) {
	c, err := config.Parse(strings.Fields(args))
	if err != nil {
		return nil, err
	}
	r := &run{Config: c}
	for _, target := range c.Targets {
		task, err := r.task(target)
		if err != nil {
			t.Errorf("%s: %v", args, err)
		}
		path := strings.TrimPrefix(task.Path, "D/") // only that of a lone file has it
		if path == "" {
			path = "-"
		}
		paths = append(paths, path)
	}
	return paths, nil
}

// TestLayout checks that where a URL is saved depends on the URL and the flags, and not on other URLs of the command: the
// layout of "$@" is the same for one argument and for many. Two URLs whose contents would go into one directory are
// refused.
func TestLayout(t *testing.T) {
	cases := 0
	for _, tt := range layouts {
		for one, want := range tt.paths {
			cases++
			if got, err := saved(t, tt.args+" "+one); err != nil || len(got) != 1 || got[0] != want {
				t.Errorf("%s %s: got %q, %v, want %q", tt.args, one, got, err, want)
			}
			for two, other := range tt.paths {
				cases++
				got, err := saved(t, tt.args+" "+one+" "+two)
				refused := want == "-" && other == "-" && !strings.Contains(tt.args, "--keep-dirs")
				if refused {
					if err == nil || !strings.Contains(err.Error(), "add --keep-dirs=1 to save each tree in DIR/NAME") {
						t.Errorf("%s %s %s: not refused: %q, %v", tt.args, one, two, got, err)
					}
				} else if err != nil || len(got) != 2 || got[0] != want || got[1] != other {
					t.Errorf("%s %s %s: got %q, %v, want %q and %q", tt.args, one, two, got, err, want, other)
				}
			}
		}
	}
	t.Logf("%d cases", cases)
}

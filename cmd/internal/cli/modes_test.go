package cli_test

import (
	"strings"
	"testing"

	"example.com/ftpfetch/testserver"
)

// TestModes lists directories whose entries all have permissions, or some, or none: question marks stand only where others
// have them.
func TestModes(t *testing.T) {
	const with, without = "type=file;size=1;modify=20260102030405;UNIX.mode=0640; a", "type=file;size=2;modify=20260102030405; b"
	for listing, want := range map[string]string{
		with + "|" + strings.Replace(with, " a", " b", 1): "-rw-r-----            1  2026-01-02T03:04:05Z  a\n-rw-r-----            1  2026-01-02T03:04:05Z  b\n",
		with + "|" + without:                              "-rw-r-----            1  2026-01-02T03:04:05Z  a\n-?????????            2  2026-01-02T03:04:05Z  b\n",
		without:                                           "-            2  2026-01-02T03:04:05Z  b\n",
	} {
		s := testserver.New(t, nil, testserver.Honest(""), testserver.On("MLSD", testserver.Transfer(strings.ReplaceAll(listing, "|", "\r\n")+"\r\n")))
		for _, sort := range []string{"name", "none"} {
			if code, out, said := run(t, "-l", "--sort", sort, s.URL("/")); code != 0 || out != want {
				t.Errorf("%s, by %s: exit %d, %s\n%s, want\n%s", listing, sort, code, said, out, want)
			}
		}
	}
}

// TestMatchesDeeper lists what a pattern of two levels matches: links are entered only with --follow-links, and a
// directory that may not be entered is an error, after which the others are listed.
func TestMatchesDeeper(t *testing.T) {
	listings := map[string]string{
		"/":       "drwxr-xr-x 1 0 0 3 Jan 02 2026 d\r\ndrwxr-xr-x 1 0 0 3 Jan 02 2026 private\r\nlrwxrwxrwx 1 0 0 3 Jan 02 2026 l -> d\r\n-rw-r--r-- 1 0 0 1 Jan 02 2026 file\r\n",
		"d":       "-rw-r--r-- 1 0 0 1 Jan 02 2026 f\r\ndrwxr-xr-x 1 0 0 1 Jan 02 2026 sub\r\n",
		"l":       "-rw-r--r-- 1 0 0 1 Jan 02 2026 f\r\n",
		"private": "",
	}
	for flag, want := range map[string]string{
		"--glob":         "-rw-r--r--            1  2026-01-02            d/f\ndrwxr-xr-x            -  2026-01-02            d/sub/\n",
		"--follow-links": "-rw-r--r--            1  2026-01-02            d/f\ndrwxr-xr-x            -  2026-01-02            d/sub/\n-rw-r--r--            1  2026-01-02            l/f\n",
	} {
		s := testserver.New(t, nil, func(d *testserver.Dialogue) {
			testserver.Honest("")(d)
			cwd := "/"
			testserver.On("CWD", func(c *testserver.Conn) error {
				if c.Arg == "private" {
					return testserver.Reply("550 Permission denied.")(c)
				}
				cwd = c.Arg
				return testserver.Reply("250 Done.")(c)
			})(d)
			testserver.On("MLSD", testserver.Reply("500 No"))(d)
			testserver.On("LIST", func(c *testserver.Conn) error { return testserver.Transfer(listings[cwd])(c) })(d)
		})
		code, out, said := run(t, "-l", flag, s.URL("/")+"*/*")
		if code != 9 || out != want || !strings.Contains(said, "/private/: cannot enter private (550 Permission denied.)") {
			t.Errorf("%s: exit %d, %s\n%s, want\n%s", flag, code, said, out, want)
		}
	}
}

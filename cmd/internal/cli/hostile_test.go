package cli_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"example.com/ftpfetch/testserver"
)

// hostile are numbers that a server may send as a size. Most of them are no file's size.
var hostile = []string{"0", "-1", "8", "2147483648", "4294967296", "4611686018427387904", "9223372036854775807",
	"9223372036854775808", "18446744073709551616", strings.Repeat("9", 40)}

// lister returns a server whose directory has a file of each hostile size, in MLSD or LIST, and which gives the same
// sizes to SIZE.
func lister(contents string, long bool) testserver.Step {
	list, none := "", testserver.Reply("500 unknown")
	for i, n := range hostile {
		line := fmt.Sprintf("type=file;size=%s;modify=20200102030405; f%d\r\n", n, i)
		if long {
			line = fmt.Sprintf("-rw-r--r-- 1 u g %s Jan  2  2020 f%d\r\n", n, i)
		}
		list += line
	}
	s := testserver.Honest(contents).With("MLSD", testserver.Transfer(list)).With("REST", testserver.Reply("350 go")).With("SIZE", func(c *testserver.Conn) error {
		i, _ := strconv.Atoi(strings.TrimPrefix(c.Arg, "f"))
		return testserver.Reply("213 " + hostile[i])(c)
	})
	if long {
		s = s.With("MLSD", none).With("LIST", testserver.Transfer(list)).With("^LIST -a$", none)
	}
	return s
}

// negative matches a negative number that no server sent.
var negative = regexp.MustCompile(`(?:^|[\s:("])-\d`)

// TestHostileListing lists, sums, sorts and fetches files of hostile sizes in each mode. No number may be negative, and
// each file must be whole or missing.
func TestHostileListing(t *testing.T) {
	n := 0
	for _, long := range []bool{false, true} {
		s := testserver.New(t, nil, lister("contents", long))
		for _, mode := range []string{
			"-l", "-l --json", "-l --json --sort size", "-I -r", "-I -r --json", "-I -r --sort size", "-I --json", "-r", "-r -s 4", "-r -N", "-r -c",
			"-r --progress json", "-r --progress bar", "-r -j auto --no-ledger", "-r --min-age 1h", "-s 4 --progress json", "--glob",
		} {
			n++
			dir := t.TempDir()
			args := append(strings.Fields(mode), "--retries", "0")
			fetches := mode[1] != 'l' && mode[1] != 'I'
			if fetches {
				args = append(args, "-d", dir)
			}
			url := s.URL("/d/")
			switch {
			case mode == "--glob":
				url = s.URL("/d/f*")
			case mode == "-I --json", strings.HasPrefix(mode, "-s"):
				url = s.URL("/d/f6")
			}
			code, out, said := run(t, append(args, url)...)
			if figure := negative.FindString(out + said); figure != "" || (code == 0) == fetches {
				t.Errorf("%s (long: %v): exit %d, %q:\n%s%s", mode, long, code, figure, out, said)
			}
			files, _ := filepath.Glob(filepath.Join(dir, "f*[0-9]"))
			for _, name := range files {
				if b, err := os.ReadFile(name); err != nil || string(b) != "contents" {
					t.Errorf("%s (long: %v): %s has %q, %v", mode, long, name, b, err)
				}
			}
			if fetches && strings.HasPrefix(mode, "-r") && len(files) == 0 {
				t.Errorf("%s (long: %v): no file is there:\n%s", mode, long, said)
			}
		}
	}
	t.Logf("%d runs of %d sizes", n, len(hostile))
}

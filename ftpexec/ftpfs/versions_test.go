package ftpfs_test

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// replaced is a server that replaces the file by another one of the same length: at the nth RETR or, if early is set,
// just before the commands that precede it. It gives the time only if dated is set, and the size only if size is set.
func replaced(length, nth int, early, size, dated bool) testserver.Step {
	var mu sync.Mutex
	retrs := 0
	version := func(now int) int { // for commands before the next RETR (now: 1), or for that RETR (now: 0)
		if retrs+now >= nth {
			return 1
		}
		return 0
	}
	locked := func(f func(*testserver.Conn) testserver.Action) testserver.Action {
		return func(c *testserver.Conn) error {
			mu.Lock()
			action := f(c)
			mu.Unlock()
			return action(c)
		}
	}
	no := testserver.Reply("502 unknown")
	return func(d *testserver.Dialogue) {
		offset := 0
		s := testserver.Honest(strings.Repeat("a", length)).With("CWD f", testserver.Reply("550 no")).With("REST", func(c *testserver.Conn) error {
			offset, _ = strconv.Atoi(c.Arg)
			return testserver.Reply("350 fine")(c)
		}).With("RETR", locked(func(*testserver.Conn) testserver.Action {
			retrs++
			rest := strings.Repeat([]string{"a", "b"}[version(0)], length)[offset:]
			offset = 0
			return testserver.Transfer(rest)
		})).With("MDTM", locked(func(*testserver.Conn) testserver.Action {
			at := 0
			if early {
				at = 1
			}
			return testserver.Reply([]string{"213 20200102030405", "213 20210102030405"}[version(at)])
		})).With("MLSD", no).With("LIST", testserver.Transfer(fmt.Sprintf("-rw-r--r-- 1 u g %d Jan  2  2020 f\r\n", length)))
		if !size {
			s = s.With("SIZE", no)
		}
		if !dated {
			s = s.With("MDTM", no)
		}
		s(d)
	}
}

// TestFSVersions replaces a file by another one of the same size at each transfer of it, and reads it in each order: no
// program gets bytes of both. Without a time only a small file, or one transfer, can be read.
func TestFSVersions(t *testing.T) {
	n, refused := 0, 0
	for _, length := range []int{1, 600, 300 << 10, 600 << 10} {
		for nth := range 4 {
			for bits := range 8 {
				early, size, dated := bits&1 > 0, bits&2 > 0, bits&4 > 0
				for name, places := range map[string][]int{"in order": {0}, "twice": {0, 0}, "back": {length - 1, 0}, "far": {0, length - 1, length / 2, 0}, "middle": {length / 2, 0}} {
					n++
					what := fmt.Sprintf("%d bytes, %s, at RETR %d (early: %v, size: %v, time: %v)", length, name, nth, early, size, dated)
					s := testserver.New(t, nil, replaced(length, nth, early, size, dated))
					c := new(ftpexec.Client)
					f := open(t, openFS(t, c, s.URL("/d/")), "f")
					var got []byte
					var err error
					for i := 0; i < len(places) && err == nil; i++ {
						b := make([]byte, min(10, length-places[i]))
						m := 0
						m, err = f.ReadAt(b, int64(places[i]))
						got = append(got, b[:m]...)
					}
					if err == nil {
						var rest []byte
						rest, err = io.ReadAll(f)
						got = append(got, rest...)
					}
					// Between MDTM and RETR only the end of the file shows it.
					if mixed := strings.ContainsRune(string(got), 'a') && strings.ContainsRune(string(got), 'b'); mixed && err == nil || mixed && early {
						t.Errorf("%s: bytes of both, %v", what, err)
					}
					if err != nil && !errors.Is(err, ftpexec.ErrChanged) || err != nil && nth == 0 && dated && size || err != nil && length <= 600 && !dated {
						t.Errorf("%s: %v", what, err)
					}
					if err != nil {
						refused++
					}
					f.Close()
					c.CloseIdleConnections()
					s.Close()
				}
			}
		}
	}
	t.Logf("%d orders, %d refused", n, refused)
}

// TestFSListed reads a file whose size the server gives only in a listing. The contents must have that size.
func TestFSListed(t *testing.T) {
	const contents = "contents"
	no := testserver.Reply("502 unknown")
	for _, verb := range []string{"MLSD", "LIST", ""} {
		for listed := -1; listed <= len(contents)+2; listed++ {
			for _, then := range []int{listed, len(contents)} { // in the second listing
				listings := 0
				list := func(c *testserver.Conn) error {
					size := []int{listed, then}[min(listings, 1)]
					listings++
					line := fmt.Sprintf("type=file;size=%d; f\r\n", size)
					if verb == "LIST" {
						line = fmt.Sprintf("-rw-r--r-- 1 u g %d Jan  2  2020 f\r\n", size)
					}
					return testserver.Transfer(line)(c)
				}
				s := testserver.New(t, nil, testserver.Honest(contents), testserver.On("SIZE", no), testserver.On("MDTM", no), testserver.On("MLSD", no),
					testserver.On("LIST", no), testserver.On("NLST", no), testserver.On("CWD f", testserver.Reply("550 no")), testserver.On(verb, list),
					testserver.On("", testserver.Reply("220 ready")))
				d := openFS(t, new(ftpexec.Client), s.URL("/d/"))
				known := verb != "" && listed >= 0
				got, err := d.ReadFile("f")
				right := !known || listed == len(contents) || then == len(contents)
				if (err == nil) != right || right && string(got) != contents || !right && !errors.Is(err, ftpexec.ErrTruncated) {
					t.Errorf("%s, %d then %d: ReadFile got %q, %v", verb, listed, then, got, err)
				}
				if verb == "" {
					continue
				}
				listings = 0
				f, err := d.Open("f")
				if err == nil {
					got, err = io.ReadAll(f)
					f.Close()
				}
				if right := !known || listed == len(contents); (err == nil) != right || right && string(got) != contents {
					t.Errorf("%s, %d: Open got %q, %v", verb, listed, got, err)
				}
			}
		}
	}
}

package batch_test

import (
	"crypto/md5"
	"fmt"
	"strings"
	"testing"

	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/testserver"
)

// TestVerifyTree verifies the files of a tree by the lists in it: each is retrieved once besides its own copy, and each
// directory, with the root, is listed once for that. Lists need no digest themselves.
func TestVerifyTree(t *testing.T) {
	for _, wrong := range []bool{false, true} {
		tree, list := map[string]string{"/t/above/x": "x", "/t/above/y.md5": "is a list"}, ""
		for i := range 9 {
			text := fmt.Sprint("file ", i)
			tree[fmt.Sprintf("/t/d/f%d", i)] = text
			list += fmt.Sprintf("%x  f%d\n", md5.Sum([]byte(text)), i)
		}
		tree["/t/d/md5sum.txt"] = list
		tree["/t/MD5SUMS"] = fmt.Sprintf("%x  ./above/x\n", md5.Sum([]byte("x")))
		if wrong {
			tree["/t/d/f3"] = "FILE 3"
		}
		s := newStand(t, tree, testserver.Options{Fault: func(c *testserver.Conn) testserver.Action {
			if c.Verb == "FEAT" { // it computes no digests
				return testserver.Reply("211-Features\r\n SIZE\r\n MDTM\r\n211 End")
			}
			return nil
		}})
		s.options.Each.Verify = true
		got := s.run(t.Context(), treeOf(t, s.srv.URL("/t/"), batch.Tree{}))
		if bad := strings.Join(s.failures(), "\n"); strings.Contains(bad, "f3: ") != wrong || got.Failed != 0 && !wrong || got.Complete != 13-got.Failed {
			t.Errorf("%+v\n%s", got, bad)
		}
		sent := strings.Join(s.srv.Commands(), "\n")
		for command, want := range map[string]int{"RETR md5sum.txt": 2, "RETR MD5SUMS": 2, "NLST": 4} {
			if n := strings.Count(sent, command); n != want {
				t.Errorf("%d times %s, want %d", n, command, want)
			}
		}
	}
}

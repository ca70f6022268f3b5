//go:build interop

package interop

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/rules/must"
)

// probe measures one server.
type probe struct {
	testing.TB
	kind    Kind
	flavour flavour
	tree    *Tree
	plain   *Server
	secure  *Server // with TLS; nil until a feature needs it
	ends    *string // endsFile in ASCII type, or why it does not come; nil until a feature needs it
}

// start returns another server of the same kind, which ends with the test.
func (p *probe) start(o Options) *Server { return New(p, p.kind, p.tree, o) }

func (p *probe) context() context.Context {
	ctx, cancel := context.WithTimeout(p.Context(), testTimeout)
	p.Cleanup(cancel)
	return ctx
}

// session returns a raw session that is logged in.
func (p *probe) session(s *Server) *control {
	p.Helper()
	c := must.Get(s.enter(p.context()))(p)
	p.Cleanup(func() { c.Close() })
	return c
}

// fetches says "yes" if ftpfetch retrieves pub/text.txt whole, and otherwise why not.
func (p *probe) fetches(c *ftpexec.Client, base string) string {
	_, got, err := fetch(p.context(), c, base+"/pub/text.txt")
	switch e := (*ftpexec.Error)(nil); {
	case err == nil && got == p.tree.Files["pub/text.txt"]:
		return "yes"
	case errors.As(err, &e) && e.Code != 0:
		return fmt.Sprint("no: ", e.Code)
	case err != nil:
		return "no"
	}
	return "wrong bytes"
}

// The files that only the probe needs, below the public directory.
const (
	endsFile = "probe/ends.txt"
	endsText = "1\n2\r\n3\r4" // line feed, carriage return and line feed, carriage return
	deepFile = "pub/a/b/c/file.txt"
)

// octets returns the octets that are a name by themselves: all but NUL, LF and CR, which no command can contain, "/", and
// ".", which is a directory.
func octets() (names []string) {
	for o := 1; o <= 0xff; o++ {
		if !strings.ContainsRune("\r\n/.", rune(o)) {
			names = append(names, string([]byte{byte(o)}))
		}
	}
	return names
}

// plantProbe returns the tree that the probed servers serve.
func plantProbe(t *testing.T) *Tree {
	t.Helper()
	files := map[string]string{"probe/ends.txt": endsText, "probe/denied.txt": "x", "probe/listing/plain": "plain", "probe/listing/.hidden": "x",
		"probe/listing/dir/inside": "x"}
	for _, name := range octets() {
		files["probe/octets/"+name] = name
	}
	tree := plantTree(t, files)
	below := func(path string) string { return filepath.Join(tree.Public, "probe") + "/" + path }
	must.Do(t, errors.Join(os.Chmod(below("denied.txt"), 0o600), os.Symlink("plain", below("listing/link")), makePublicDir(below("empty"))))
	return tree
}

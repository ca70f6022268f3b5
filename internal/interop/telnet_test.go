//go:build interop

package interop

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/rules/night"
)

// takesTelnet are the servers that read the control connection as Telnet, as RFC 959
// section 3.1 says: two octets 0xFF stand for one.
var takesTelnet = map[Kind]bool{Proftpd: true, Inetutils: true, Netkit: true}

// TestTelnetOctets finds out how each server takes a name with the octet 0xFF, which
// is IAC in Telnet, before every other octet: %FF%FF names it on servers that read
// Telnet, and %FF on the others. Some servers serve no name that is not UTF-8.
func TestTelnetOctets(t *testing.T) {
	t.Parallel()
	dir, err := publicTempDir("ftpfetch-telnet-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	tree, err := NewTree(dir)
	if err != nil {
		t.Fatal(err)
	}
	names := []string{"\xff", "x\xff", "x\xff\xff\xffy"}
	for b := ' '; b <= 0xff; b += rune(night.Or(11, 1)) {
		if !strings.ContainsRune("/\\\x7f", b) { // pure-ftpd does not take the last two
			names = append(names, "x\xff"+string([]byte{byte(b)})+"y")
		}
	}
	for _, name := range names {
		if err := writeFile(filepath.Join(tree.Public, "pub", name), "I am "+name); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range servers {
		t.Run(string(f.kind), func(t *testing.T) {
			t.Parallel()
			s, c := New(t, f.kind, tree, Options{}), newClient(t)
			for _, name := range names {
				sent := name
				if takesTelnet[f.kind] {
					sent = strings.ReplaceAll(name, "\xff", "\xff\xff")
				}
				_, got, err := fetch(testContext(t), c, s.URL("/pub/"+Escape(sent)))
				switch {
				case !s.serves(latin1Name) && err == nil:
					t.Errorf("%q: got %q, want a refusal", name, got)
				case s.serves(latin1Name) && (err != nil || got != "I am "+name):
					t.Errorf("%q as %q: got %q, %v", name, sent, got, err)
				}
			}
		})
	}
}

//go:build interop

package interop

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
)

// TestTLSRenegotiation has a proftpd that asks for another TLS handshake in the middle of a transfer, which TLS 1.2 allows
// and crypto/tls refuses. That is a lost connection, which can be resumed.
func TestTLSRenegotiation(t *testing.T) {
	s, err := Start(testContext(t), Proftpd, tree, Options{TLS: true, NoTLS13: true,
		More: []string{"TLSSessionTickets on"}, Renegotiate: 64})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	c := newClient(t)
	c.TLSConfig = &tls.Config{RootCAs: s.RootCAs}
	r, err := c.Get(testContext(t), "ftpes://"+s.Addr+"/pub/big.bin")
	if err == nil {
		var n int64
		n, err = io.Copy(io.Discard, r.Body)
		t.Logf("%d bytes of %d, %v", n, r.Size, err)
		r.Body.Close()
	}
	if !errors.Is(err, ftpexec.ErrLost) || errors.Is(err, ftpexec.ErrTLS) || !ftpexec.Retryable(err) {
		t.Errorf("got %v, want ErrLost", err)
	}
}

// TestTLSRenegotiationToTheEnd fetches the file from such servers with the command. Each connection brings what it can,
// and the next goes on there: the file must be whole, byte for byte, and no connection may bring nothing.
func TestTLSRenegotiationToTheEnd(t *testing.T) {
	command := build(t)
	want := tree.Files["pub/big.bin"]
	for _, after := range []int{1024, 4096} { // KiB
		for _, flags := range []string{"", "-s 3", "-c"} {
			t.Run(fmt.Sprint(after, " KiB ", flags), func(t *testing.T) {
				t.Parallel()
				s := New(t, Proftpd, tree, Options{TLS: true, NoTLS13: true, More: []string{"TLSSessionTickets on"}, Renegotiate: after})
				file := filepath.Join(t.TempDir(), "big.bin")
				if flags == "-c" {
					must.Do(t, os.WriteFile(file, []byte(want[:100]), 0o666))
				}
				args := append(strings.Fields(flags), "-v", "--cacert", s.CAFile(), "-o", file, "ftpes://"+s.Addr+"/pub/big.bin")
				out, err := exec.CommandContext(testContext(t), command, args...).CombinedOutput()
				got, _ := os.ReadFile(file)
				connections := strings.Count(string(out), "connected to ")
				t.Logf("%d connections", connections)
				if most := bigSize/(after<<10) + 4; connections < 2 || connections > most {
					t.Errorf("%d connections, want at most %d", connections, most)
				}
				if err != nil || string(got) != want {
					t.Errorf("%v, %d bytes of %d: %s", err, len(got), len(want), out)
				}
			})
		}
	}
}

package cli_test

import (
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/testserver"
)

// shy returns the address of a server that closes the first connections before it says or hears anything, and passes the
// others on.
func shy(t *testing.T, address string, first int) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { l.Close() })
	go func() {
		for n := 0; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", address)
			if n < first || err != nil {
				conn.Close()
				continue
			}
			go func() { _, _ = io.Copy(to, conn); to.Close() }()
			go func() { _, _ = io.Copy(conn, to); conn.Close() }()
		}
	}()
	return l.Addr().String()
}

// TestFirstConnection has servers that close the first connection at once, also before a TLS handshake. Whatever is asked
// of them comes with a retry, and only with one.
func TestFirstConnection(t *testing.T) {
	for _, mode := range []string{"ftp", "ftpes", "ftps"} {
		s := testserver.New(t, &testserver.Options{Scheme: mode, Tree: map[string]string{"/d/f": "contents"}})
		for _, what := range []string{"D/f", "-s 2 D/f", "D/", "D;type=d", "-l D/", "--json -l D/", "-I D/f", "-r D/", "--glob D/*", "-i LIST"} {
			for _, retries := range []string{"0", "1"} {
				t.Run(fmt.Sprint(what, " TLS ", mode, " retries ", retries), func(t *testing.T) {
					t.Parallel()
					url := strings.Replace(s.URL("/d"), s.Addr(), shy(t, s.Addr(), 1), 1)
					args := strings.Fields(strings.NewReplacer("D", url, "LIST", written(t, url+"/f\n")).Replace(what))
					code, _, said := run(t, append(args, "--insecure", "-d", filepath.Join(t.TempDir(), "out"), "--retries", retries)...)
					if (code == 0) != (retries == "1") {
						t.Errorf("exit %d, %s", code, said)
					}
				})
			}
		}
	}
}

// 127.0.0.2 is a local address on Linux only.

package ftpexec_test

import (
	"io"
	"net"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// TestStrangerInActiveMode checks that data from another host is not taken for the file, if that host connects to the
// port of active mode before the server does.
func TestStrangerInActiveMode(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: tree})
	strangers := 0
	c := &ftpexec.Client{MaxIdle: -1, Active: true, Trace: func(e ftpexec.Event) {
		if e.Mark != '>' || !strings.HasPrefix(e.Text, "EPRT ") {
			return
		}
		fields := strings.Split(e.Text, "|") // EPRT |1|127.0.0.1|port|
		d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
		conn, err := d.DialContext(t.Context(), "tcp", net.JoinHostPort(fields[2], fields[3]))
		if err != nil {
			t.Errorf("the stranger cannot connect: %v", err)
			return
		}
		strangers++
		_, _ = io.WriteString(conn, "forged contents")
		t.Cleanup(func() { conn.Close() })
	}}
	if got, err := read(t.Context(), c, parse(t, s.URL("/a/f"))); err != nil || got != "contents" || strangers != 1 {
		t.Errorf("got %q, %v, with %d strangers", got, err, strangers)
	}
}

package ftpexec_test

import (
	"context"
	"net"
	"strings"
	"sync"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// TestTwoLearnAtOnce has two connections of a client lose what was sent ahead: both try again, although only one of them
// is the first to learn it.
func TestTwoLearnAtOnce(t *testing.T) {
	inMemory(t, func(t *testing.T, network *ftptest.Network) {
		loses := testserver.On("USER", ftptest.CloseIfMore(), testserver.Reply("331 Password, please."))
		s := network.NewScript(t, testserver.Honest("contents"), testserver.OnConn(1, loses), testserver.OnConn(2, loses))
		var both sync.WaitGroup
		both.Add(2)
		var mu sync.Mutex
		dials := 0
		c := &ftpexec.Client{MaxIdle: -1, Dial: func(ctx context.Context, kind, address string) (net.Conn, error) {
			mu.Lock()
			dials++
			first := dials <= 2
			mu.Unlock()
			if first {
				both.Done()
				both.Wait()
			}
			return network.Dial(ctx, kind, address)
		}}
		var group sync.WaitGroup
		for range 2 {
			group.Go(func() {
				wantContents(t, c, parse(t, s.URL("/a/f")))
			})
		}
		group.Wait()
	})
}

// TestRefusedActiveModeClosesItsPort checks that nothing listens any more on a port that the server refused to connect to. It
// is one of an address that no other test has, because one of them may open the same port meanwhile.
func TestRefusedActiveModeClosesItsPort(t *testing.T) {
	for _, reply := range []string{"500 What?", "421 Gone", "120 Later"} {
		s := testserver.New(t, nil, testserver.Honest("contents"),
			testserver.On("EPRT", testserver.Reply(reply)), testserver.On("PORT", testserver.Reply(reply)))
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
		session := &ftpexec.Client{Active: true, Dial: dialer.DialContext}
		if _, err := session.Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("/a/f"))}); err == nil {
			t.Errorf("%s: no error", reply)
		}
		session.CloseIdleConnections()
		for _, line := range s.Commands() {
			fields := strings.Split(line, "|")
			if !strings.HasPrefix(line, "EPRT") || len(fields) != 5 {
				continue
			}
			if conn, err := net.Dial("tcp", net.JoinHostPort(fields[2], fields[3])); err == nil {
				conn.Close()
				t.Errorf("%s: port %s is open", reply, fields[3])
			}
		}
	}
}

package ftpexec_test

import (
	"bytes"
	"context"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/testserver"
)

// script is a server without a goroutine: what is written to it is answered at once. It counts the calls.
type script struct {
	net.Conn // nil; nothing else is called
	replies  bytes.Buffer
	calls    map[string]int
}

// scripted are its replies to the commands of a transfer.
var scripted = map[string]string{"USER": "331 x", "PASS": "230 x", "PWD": "257 \"/\"", "CWD": "250 x", "TYPE": "200 x", "EPSV": "229 x (|||1|)",
	"SIZE": "213 4096", "MDTM": "213 20260102030405", "RETR": "150 x\r\n226 Transfer complete.", "QUIT": "221 x"}

func (s *script) Write(p []byte) (int, error) {
	s.calls["Write"]++
	for line := range strings.Lines(string(p)) {
		verb, _, _ := strings.Cut(strings.TrimSpace(line), " ")
		s.replies.WriteString(scripted[verb] + "\r\n")
	}
	return len(p), nil
}

func (s *script) Read(p []byte) (int, error)       { s.calls["Read"]++; return s.replies.Read(p) }
func (s *script) SetReadDeadline(time.Time) error  { s.calls["deadline"]++; return nil }
func (s *script) SetWriteDeadline(time.Time) error { s.calls["deadline"]++; return nil }
func (s *script) Close() error                     { s.calls["Close"]++; return nil }
func (s *script) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 21} }

// TestCostOfASmallFile counts what a file takes that is not the first of its connection, nor the last.
func TestCostOfASmallFile(t *testing.T) {
	calls := map[string]int{}
	dial := func(_ context.Context, _, address string) (net.Conn, error) {
		s := &script{calls: calls}
		if strings.HasSuffix(address, ":21") {
			s.replies.WriteString("220 x\r\n")
		} else {
			s.replies.Write(make([]byte, 4096))
		}
		return s, nil
	}
	c := &ftpexec.Client{Dial: dial}
	u := parse(t, "ftp://127.0.0.1/pub/file-0001.dat")
	retrieve := func() {
		r := must.Get(c.Do(t.Context(), &ftpexec.Request{URL: u, More: func() bool { return true }}))(t)
		if n, err := io.Copy(io.Discard, r.Body); n != 4096 || err != nil {
			t.Errorf("got %d bytes, %v", n, err)
		}
		r.Body.Close()
	}
	retrieve()
	for what := range calls {
		calls[what] = 0
	}
	retrieve()
	for what, most := range map[string]int{"Write": 2, "Read": 4, "deadline": 10, "Close": 1} {
		if got := calls[what]; got > most {
			t.Errorf("%d calls of %s, want at most %d", got, what, most)
		}
	}
	const most = 101 // the race detector empties pools at times: 99
	if got := testing.AllocsPerRun(100, retrieve); got > most {
		t.Errorf("%v allocations, want at most %d", got, most)
	}
	c.CloseIdleConnections()
}

func BenchmarkSmallFile(b *testing.B) {
	s := testserver.New(b, &testserver.Options{Tree: map[string]string{"pub/f": strings.Repeat("x", 4096)}})
	c := new(ftpexec.Client)
	defer c.CloseIdleConnections()
	request := &ftpexec.Request{URL: parse(b, s.URL("/pub/f")), More: func() bool { return true }}
	b.ReportAllocs() // those of the server too
	for b.Loop() {
		r := must.Get(c.Do(b.Context(), request))(b)
		must.Get(io.Copy(io.Discard, r.Body))(b)
		r.Body.Close()
	}
}

//go:build interop

package interop

import (
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
)

// answersToLeave returns the replies of a server whose data connection the client closes in the middle of a file: all
// up to the one to NOOP. inetutils ends if it writes after the client's RST has come, and otherwise replies.
func (p *probe) answersToLeave() string {
	answers := p.answersToClose()
	if p.kind == "inetutils" && (answers == "426" || answers == "closed") {
		return "426 or closed"
	}
	return answers
}

func (p *probe) answersToClose() string {
	c := p.session(p.plain)
	found := passivePort.FindStringSubmatch(c.ask("PASV").text)
	high, _ := strconv.Atoi(found[1])
	low, _ := strconv.Atoi(found[2])
	data := must.Get(net.Dial("tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(high<<8+low))))(p)
	defer data.Close()
	if a := c.ask("RETR pub/big.bin"); a.code/100 != 1 {
		return p.no(a)
	}
	must.Get(io.ReadFull(data, make([]byte, 4<<10)))(p)
	data.Close()
	_ = c.raw.SetReadDeadline(time.Now().Add(2 * time.Second)) // as ftpexec waits
	var codes []string
	for a := c.read(); a.code != 200; a = c.read() {
		if a.code == 0 {
			return strings.Join(append(codes, a.text), " ")
		}
		if codes = append(codes, strconv.Itoa(a.code)); len(codes) == 1 {
			must.Do(p, c.PrintfLine("NOOP"))
		}
	}
	return strings.Join(codes, " ")
}

// readAround reads 4 KiB at random places of pub/big.bin, and closes each transfer early. It returns the number of
// logins. If the server has no REST, it reads from the beginning.
func readAround(t testing.TB, s *Server, tree *Tree, c *ftpexec.Client, times int) (logins int, err error) {
	count := countConnections(c)
	defer c.CloseIdleConnections()
	random := rand.New(rand.NewPCG(1, 2))
	want := tree.Files["pub/big.bin"]
	for range times {
		at := random.Int64N(int64(len(want)) / 2)
		req := &ftpexec.Request{URL: parse(t, s.URL("/pub/big.bin")), Offset: at}
		r, err := c.Do(t.Context(), req)
		if errors.Is(err, ftpexec.ErrNoRestart) {
			at = 0
			req.Offset = 0
			r, err = c.Do(t.Context(), req)
		}
		if err != nil {
			return *count, err
		}
		some := make([]byte, 4<<10)
		if _, err = io.ReadFull(r.Body, some); err == nil && string(some) != want[at:at+4<<10] {
			err = fmt.Errorf("other bytes at %d", at)
		}
		if err = errors.Join(err, r.Body.Close()); err != nil {
			return *count, err
		}
	}
	_, got, err := fetch(t.Context(), c, s.URL("/pub/text.txt"))
	if err == nil && got != tree.Files["pub/text.txt"] {
		err = errors.New("another file")
	}
	return *count, err
}

// keepsLeft reports whether the server keeps the connection after a transfer that the client has left.
// Under TLS pure-ftpd often says nothing.
func (s *Server) keepsLeft(tls bool) bool {
	if s.Kind == PureFTPd {
		return !tls
	}
	return s.Kind != "aioftp" && s.Kind != "inetutils"
}

func checkReadsAround(t *testing.T, s *Server, c *ftpexec.Client) {
	t.Helper()
	got, err := readAround(t, s, tree, c, 50)
	if want := s.logins(c); err != nil || s.keepsLeft(c.TryTLS) && got != want {
		t.Errorf("%d logins, %v; want %d", got, err, want)
	}
}

// Reads at random places of a large file need one login on every server that keeps the connection, although each
// transfer is left in its middle. On the others too no read gets wrong bytes.
func TestLeave(t *testing.T) {
	forEachClient(t, checkReadsAround)
}

// TestLeaveTLS is TestLeave under TLS.
func TestLeaveTLS(t *testing.T) {
	forEachTLSServer(t, func(t *testing.T, s *Server) {
		bothWays(t, s, func(t *testing.T, s *Server, c *ftpexec.Client) {
			c.TryTLS = true
			c.TLSConfig = &tls.Config{InsecureSkipVerify: true}
			checkReadsAround(t, s, c)
		})
	})
}

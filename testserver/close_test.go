package testserver

import (
	"io"
	"net"
	"strings"
	"testing"

	"github.com/spf13/afero"

	"example.com/ftpfetch/internal/rules/must"
)

func TestCloseIsFastWhateverHappens(t *testing.T) {
	tests := []struct {
		name string
		do   func(c *client)
	}{
		{"idle", func(*client) {}},
		{"transfer that waits for the client", func(c *client) {
			c.do("EPSV", "229")
			c.send("RETR f\r\nNOOP\r\n")
		}},
		{"data not read", func(c *client) {
			c.dialData()
			c.do("RETR big", "150")
		}},
		{"active data not read", func(c *client) {
			l := must.Get(net.Listen("tcp4", "127.0.0.1:0"))(c.t)
			c.t.Cleanup(func() { l.Close() })
			c.do("PORT 127,0,0,1,"+digits(l.Addr().(*net.TCPAddr).Port), "200")
			c.do("RETR big", "150")
		}},
		{"data stalled", func(c *client) {
			c.dialData()
			c.do("RETR stalls", "150")
		}},
		{"replies not read", func(c *client) { c.send(strings.Repeat("FEAT\r\n", 10000)) }},
		{"control stalled", func(c *client) { c.send("CWD stalls\r\nNOOP\r\n") }},
		{"control stalled at the reply", func(c *client) { c.send("MDTM stalls\r\nNOOP\r\n") }},
		{"passive port not used", func(c *client) { c.do("EPSV", "229"); c.do("EPSV", "229") }},
		{"client gone", func(c *client) {
			data := c.dialData()
			c.do("RETR big", "150")
			c.raw.Close()
			_, _ = io.Copy(io.Discard, data)
		}},
		{"hung up and client stays", func(c *client) { c.do("QUIT", "221") }},
	}
	fs := afero.NewMemMapFs()
	New(t, &Options{FS: fs, Tree: map[string]string{"/f": "x", "/stalls": "x", "/big": strings.Repeat("x", 16<<20)}}) // more than sockets hold
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := must.Get(Start(&Options{FS: fs, Fault: stallOnName}))(t)
			tt.do(anonymous(t, s.Addr()))
			must.Do(t, s.Close())
			if err := s.Close(); err != nil {
				t.Errorf("second Close: %v", err)
			}
		})
	}
}

func stallOnName(p *Conn) Action {
	switch {
	case p.Arg != "stalls":
		return nil
	case p.Verb == "CWD":
		return End(Stalled)
	case p.Verb == "MDTM":
		return Final(End(Stalled))
	}
	return Cut(0, Stalled)
}

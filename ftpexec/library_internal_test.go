package ftpexec

import (
	"bufio"
	"errors"
	"io"
	"net"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
)

// text is a data connection that brings a text.
type text struct {
	net.Conn
	io.Reader
	closed bool
}

func (t *text) Read(p []byte) (int, error) { return t.Reader.Read(p) }

func (t *text) Close() error {
	t.closed = true
	return nil
}

// TestLibrary starts one transfer after another, and checks that the library leaves no reply of a transcript unread,
// which it would take for one of the next, and closes what it has read to the end.
func TestLibrary(t *testing.T) {
	l := must.Get(newLibrary(&net.TCPAddr{}))(t)
	data := func(s string) *text { return &text{Reader: strings.NewReader(s)} }
	for round := range 3 {
		for offset, name := range []string{"f", "", "a b%s\xff", strings.Repeat("x", 9000)} {
			r := must.Get(l.retrieve(name, int64(offset), 1+round, data("contents")))(t)
			if got := must.Get(io.ReadAll(r))(t); string(got) != "contents" {
				t.Errorf("%q from %d: got %q", name, offset, got)
			}
		}
		for _, name := range []string{"", "-a", "dir"} {
			lines := data("one\r\ntwo\r\n")
			if err := l.list(name, 65535, lines); err != nil || !lines.closed {
				t.Errorf("%q: %v, closed %t", name, err, lines.closed)
			}
		}
		long := data(strings.Repeat("x", bufio.MaxScanTokenSize+1))
		if err := l.list("", 1, long); !errors.Is(err, bufio.ErrTooLong) {
			t.Errorf("a line too long: %v", err)
		}
		if n := l.replies.Len(); n != 0 {
			t.Errorf("%d bytes of a transcript are not read", n)
		}
	}
}

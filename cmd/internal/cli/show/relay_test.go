package show

import (
	"bytes"
	"strings"
	"testing"
)

// terminal is a terminal that keeps what is written.
type terminal struct{ bytes.Buffer }

func (*terminal) IsTerminal() bool { return true }

// TestRelay checks what becomes of the lines of a command, on terminals and elsewhere.
func TestRelay(t *testing.T) {
	const line = "a\x1b[2Jb\xff\r\n"
	for _, tt := range []struct {
		toTerminal bool
		mode       Mode
		out, err   string
	}{
		{false, Plain, line, `a\x1b[2Jb\xff` + "\n"},
		{true, Plain, `a\x1b[2Jb\xff` + "\n", `a\x1b[2Jb\xff` + "\n"},
		{false, JSON, line, `"path":"d/f","text":"a`},
	} {
		var plain, messages bytes.Buffer
		var screen terminal
		p := New(&plain, &messages, nil)
		out := &plain
		if tt.toTerminal {
			p = New(&screen, &messages, nil)
			out = &screen.Buffer
		}
		p.Progress = tt.mode
		p.Relay([]byte(line))
		p.RelayError("d/f", []byte(line))
		if out.String() != tt.out || !strings.Contains(messages.String(), tt.err) || strings.Contains(messages.String(), "\x1b") {
			t.Errorf("%+v: %q, %q", tt, out, messages.String())
		}
	}
}

// TestRelayAboveRows checks that the rows of transfers are removed before a command's line, and drawn again after it.
func TestRelayAboveRows(t *testing.T) {
	var out, messages terminal
	p := New(&out, &messages, nil)
	p.Progress = Bar
	r := p.Run("", 1, -1)
	defer r.Stop()
	p.Relay([]byte("first\n"))
	p.RelayError("f", []byte("second\n"))
	if out.String() != "first\n" || !strings.Contains(messages.String(), "second\n") || p.bottom != r {
		t.Errorf("%q, %q", out.String(), messages.String())
	}
}

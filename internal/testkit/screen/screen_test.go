package screen

import (
	"io"
	"strings"
	"testing"
)

// TestWrite checks what a screen of ten columns shows.
func TestWrite(t *testing.T) {
	for _, row := range []struct{ written, want string }{
		{"abc", "abc"},
		{"abc\rx", "xbc"},
		{"abc\r\ndef", "abc\ndef"},
		{"0123456789ab", "0123456789\nab"},
		{"one\r\ntwo\r\n\x1b[2AONE", "ONE\ntwo\n"},
		{"one\r\ntwo\r\n\x1b[2A\x1b[J1", "1"},
		{"\x1b[31mred\x1b[0m", "red"},
		{"\x1b[9Aup", "up"},
	} {
		s := New(10)
		for _, c := range []byte(row.written) {
			if _, err := s.Write([]byte{c}); err != nil {
				t.Fatal(err)
			}
		}
		if got := s.String(); got != row.want {
			t.Errorf("%q shows %q, want %q", row.written, got, row.want)
		}
	}
}

// TestWait checks that Wait returns when the screen shows what is wanted, and when nothing more comes.
func TestWait(t *testing.T) {
	s := New(80)
	r, w := io.Pipe()
	go s.Show(r)
	if _, err := io.WriteString(w, "ready"); err != nil {
		t.Fatal(err)
	}
	if got := s.Wait(func(text string) bool { return strings.Contains(text, "ready") }); got != "ready" {
		t.Errorf("got %q", got)
	}
	w.Close()
	if got := s.Wait(func(string) bool { return false }); got != "ready" {
		t.Errorf("at the end: got %q", got)
	}
}

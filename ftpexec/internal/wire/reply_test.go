package wire

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

func reader(s string) *bufio.Reader { return bufio.NewReaderSize(strings.NewReader(s), maxLine) }

func unmasked(text string) string { return text }

func TestReadReply(t *testing.T) {
	for _, tt := range []struct {
		name, in string
		want     Reply
	}{
		{"one line", "200 ok\r\n", Reply{Code: 200, Text: "ok"}},
		{"no text", "200 \r\n", Reply{Code: 200, Text: ""}},
		{"code alone", "200\r\n", Reply{Code: 200, Text: ""}},
		{"LF alone", "200 ok\n", Reply{Code: 200, Text: "ok"}},
		{"two CR", "200 ok\r\r\n", Reply{Code: 200, Text: "ok"}},
		{"many lines", "211-Features:\r\n MDTM\r\n SIZE\r\n211 End\r\n", Reply{Code: 211, Text: "Features:\n MDTM\n SIZE\nEnd"}},
		{"code on every line", "230-a\r\n230-b\r\n230 c\r\n", Reply{Code: 230, Text: "a\n230-b\nc"}},
		{"other code inside", "230-a\r\n220 b\r\n230 c\r\n", Reply{Code: 230, Text: "a\n220 b\nc"}},
		{"ends in the code alone", "230-a\r\n230\r\n", Reply{Code: 230, Text: "a\n"}},
		{"bytes", "250 \xe9\x00\x1b[2J\xff\r\n", Reply{Code: 250, Text: "\xe9\x00\x1b[2J\xff"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got, err := readReply(reader(tt.in), unmasked)
			if got.raw = ""; err != nil || got != tt.want {
				t.Errorf("got %+v, %v, want %+v", got, err, tt.want)
			}
		})
	}
}

func TestReadReplyRefuses(t *testing.T) {
	for _, tt := range []struct{ name, in, reason string }{
		{"no code", "hello\r\n", "three digits"},
		{"short", "20\r\n", "three digits"},
		{"code 000", "000 x\r\n", "out of range"},
		{"code 099", "099 x\r\n", "out of range"},
		{"code 600", "600 x\r\n", "out of range"},
		{"code 999", "999 x\r\n", "out of range"},
		{"four digits", "2000 x\r\n", "after the code"},
		{"empty line", "\r\n", "three digits"},
		{"endless line", "200 " + strings.Repeat("x", maxLine), "line too long"},
		{"endless reply", "200-\r\n" + strings.Repeat("more\r\n", maxReply), "reply too long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := readReply(reader(tt.in), unmasked)
			if !errors.Is(err, ErrProtocol) || !strings.Contains(err.Error(), tt.reason) {
				t.Errorf("error %v, want one that says %q", err, tt.reason)
			}
			if len(err.Error()) > 500 {
				t.Errorf("error of %d bytes", len(err.Error()))
			}
		})
	}
	for _, in := range []string{"", "220", "220-a\r\n", "220-a\r\n220"} {
		if _, err := readReply(reader(in), unmasked); !errors.Is(err, io.EOF) {
			t.Errorf("%q: error %v, want EOF", in, err)
		}
	}
}

func FuzzReadReply(f *testing.F) {
	for _, s := range []string{
		"200 ok\r\n", "211-Features:\r\n MDTM\r\n211 End\r\n", "220-a\r\n220\r\n", "999 x\r\n", "227 )(\r\n", "\r\n\r\n",
		"257 \"x\r\n", "229 (|||99999|)\r\n", "230-\x00\xff\r\n230 \r\n",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r := reader(s)
		for {
			reply, err := readReply(r, unmasked)
			if err != nil {
				return
			}
			checkReply(t, reply)
		}
	})
}

// checkReply checks that a reply is within its limits.
func checkReply(t *testing.T, r Reply) {
	if r.Code < 100 || r.Code > 599 || len(r.Text) > maxReply || strings.Contains(r.String(), "\n") {
		t.Fatalf("reply out of bounds: %+v", r)
	}
}

func TestSecrets(t *testing.T) {
	var s Secrets
	for _, secret := range []string{"ab", "pass", "password", "", "pass"} {
		s.Add(secret)
	}
	for _, tt := range []struct{ in, want string }{
		{"", ""}, {"ab and pass", "ab and " + stars}, {"the password", "the " + stars}, {"passpass", stars + stars}, {"no", "no"},
	} {
		if got := s.Mask(tt.in); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
	}
}

// The one used longest ago is forgotten first.
func TestSecretsAreBounded(t *testing.T) {
	const most = 1024 // as SECURITY.md says
	var s Secrets
	for i := range most + 1 {
		s.Add(fmt.Sprintf("<%d>", i))
		s.Add("<first>")
	}
	if kept := len(s.used()); kept != most {
		t.Errorf("%d secrets are kept, want %d", kept, most)
	}
	if got := s.Mask("<0> <first>"); !strings.HasPrefix(got, "<0>") || strings.Contains(got, "first") {
		t.Errorf("got %q", got)
	}
	if got, last := s.Mask(fmt.Sprintf("<%d>", most)), stars; got != last {
		t.Errorf("the latest is shown: %q", got)
	}
}

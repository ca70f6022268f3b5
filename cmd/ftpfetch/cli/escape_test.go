package cli

import (
	"encoding/json"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

func TestEscape(t *testing.T) {
	tests := []struct{ in, want string }{
		{"", ""},
		{"plain name.txt", "plain name.txt"},
		{`back\slash`, `back\slash`},
		{"naïve – 日本", "naïve – 日本"},
		{"\u0645\u06cc\u200c\u062e", "\u0645\u06cc\u200c\u062e"}, // a zero-width non-joiner, as Persian is written
		{"a\nb\tc\r", `a\x0ab\x09c\x0d`},
		{"\x1b[31mred\x7f", `\x1b[31mred\x7f`},
		{"caf\xe9", `caf\xe9`},
		{"\xff\xfe", `\xff\xfe`},
		{"c1 \u009b31m", `c1 \u009b31m`},
		{"cod\u202eexe.txt", `cod\u202eexe.txt`},
		{"\u2066x\u2069\u200f\ufeff", `\u2066x\u2069\u200f\ufeff`},
		{"line\u2028end", `line\u2028end`},
		{"tag\U000e0041", `tag\U000e0041`},
		{"\ufffd stays", "\ufffd stays"},
	}
	for _, tt := range tests {
		if got := escape(tt.in); got != tt.want {
			t.Errorf("escape(%q) = %s, want %s", tt.in, got, tt.want)
		}
		if once := escape(tt.in); escape(once) != once {
			t.Errorf("escape(%q) leaves something to escape: %q", tt.in, once)
		}
	}
}

func TestOneLine(t *testing.T) {
	if got, want := oneLine("one\r\ntwo\nthree\n"), "one / two / three"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	long := make([]byte, 5000)
	for i := range long {
		long[i] = 'x'
	}
	if got := oneLine(string(long)); len(got) > 1100 {
		t.Errorf("%d octets", len(got))
	}
}

func TestJSONEntry(t *testing.T) {
	dir := &urlparse.URL{
		Scheme: urlparse.FTP, Host: "h", Dirs: []string{"a"},
		User: urlparse.Some("me"), Password: urlparse.Some("secret"),
	}
	tests := []struct{ name, want string }{
		{"x", `{"name":"x","url":"ftp://me@h/a/x"}`},
		{`<&>"\`, `{"name":"<&>\"\\","url":"ftp://me@h/a/%3C%26%3E%22%5C"}`},
		{"caf\xe9", `{"name":"caf\ufffd","url":"ftp://me@h/a/caf%E9"}`},
		{"\x1b\u202e\u009b\U000e0041", `{"name":"\u001b\u202e\u009b\udb40\udc41","url":"ftp://me@h/a/%1B%E2%80%AE%C2%9B%F3%A0%81%81"}`},
	}
	for _, tt := range tests {
		got := string(jsonEntry(ftpexec.Entry{Name: tt.name, Base: tt.name, URL: dir.Child(tt.name, urlparse.TypeNone)}))
		if got != tt.want+"\n" {
			t.Errorf("%q: got %swant %s", tt.name, got, tt.want)
		}
		var back struct{ Name, URL string }
		if err := json.Unmarshal([]byte(got), &back); err != nil {
			t.Errorf("%q: %v", got, err)
		}
		u, err := urlparse.Parse(back.URL)
		if err != nil || u.Name != tt.name {
			t.Errorf("%q: the URL names %v (%v)", tt.name, u, err)
		}
	}
}

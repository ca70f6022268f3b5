package cli

import (
	"encoding/json"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

func TestOneLine(t *testing.T) {
	if got, want := oneLine("one\r\ntwo\nthree\n"), "one / two / three"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	long := make([]byte, 5000)
	for i := range long {
		long[i] = 'x'
	}
	if got := oneLine(string(long)); len(got) > 1100 {
		t.Errorf("%d bytes", len(got))
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

package ftpexec

import (
	"cmp"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"example.com/ftpfetch/urlparse"
)

// spellings are texts of URLs with a %s for one octet, literal or escaped.
var spellings = []string{
	"ftp://h/d/a%sb", "ftp://h/d/%s", "ftp://h/%s", "ftp://h/a%sb/f", "ftp://h/%s/f", "ftp://h/a%sb;type=i", "ftp://h/d/a%s", "ftp://h/%s%%2F",
	"ftp://u%sv@h/f", "ftp://%s@h/f", "ftp://u%sv:p@h/f", "ftp://u:p%sq@h/f", "ftp://u:%s@h/f", "ftp://u:p%s@h/f",
	"ftp://a%sb/f", "ftp://h%s/f", "ftp://%s", "ftp://h:2%s1/f", "f%stp://h/f", "ftp:%s//h/f",
}

// forgotten are the texts of the sweep that net/url reads in another way than urlparse, and what they mean then; "" means
// that they are refused.
var forgotten = map[string]string{
	// urlparse refuses a "#". net/url forgets it if nothing follows.
	"ftp://h/d/a#": "ftp://h/d/a", "ftp://h/d/#": "ftp://h/d/", "ftp://h/#": "ftp://h/", "ftp://h/f#": "ftp://h/f",
	// urlparse refuses these octets in a login. net/url decodes a login, and does not keep its text.
	"ftp://u@v@h/f": "ftp://u%40v@h/f", "ftp://u~v@h/f": "ftp://u%7Ev@h/f", "ftp://@@h/f": "ftp://%40@h/f", "ftp://~@h/f": "ftp://%7E@h/f",
	"ftp://u:v:p@h/f": "ftp://u:v%3Ap@h/f", "ftp://u@v:p@h/f": "ftp://u%40v:p@h/f", "ftp://u~v:p@h/f": "ftp://u%7Ev:p@h/f",
	"ftp://u:p:q@h/f": "ftp://u:p%3Aq@h/f", "ftp://u:p@q@h/f": "ftp://u:p%40q@h/f", "ftp://u:p~q@h/f": "ftp://u:p%7Eq@h/f",
	"ftp://u::@h/f": "ftp://u:%3A@h/f", "ftp://u:@@h/f": "ftp://u:%40@h/f", "ftp://u:~@h/f": "ftp://u:%7E@h/f",
	"ftp://u:p:@h/f": "ftp://u:p%3A@h/f", "ftp://u:p@@h/f": "ftp://u:p%40@h/f", "ftp://u:p~@h/f": "ftp://u:p%7E@h/f",
	// A "?" in a login ends the host for net/url.
	"ftp://u?v@h/f": "", "ftp://?@h/f": "", "ftp://u?v:p@h/f": "", "ftp://u:p?q@h/f": "", "ftp://u:?@h/f": "", "ftp://u:p?@h/f": "",
	// net/http drops the ":" of an empty port, which may be that of a password with a "/".
	"ftp://h:/f": "ftp://h/f", "ftp://u:/@h/f": "ftp://u/@h/f",
	// net/url decodes escapes in a host that are not ASCII.
	"ftp://b%C3%BCcher/f": "ftp://b\u00fccher/f",
}

// What comes out of net/url means what the text means, or net/url refuses it.
func TestTransportURLOctets(t *testing.T) {
	seen := map[string]bool{}
	check := func(text string) {
		if got, want := checkRequested(text); got != want {
			t.Errorf("%q: got %s, want %s", text, got, want)
		}
		seen[text] = true
	}
	for _, s := range spellings {
		for octet := range 256 {
			for _, form := range []string{"%c", "%%%02X", "%%%02x"} {
				if form == "%c" {
					check(fmt.Sprintf(s, string([]byte{byte(octet)})))
				} else {
					check(fmt.Sprintf(s, fmt.Sprintf(form, octet)))
				}
			}
		}
	}
	for _, text := range wholeTexts {
		check(text)
	}
	for text := range forgotten {
		if !seen[text] {
			t.Errorf("%q is not in the sweep", text)
		}
	}
}

// wholeTexts are spellings of which more than one octet matters.
var wholeTexts = []string{
	"ftp://h", "ftp://h/", "FTP://H/F", "ftps://h/f", "FtpEs://h/f", "http://h/f", "ftp://h//f", "ftp://h///", "ftp://h/%2F", "ftp://h/%2Fetc/f",
	"ftp://h/a/../b/./f", "ftp://h/..", "ftp://h/f;type=a", "ftp://h/f;TYPE=I", "ftp://h/d;type=d", "ftp://h/;type=i", "ftp://h/f;type=x",
	"ftp://h/f%3Btype=a", "ftp://h/f;type=a/g", "ftp://h/f;v=1", "ftp://h/f?", "ftp://h/f?x", "ftp://h/f??x?y/g", "ftp://h/f?x;type=a", "ftp://h/f?x#y",
	"ftp://h?", "ftp://h?x", "ftp://h?x/f", "ftp://h/f#", "ftp://h/f#x y", "ftp://h#f", "ftp://u#v@h/f", "ftp://h/f%23",
	"ftp://@h/f", "ftp://:@h/f", "ftp://u@h/f", "ftp://u:@h/f", "ftp://:p@h/f", "ftp://u%3Ap@h/f", "ftp://u:p@h:2121/f",
	"ftp://b\u00fccher/f", "ftp://b%C3%BCcher/f", "ftp://h/b\u00fccher", "ftp://h/b%C3%BCcher", "ftp://h/\u00a0", "ftp://h/a\xffb",
	"ftp://[::1]/f", "ftp://[::1]:2121/f", "ftp://[fe80::1%25eth0]/f", "ftp://[fe80::1%eth0]/f", "ftp://::1/f", "ftp://[::1/f", "ftp://1.2.3.4/f",
	"ftp://h./f", "ftp://a_b/f", "ftp://-h/f", "ftp://h:0/f", "ftp://h:25/f", "ftp://h:99999/f", "ftp://h:021/f",
	"ftp:h/f", "ftp:/h/f", "ftp:///f", "//h/f", "h/f", "", "ftp://h/100%", "ftp://h/%zz", "ftp://h/%0D", "ftp://u:%0A@h/f", "ftp://h/%00",
}

// checkRequested returns what the request for a text means, and what it should mean: a URL with its password, or "refused".
func checkRequested(text string) (got, want string) {
	got, want = "refused", "refused"
	if req, err := http.NewRequest(http.MethodGet, text, nil); err == nil {
		if u, err := requested(req); err == nil {
			got = u.String()
		}
	}
	meaning, odd := forgotten[text]
	if !odd {
		meaning = text
	}
	if u, err := urlparse.Parse(meaning); err == nil {
		want = u.String()
	}
	return got, want
}

// FuzzTransportURL looks for a text that a request turns into another URL.
func FuzzTransportURL(f *testing.F) {
	for _, text := range wholeTexts {
		f.Add(text)
	}
	for text := range forgotten {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		req, err := http.NewRequest(http.MethodGet, text, nil)
		if err != nil {
			return
		}
		got, gotErr := requested(req)
		want, wantErr := urlparse.Parse(text)
		before, _, _ := strings.Cut(strings.TrimPrefix(text[strings.IndexByte(text, ':')+1:], "//"), "/")
		if gotErr == nil {
			if host, err := urlparse.Parse(req.URL.Scheme + "://" + req.URL.Host); err != nil || host.Address() != got.Address() {
				t.Errorf("%q: got %s, but the host is %s", text, got.Address(), req.URL.Host)
			}
		}
		switch {
		case gotErr != nil && wantErr != nil:
		case gotErr == nil && wantErr == nil:
			if !got.Equal(want) {
				t.Errorf("%q: got %s, want %s", text, got.String(), want.String())
			}
		case gotErr != nil && !strings.Contains(before, "?"):
			t.Errorf("%q: %v", text, gotErr)
		case gotErr == nil && req.URL.User == nil && !strings.HasSuffix(text, "#") && !strings.HasSuffix(before, ":") && !strings.Contains(before, "%"):
			t.Errorf("%q: got %s, want %v", text, got.String(), wantErr)
		}
	})
}

// A path that was put together by hand has no text of its own; RawPath counts only if it belongs to Path.
func TestTransportURLByHand(t *testing.T) {
	tests := []struct {
		u    url.URL
		want string // "" if refused
	}{
		{url.URL{Path: "/a b/f"}, "ftp://h/a%20b/f"},
		{url.URL{Path: "a/f"}, "ftp://h/a/f"},
		{url.URL{Path: "/100%/#"}, "ftp://h/100%25/%23"},
		{url.URL{Path: "/a/b", RawPath: "/a%2Fb"}, "ftp://h/a%2Fb"},
		{url.URL{Path: "/a/b", RawPath: "/other"}, "ftp://h/a/b"},
		{url.URL{Path: "/a b", RawPath: "/a b"}, ""},
		{url.URL{Path: "/f;type=a"}, "ftp://h/f;type=a"},
		{url.URL{User: url.UserPassword("a b", "~/?#@:\xff")}, "ftp://a%20b:%7E%2F%3F%23%40%3A%FF@h/"},
		{url.URL{User: url.User("")}, "ftp://@h/"},
		{url.URL{Opaque: "//other/f"}, ""},
		{url.URL{RawQuery: "@other/f"}, ""},
		{url.URL{Host: "h@other", Path: "/f"}, ""},
		{url.URL{Host: "u:p@other", Path: "/f"}, ""},
		{url.URL{Host: "h/f@other", Path: "/g"}, "ftp://h/f%40other/g"},
	}
	for _, tt := range tests {
		tt.u.Scheme, tt.u.Host = "ftp", cmp.Or(tt.u.Host, "h")
		got := ""
		if u, err := requested(&http.Request{URL: &tt.u}); err == nil {
			got = u.String()
		}
		if got != tt.want {
			t.Errorf("%+v: got %q, want %q", tt.u, got, tt.want)
		}
	}
}

// The login is that of the Authorization, unless an http.Client made it from the URL.
func TestTransportLogin(t *testing.T) {
	basic := func(login string) string { return "Basic " + base64.StdEncoding.EncodeToString([]byte(login)) }
	tests := []struct{ url, authorization, want string }{
		{"ftp://h/f", "", "ftp://h/f"},
		{"ftp://h/f", basic("u:p"), "ftp://u:p@h/f"},
		{"ftp://h/f", basic("u:"), "ftp://u:@h/f"},
		{"ftp://h/f", basic(":"), "ftp://:@h/f"},
		{"ftp://h/f", basic("u:p:q@\xff"), "ftp://u:p%3Aq%40%FF@h/f"},
		{"ftp://h/f", basic("u:\r\nDELE f"), ""},
		{"ftp://h/f", basic("u\x00:p"), ""},
		{"ftp://h/f", basic("u"), "ftp://h/f"},
		{"ftp://h/f", "Bearer x", "ftp://h/f"},
		{"ftp://u@h/f", basic("u:"), "ftp://u@h/f"},
		{"ftp://u:@h/f", basic("u:"), "ftp://u:@h/f"},
		{"ftp://u@h/f", basic("u:p"), "ftp://u:p@h/f"},
		{"ftp://u:p@h/f", basic("u:p"), "ftp://u:p@h/f"},
		{"ftp://u:p@h/f", basic("v:q"), "ftp://v:q@h/f"},
		{"ftp://@h/f", basic(":"), "ftp://@h/f"},
	}
	for _, tt := range tests {
		req, err := http.NewRequest(http.MethodGet, tt.url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if tt.authorization != "" {
			req.Header.Set("Authorization", tt.authorization)
		}
		got := ""
		u, err := requested(req)
		if err == nil {
			got = u.String()
		} else if strings.Contains(err.Error(), "DELE") {
			t.Errorf("%s shows the password", err)
		}
		if got != tt.want {
			t.Errorf("%s with %q: got %q, want %q", tt.url, tt.authorization, got, tt.want)
		}
	}
	if _, err := requested(&http.Request{}); err == nil {
		t.Error("no URL: no error")
	}
}

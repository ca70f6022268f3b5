package ftphttp

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
	"ftp://h/d/a%sb", "ftp://h/d/%s", "ftp://h/%s", "ftp://h/a%sb/f", "ftp://h/%s/f", "ftp://h/a%sb;type=i", "ftp://h/d/a%s", "ftp://h/%s%%2F", "ftp://h/f?%s",
	"ftp://u%sv@h/f", "ftp://%s@h/f", "ftp://u%sv:p@h/f", "ftp://u:p%sq@h/f", "ftp://u:%s@h/f", "ftp://u:p%s@h/f",
	"ftp://a%sb/f", "ftp://h%s/f", "ftp://%s", "ftp://h:2%s1/f", "f%stp://h/f", "ftp:%s//h/f",
	"%sftp://h", "ftp://h//f%s", "ftp://h/a/../b/./f;type=a%s", "ftp://[::1]:2121/f%s", "ftp://[fe80::1%%25eth0]/%s", "ftp://h:25/f%s", "FtpEs://:p@H./f%s", "ftp:///f%s", "h/f%s",
}

// forgotten has the texts of the sweep that net/url reads differently from urlparse, and what they then mean; "" means
// that they are refused.
var forgotten = map[string]string{
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
}

// meaning returns what the request for a text means: the path with its octets escaped, and without an empty fragment.
func meaning(text string) string {
	if m, odd := forgotten[text]; odd {
		return m
	}
	if start := strings.Index(text, "://") + 3; start > 2 && strings.Contains(text[start:], "/") {
		start += strings.IndexByte(text[start:], '/')
		path := strings.TrimSuffix(text[start:], "#")
		if !strings.Contains(path, "#") {
			path = strings.ReplaceAll(odd().ReplaceAllStringFunc(path, url.PathEscape), "%3F", "?")
		}
		text = text[:start] + path
	}
	return text
}

// A URL from net/url means what its text means, or net/url refuses the text.
func TestURLOctets(t *testing.T) {
	for _, s := range spellings {
		for octet := range 256 {
			for _, form := range []string{string([]byte{byte(octet)}), fmt.Sprintf("%%%02X", octet), fmt.Sprintf("%%%02x", octet), ""} {
				text := fmt.Sprintf(s, form)
				got, want := "refused", "refused"
				req, err := http.NewRequest(http.MethodGet, text, nil)
				if err == nil {
					if u, err := requested(req); err == nil {
						got = u.String()
					}
				}
				if u, wrong := urlparse.Parse(meaning(text)); wrong == nil && err == nil {
					want = u.String()
				}
				if got != want {
					t.Errorf("%q: got %s, want %s", text, got, want)
				}
			}
		}
	}
}

// A path that was put together by hand has no text of its own; RawPath counts only if it belongs to Path. The login
// comes from the Authorization, unless an http.Client made it from the URL.
func TestURLByHand(t *testing.T) {
	user, password := url.User, url.UserPassword
	for _, tt := range []struct {
		u                   url.URL
		authorization, want string // want is "" if refused
	}{
		{url.URL{Path: "/a b/f"}, "", "ftp://h/a%20b/f"}, {url.URL{Path: "a/f"}, "", "ftp://h/a/f"}, {url.URL{Path: "/100%/#"}, "", "ftp://h/100%25/%23"},
		{url.URL{Path: "/a/b", RawPath: "/a%2Fb"}, "", "ftp://h/a%2Fb"}, {url.URL{Path: "/a/b", RawPath: "/other"}, "", "ftp://h/a/b"},
		{url.URL{Path: "/a b/?/c", RawPath: "/a b%2F?/c"}, "", "ftp://h/a%20b%2F%3F/c"}, {url.URL{Path: "/f;type=a"}, "", "ftp://h/f;type=a"},
		{url.URL{User: password("a b", "~/?#@:\xff")}, "", "ftp://a%20b:%7E%2F%3F%23%40%3A%FF@h/"}, {url.URL{User: user("")}, "", "ftp://@h/"},
		{url.URL{Opaque: "//other/f"}, "", ""}, {url.URL{Host: "-", OmitHost: true, Path: "//other/f"}, "", ""}, {url.URL{RawQuery: "@other/f"}, "", ""},
		{url.URL{Host: "h@other", Path: "/f"}, "", ""}, {url.URL{Host: "u:p@other", Path: "/f"}, "", ""}, {url.URL{Host: "h/f@other", Path: "/g"}, "", ""}, {url.URL{Host: "-"}, "", ""},

		{url.URL{}, "u:p", "ftp://u:p@h/"}, {url.URL{}, "u:", "ftp://u:@h/"}, {url.URL{}, ":", "ftp://:@h/"}, {url.URL{}, "u:p:q@\xff", "ftp://u:p%3Aq%40%FF@h/"},
		{url.URL{}, "u:\r\nDELE f", ""}, {url.URL{}, "u\x00:p", ""}, {url.URL{}, "u", "ftp://h/"}, {url.URL{User: user("u")}, "u:", "ftp://u@h/"},
		{url.URL{User: password("u", "")}, "u:", "ftp://u:@h/"}, {url.URL{User: user("u")}, "u:p", "ftp://u:p@h/"}, {url.URL{User: password("u", "p")}, "u:p", "ftp://u:p@h/"},
		{url.URL{User: password("u", "p")}, "v:q", "ftp://v:q@h/"}, {url.URL{User: user("")}, ":", "ftp://@h/"},
	} {
		tt.u.Scheme, tt.u.Host = "ftp", strings.TrimPrefix(cmp.Or(tt.u.Host, "h"), "-")
		req := &http.Request{URL: &tt.u, Header: http.Header{}}
		if tt.authorization != "" {
			req.Header.Set("Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(tt.authorization)))
		}
		u, err := requested(req)
		if got := fmt.Sprint(err); err == nil && u.String() != tt.want || (err == nil) != (tt.want != "") || strings.Contains(got, "DELE") {
			t.Errorf("%+v, %q: got %+v, %s, want %q", tt.u, tt.authorization, u, got, tt.want)
		}
	}
	if _, err := requested(&http.Request{}); err == nil {
		t.Error("no URL: no error")
	}
}

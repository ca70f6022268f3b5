package urlparse

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// parseCase is a valid URL. An empty canon means that in is canonical.
type parseCase struct {
	in    string
	want  URL
	canon string
}

// testParse runs a table: the parts, the canonical text, and the round trip.
func testParse(t *testing.T, cases []parseCase) {
	t.Helper()
	for _, c := range cases {
		got, err := Parse(c.in)
		if err != nil {
			t.Errorf("Parse(%q): %v", c.in, err)
			continue
		}
		c.want.Scheme = cmp.Or(c.want.Scheme, FTP)
		if canon := cmp.Or(c.canon, c.in); !reflect.DeepEqual(*got, c.want) || got.String() != canon {
			t.Errorf("Parse(%q)\n got %s, printed as %s\nwant %s, %s", c.in, fields(got), got, fields(&c.want), canon)
		}
		checkRoundTrip(t, got)
	}
}

// checkRoundTrip checks what String and Check promise for every URL.
func checkRoundTrip(t *testing.T, u *URL) {
	t.Helper()
	again, err := Parse(u.String())
	if err != nil {
		t.Errorf("%q does not parse: %v", u.String(), err)
		return
	}
	same := again.SameLogin(u) && u.SameLogin(again) && slices.Equal(again.Dirs, u.Dirs) && again.Name == u.Name && again.Type == u.Type
	if !same || again.String() != u.String() {
		t.Errorf("%q comes back as %q", u.String(), again.String())
	}
	if err := u.Check(); err != nil {
		t.Errorf("Check of %q: %v", u.String(), err)
	}
}

func TestSection2_1Scheme(t *testing.T) {
	testParse(t, []parseCase{
		{in: "ftp://h/", want: URL{Host: "h"}},
		{in: "FTP://h/", want: URL{Host: "h"}, canon: "ftp://h/"},
		{in: "fTp://h/", want: URL{Host: "h"}, canon: "ftp://h/"},
		{in: "ftps://h/", want: URL{Scheme: FTPS, Host: "h"}},
		{in: "FTPES://h/", want: URL{Scheme: FTPES, Host: "h"}, canon: "ftpes://h/"},
	})
}

// TestSection2_2Encoding encodes every octet of a name, with digits of either case.
func TestSection2_2Encoding(t *testing.T) {
	var cases []parseCase
	for c := range 256 {
		octet, canon := string([]byte{byte(c)}), fmt.Sprintf("ftp://h/%%%02X", c)
		if strings.ContainsAny(octet, "\x00\r\n") {
			continue
		}
		if strings.Contains("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789$-_.+!*'(),", octet) {
			canon = "ftp://h/" + octet
			cases = append(cases, parseCase{in: canon, want: URL{Host: "h", Name: octet}})
		}
		for _, format := range []string{"ftp://h/%%%02x", "ftp://h/%%%02X"} {
			cases = append(cases, parseCase{in: fmt.Sprintf(format, c), want: URL{Host: "h", Name: octet}, canon: canon})
		}
	}
	testParse(t, append(cases, []parseCase{
		{in: "ftp://h/%252F", want: URL{Host: "h", Name: "%2F"}}, // decoded once
		{in: "ftp://a%3Ab%40c%2Fd:%25%3A@h/", want: URL{User: url.UserPassword("a:b@c/d", "%:"), Host: "h"}},
		{in: "ftp://a;?&=:;?&=@h/", want: URL{User: url.UserPassword("a;?&=", ";?&="), Host: "h"}, canon: "ftp://a%3B%3F%26%3D:%3B%3F%26%3D@h/"},
		{in: "ftp://%E9:%FF@h/", want: URL{User: url.UserPassword("\xe9", "\xff"), Host: "h"}},
	}...))
}

func TestExtensionUnencodedPath(t *testing.T) {
	testParse(t, []parseCase{
		{in: "ftp://h/~joe/x~", want: URL{Host: "h", Dirs: []string{"~joe"}, Name: "x~"}, canon: "ftp://h/%7Ejoe/x%7E"},
		{in: "ftp://h/été/日本", want: URL{Host: "h", Dirs: []string{"été"}, Name: "日本"}, canon: "ftp://h/%C3%A9t%C3%A9/%E6%97%A5%E6%9C%AC"},
		{in: "ftp://h/\uFFFD", want: URL{Host: "h", Name: "\uFFFD"}, canon: "ftp://h/%EF%BF%BD"},
		{in: "ftp://h/e\u0301", want: URL{Host: "h", Name: "e\u0301"}, canon: "ftp://h/e%CC%81"},
	})
}

func TestSection3_1Login(t *testing.T) {
	testParse(t, []parseCase{
		{in: "ftp://@h/", want: URL{User: url.User(""), Host: "h"}},
		{in: "ftp://u@h/", want: URL{User: url.User("u"), Host: "h"}},
		{in: "ftp://u:@h/", want: URL{User: url.UserPassword("u", ""), Host: "h"}},
		{in: "ftp://:@h/", want: URL{User: url.UserPassword("", ""), Host: "h"}},
		{in: "ftp://:p@h/", want: URL{User: url.UserPassword("", "p"), Host: "h"}},
		{in: "ftp://u:p@h:2121/", want: URL{User: url.UserPassword("u", "p"), Host: "h", Port: 2121}},
		// The grammar, not the look, decides: the first "/" ends the login.
		{in: "ftp://a/b@host/f", want: URL{Host: "a", Dirs: []string{"b@host"}, Name: "f"}, canon: "ftp://a/b%40host/f"},
		{in: "ftp://a:1234/b@h", want: URL{Host: "a", Port: 1234, Name: "b@h"}, canon: "ftp://a:1234/b%40h"},
	})
}

func TestSection3_1Host(t *testing.T) {
	long := strings.Repeat("a", 63)
	name253 := strings.Repeat(long+".", 3) + strings.Repeat("b", 61)
	testParse(t, []parseCase{
		{in: "ftp://ftp.example.org/", want: URL{Host: "ftp.example.org"}},
		{in: "ftp://FTP.Example.ORG/", want: URL{Host: "ftp.example.org"}, canon: "ftp://ftp.example.org/"},
		{in: "ftp://a-b.c--d.e/", want: URL{Host: "a-b.c--d.e"}},
		{in: "ftp://3com.com/", want: URL{Host: "3com.com"}},
		{in: "ftp://1.2.3.d4/", want: URL{Host: "1.2.3.d4"}},
		{in: "ftp://" + long + ".org/", want: URL{Host: long + ".org"}},
		{in: "ftp://" + name253 + "/", want: URL{Host: name253}},
		{in: "ftp://" + name253 + "./", want: URL{Host: name253 + "."}},
		{in: "ftp://192.0.2.1/", want: URL{Host: "192.0.2.1"}},
		{in: "ftp://0.0.0.0/", want: URL{Host: "0.0.0.0"}},
		{in: "ftp://010.001.000.0255/", want: URL{Host: "10.1.0.255"}, canon: "ftp://10.1.0.255/"},
	})
}

func TestExtensionHost(t *testing.T) {
	testParse(t, []parseCase{
		{in: "ftp://h./", want: URL{Host: "h."}},
		{in: "ftp://ftp.example.org./f", want: URL{Host: "ftp.example.org.", Name: "f"}},
		{in: "ftp://_ftp.my_host/", want: URL{Host: "_ftp.my_host"}},
		{in: "ftp://[::1]/", want: URL{Host: "::1"}},
		{in: "ftp://[2001:DB8:0::1]:2121/f", want: URL{Host: "2001:db8::1", Port: 2121, Name: "f"}, canon: "ftp://[2001:db8::1]:2121/f"},
		{in: "ftp://u:p@[::ffff:192.0.2.1]/", want: URL{User: url.UserPassword("u", "p"), Host: "::ffff:192.0.2.1"}},
		{in: "ftp://münchen.example/", want: URL{Host: "xn--mnchen-3ya.example"}, canon: "ftp://xn--mnchen-3ya.example/"},
		{in: "ftp://MÜNCHEN.example./", want: URL{Host: "xn--mnchen-3ya.example."}, canon: "ftp://xn--mnchen-3ya.example./"},
		{in: "ftp://日本。example/", want: URL{Host: "xn--wgv71a.example"}, canon: "ftp://xn--wgv71a.example/"},
		{in: "ftp://faß.example/", want: URL{Host: "xn--fa-hia.example"}, canon: "ftp://xn--fa-hia.example/"},
		{in: "ftp://XN--MNCHEN-3ya.example/", want: URL{Host: "xn--mnchen-3ya.example"}, canon: "ftp://xn--mnchen-3ya.example/"},
	})
}

func TestSection3_1Port(t *testing.T) {
	testParse(t, []parseCase{
		{in: "ftp://h:1024/", want: URL{Host: "h", Port: 1024}},
		{in: "ftp://h:65535/", want: URL{Host: "h", Port: 65535}},
		{in: "ftp://h:0000002121/", want: URL{Host: "h", Port: 2121}, canon: "ftp://h:2121/"},
		{in: "ftp://h:21/", want: URL{Host: "h", Port: 21}},
	})
}

func TestSection3_2_2Path(t *testing.T) {
	testParse(t, []parseCase{
		{in: "ftp://myname@host.dom/%2Fetc/motd", want: URL{User: url.User("myname"), Host: "host.dom", Dirs: []string{"/etc"}, Name: "motd"}},
		{in: "ftp://myname@host.dom/etc/motd", want: URL{User: url.User("myname"), Host: "host.dom", Dirs: []string{"etc"}, Name: "motd"}},
		{in: "ftp://myname@host.dom//etc/motd", want: URL{User: url.User("myname"), Host: "host.dom", Dirs: []string{"", "etc"}, Name: "motd"}},
		{in: "ftp://h/%2f", want: URL{Host: "h", Name: "/"}, canon: "ftp://h/%2F"},
		{in: "ftp://h/a//b", want: URL{Host: "h", Dirs: []string{"a", ""}, Name: "b"}},
		{in: "ftp://h/a/", want: URL{Host: "h", Dirs: []string{"a"}}},
		{in: "ftp://h//", want: URL{Host: "h", Dirs: []string{""}}},
		{in: "ftp://h///", want: URL{Host: "h", Dirs: []string{"", ""}}},
		// The whole path may be left out, with its "/".
		{in: "ftp://h", want: URL{Host: "h"}, canon: "ftp://h/"},
		{in: "ftp://u@h:2121", want: URL{User: url.User("u"), Host: "h", Port: 2121}, canon: "ftp://u@h:2121/"},
		// No query, no dot segments: names octet for octet.
		{in: "ftp://h/a?b:c@d&e=f", want: URL{Host: "h", Name: "a?b:c@d&e=f"}, canon: "ftp://h/a%3Fb%3Ac%40d%26e%3Df"},
		{in: "ftp://h/../././-x", want: URL{Host: "h", Dirs: []string{"..", ".", "."}, Name: "-x"}},
		{in: "ftp://h/a%3Btype=d", want: URL{Host: "h", Name: "a;type=d"}, canon: "ftp://h/a%3Btype%3Dd"},
		{in: "ftp://h/a%3Bb/c%2Fd", want: URL{Host: "h", Dirs: []string{"a;b"}, Name: "c/d"}},
	})
}

func TestSection3_2_2Typecode(t *testing.T) {
	testParse(t, []parseCase{
		{in: "ftp://h/f;type=a", want: URL{Host: "h", Name: "f", Type: TypeASCII}},
		{in: "ftp://h/f;type=i", want: URL{Host: "h", Name: "f", Type: TypeImage}},
		{in: "ftp://h/f;type=d", want: URL{Host: "h", Name: "f", Type: TypeDir}},
		{in: "ftp://h/f;TyPe=A", want: URL{Host: "h", Name: "f", Type: TypeASCII}, canon: "ftp://h/f;type=a"},
		{in: "ftp://h/f;type=I", want: URL{Host: "h", Name: "f", Type: TypeImage}, canon: "ftp://h/f;type=i"},
		{in: "ftp://h/f;type=D", want: URL{Host: "h", Name: "f", Type: TypeDir}, canon: "ftp://h/f;type=d"},
		{in: "ftp://h/a/b/;type=d", want: URL{Host: "h", Dirs: []string{"a", "b"}, Type: TypeDir}},
		{in: "ftp://h/;type=d", want: URL{Host: "h", Type: TypeDir}},
		{in: "ftp://h/type=d", want: URL{Host: "h", Name: "type=d"}, canon: "ftp://h/type%3Dd"},
	})
}

func TestIsDir(t *testing.T) {
	for want, texts := range map[bool][]string{
		true:  {"ftp://h", "ftp://h/", "ftp://h/a/", "ftp://h/a;type=d", "ftp://h/a/;type=d"},
		false: {"ftp://h/a", "ftp://h/a;type=i", "ftp://h/a;type=a"},
	} {
		for _, in := range texts {
			if got := mustParse(t, in).IsDir(); got != want {
				t.Errorf("%s: IsDir %v, want %v", in, got, want)
			}
		}
	}
}

func TestSection3_2_3GuessType(t *testing.T) {
	for want, names := range map[Typecode][]string{
		TypeASCII: {"a.txt", "A.TXT", "a.b.html"},
		TypeImage: {"x.tar.gz", "README", "", ".txt", "txt", "a.", "a.txt.gz", "a.\xe9"},
	} {
		for _, name := range names {
			if got := GuessType(name); got != want {
				t.Errorf("GuessType(%q) = %v, want %v", name, got, want)
			}
		}
	}
}

// TestSection6Ports: BadPort refuses the servers of other protocols; Parse takes every port.
func TestSection6Ports(t *testing.T) {
	for port := 1; port <= 65535; port++ {
		u := mustParse(t, fmt.Sprintf("ftp://u:S3CRET@h:%05d/f", port))
		_, bad := otherPorts[port]
		e, refused := errors.AsType[*Error](u.BadPort())
		if refused != bad || bad && (e.column != 18 || strings.Contains(e.Error(), "S3CRET")) {
			t.Errorf("port %d: got %v, want refused %v", port, e, bad)
		}
	}
	for port, name := range map[int]string{1: "tcpmux", 22: "ssh", 25: "smtp", 6667: "irc", 10080: "amanda", 20: "", 21: "", 80: "", 443: "", 989: "", 990: "", 2121: ""} {
		if otherPorts[port] != name {
			t.Errorf("port %d belongs to %q, want %q", port, otherPorts[port], name)
		}
	}
}

func TestAppendixWrapper(t *testing.T) {
	testParse(t, []parseCase{
		{in: "URL:ftp://h/f", want: URL{Host: "h", Name: "f"}, canon: "ftp://h/f"},
		{in: "url:ftp://h/f", want: URL{Host: "h", Name: "f"}, canon: "ftp://h/f"},
		{in: "<URL:ftp://h/f>", want: URL{Host: "h", Name: "f"}, canon: "ftp://h/f"},
		{in: "<uRl:ftp://h/f;type=a>", want: URL{Host: "h", Name: "f", Type: TypeASCII}, canon: "ftp://h/f;type=a"},
		{in: "<URL: ftp://h/a b >", want: URL{Host: "h", Name: "ab"}, canon: "ftp://h/ab"},
		{in: "<URL:ftp://info.cern.ch/pub/www/doc;\r\n      type=d>", want: URL{Host: "info.cern.ch", Dirs: []string{"pub", "www"}, Name: "doc", Type: TypeDir},
			canon: "ftp://info.cern.ch/pub/www/doc;type=d"},
		{in: "<URL:ftp://ds.in\n\tternic.net/rfc>", want: URL{Host: "ds.internic.net", Name: "rfc"}, canon: "ftp://ds.internic.net/rfc"},
		{in: "<URL:ftp://h/rfc-\n  index.txt>", want: URL{Host: "h", Name: "rfc-index.txt"}, canon: "ftp://h/rfc-index.txt"},
		{in: "<URL:f\ntp://u:p\nw@h/>", want: URL{User: url.UserPassword("u", "pw"), Host: "h"}, canon: "ftp://u:pw@h/"},
	})
}

func mustParse(t testing.TB, s string) *URL {
	t.Helper()
	u, err := Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// fields shows a URL with what Format hides; the tests have no secrets.
func fields(u *URL) string {
	type bare URL // without the methods
	return fmt.Sprintf("%+v", bare(*u))
}

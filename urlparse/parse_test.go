package urlparse

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/table"
)

// parseCase is a valid URL: its text, the canonical text ("=" if it is the same), and the parts.
type parseCase struct{ in, canon, want string }

// parsed returns the URLs in a section of testdata/parsed.txt.
func parsed(t *testing.T, section string) (cases []parseCase) {
	for _, f := range table.Rows(t, "parsed.txt", section) {
		cases = append(cases, parseCase{f[0], f[1], strings.Join(f[2:], " ")})
	}
	return cases
}

// parts returns all that a URL holds, including the password.
func parts(u *URL) string {
	all := []string{u.Scheme, "host=" + u.Host}
	add := func(there bool, format string, value any) {
		if there {
			all = append(all, fmt.Sprintf(format, value))
		}
	}
	password, has := u.User.Password()
	add(u.Port != 0, "port=%d", u.Port)
	add(u.User != nil, "user=%q", u.User.Username())
	add(has, "password=%q", password)
	for _, dir := range u.Dirs {
		add(true, "dir=%q", dir)
	}
	add(u.Name != "", "name=%q", u.Name)
	add(u.Type != "", "type=%s", u.Type)
	return strings.Join(all, " ")
}

// testParse checks the parts, the canonical text and the round trip of each case.
func testParse(t *testing.T, cases []parseCase) {
	t.Helper()
	for _, c := range cases {
		got, err := Parse(c.in)
		if err != nil {
			t.Errorf("Parse(%q): %v", c.in, err)
			continue
		}
		if c.canon == "=" {
			c.canon = c.in
		}
		if parts(got) != c.want || got.String() != c.canon {
			t.Errorf("Parse(%q)\n got %s, printed as %s\nwant %s, %s", c.in, parts(got), got, c.want, c.canon)
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
	same := again.Key() == u.Key() && slices.Equal(again.Dirs, u.Dirs) && again.Name == u.Name && again.Type == u.Type &&
		(again.User == nil) == (u.User == nil) && again.User.String() == u.User.String()
	if !same || again.String() != u.String() {
		t.Errorf("%q comes back as %q", u.String(), again.String())
	}
	if err := u.Check(); err != nil {
		t.Errorf("Check of %q: %v", u.String(), err)
	}
	checkJSON(t, u)
	checkNetURL(t, u)
}

// checkJSON checks that JSON keeps all of u but its password, and that the text of String keeps that too.
func checkJSON(t *testing.T, u *URL) {
	t.Helper()
	type holder struct {
		URL  URL
		Also *URL
	}
	bare := must.Get(Parse(u.WithoutPassword().String()))(t)
	var read holder
	text, err := json.Marshal(holder{*u, u})
	if err == nil {
		err = json.Unmarshal(text, &read)
	}
	if err != nil || !reflect.DeepEqual(read, holder{*bare, bare}) {
		t.Errorf("%q comes back from %s as %q and %q, %v", u.String(), text, read.URL.String(), read.Also.String(), err)
	}
	var whole URL
	err = json.Unmarshal(must.Get(json.Marshal(u.String()))(t), &whole)
	if err != nil || whole.String() != u.String() {
		t.Errorf("%q comes back from its text as %q, %v", u.String(), whole.String(), err)
	}
}

func TestSection2_1Scheme(t *testing.T) { testParse(t, parsed(t, "scheme")) }

// TestSection2_2Encoding encodes every octet of a name, with hexadecimal digits of either case.
func TestSection2_2Encoding(t *testing.T) {
	var cases []parseCase
	for c := range 256 {
		octet, canon := string([]byte{byte(c)}), fmt.Sprintf("ftp://h/%%%02X", c)
		if strings.ContainsAny(octet, "\x00\r\n") {
			continue
		}
		if strings.Contains("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789$-_.+!*'(),", octet) {
			canon = "ftp://h/" + octet
			cases = append(cases, parseCase{canon, "=", fmt.Sprintf("ftp host=h name=%q", octet)})
		}
		for _, format := range []string{"ftp://h/%%%02x", "ftp://h/%%%02X"} {
			cases = append(cases, parseCase{fmt.Sprintf(format, c), canon, fmt.Sprintf("ftp host=h name=%q", octet)})
		}
	}
	testParse(t, append(cases, parsed(t, "encoding")...))
}

func TestExtensionUnencodedPath(t *testing.T) { testParse(t, parsed(t, "characters beyond ASCII")) }

func TestSection3_1Login(t *testing.T) { testParse(t, parsed(t, "login")) }

func TestSection3_1Host(t *testing.T) {
	long := strings.Repeat("a", 63)
	longest := strings.Repeat(long+".", 3) + strings.Repeat("b", 61)
	cases := parsed(t, "host")
	for _, host := range []string{long + ".org", longest, longest + "."} {
		cases = append(cases, parseCase{"ftp://" + host + "/", "=", "ftp host=" + host})
	}
	testParse(t, cases)
}

func TestExtensionHost(t *testing.T) { testParse(t, parsed(t, "more hosts")) }

func TestSection3_1Port(t *testing.T) { testParse(t, parsed(t, "port")) }

func TestSection3_2_2Path(t *testing.T) { testParse(t, parsed(t, "path")) }

func TestSection3_2_2Typecode(t *testing.T) { testParse(t, parsed(t, "type")) }

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

// TestSection6Ports: BadPort refuses the ports of other protocols; Parse accepts every port.
func TestSection6Ports(t *testing.T) {
	for port := 1; port <= 65535; port++ {
		u := mustParse(t, fmt.Sprintf("ftp://u:S3CRET@h:%05d/f", port))
		bad := protocolOf(port) != ""
		e, refused := errors.AsType[*Error](u.BadPort())
		if refused != bad || bad && (e.column != 18 || !errors.Is(e, ErrPort) || strings.Contains(e.Error(), "S3CRET")) {
			t.Errorf("port %d: got %v, want refused %v", port, e, bad)
		}
	}
	for port, name := range map[int]string{0: "", -1: "", 1: "tcpmux", 22: "ssh", 25: "smtp", 6667: "irc", 10080: "amanda", 20: "", 21: "", 80: "", 443: "", 989: "", 990: "", 2121: ""} {
		if got := protocolOf(port); got != name {
			t.Errorf("port %d belongs to %q, want %q", port, got, name)
		}
	}
}

func TestAppendixWrapper(t *testing.T) { testParse(t, parsed(t, "wrapper")) }

func mustParse(t testing.TB, s string) *URL {
	t.Helper()
	return must.Get(Parse(s))(t)
}

func TestChild(t *testing.T) {
	cases := []struct {
		parent, name string
		t            Typecode
		want         string
	}{
		{"ftp://h/a/", "f", "", "ftp://h/a/f"},
		{"ftp://h/a;type=d", "f", "", "ftp://h/a/f"},
		{"ftp://h/a/;type=d", "f", "", "ftp://h/a/f"},
		{"ftp://h/a", "f", "", "ftp://h/a/f"},
		{"ftp://h", "f", "", "ftp://h/f"},
		{"ftp://h/;type=d", "f", TypeASCII, "ftp://h/f;type=a"},
		{"ftp://h//", "f", TypeImage, "ftp://h//f;type=i"},
		{"ftp://h/%2F;type=d", "f", "", "ftp://h/%2F/f"},
		{"ftp://h/a/", "b", TypeDir, "ftp://h/a/b/"},
		{"ftp://h/a;type=d", "b", TypeDir, "ftp://h/a/b/"},
		{"ftp://u:p@h:2121/a/", "f", "", "ftp://u:p@h:2121/a/f"},
		{"ftps://[::1]/", "f", "", "ftps://[::1]/f"},
		{"ftp://h/a/", "x y;z?#%/\xe9", "", "ftp://h/a/x%20y%3Bz%3F%23%25%2F%E9"},
		{"ftp://h/a/", "", "", "ftp://h/a/"},
		{"ftp://h/a/", "", TypeDir, "ftp://h/a//"},
		{"ftp://h/a/", "..", TypeDir, "ftp://h/a/../"},
	}
	for _, c := range cases {
		u := mustParse(t, c.parent)
		child := u.Child(c.name, c.t)
		if child.String() != c.want || child.IsDir() != (c.t == TypeDir || c.name == "") || u.String() != mustParse(t, c.parent).String() {
			t.Errorf("%s: Child(%q, %v) = %s, IsDir %t, want %s; its parent is %s", c.parent, c.name, c.t, child, child.IsDir(), c.want, u)
		}
		checkRoundTrip(t, child)
	}
	u := &URL{Scheme: "ftp", Host: "h", Dirs: append(make([]string, 0, 8), "a", "b")} // two children share no Dirs
	if one, two := u.Child("one", TypeDir), u.Child("two", TypeDir); one.String() != "ftp://h/a/b/one/" || two.String() != "ftp://h/a/b/two/" {
		t.Errorf("got %s and %s", one, two)
	}
}

func TestAddress(t *testing.T) {
	for in, want := range map[string]string{
		"ftp://h/": "h:21", "ftpes://h/": "h:21", "ftps://h/": "h:990", "ftps://h:21/": "h:21", "ftpes://h:2121/": "h:2121", "ftp://h./": "h.:21",
		"ftp://[2001:db8::1]/": "[2001:db8::1]:21", "ftp://[::1]:2121/": "[::1]:2121", "ftp://192.0.2.1/": "192.0.2.1:21",
	} {
		if got := mustParse(t, in).Address(); got != want {
			t.Errorf("%s: Address %q, want %q", in, got, want)
		}
	}
	if got := (&URL{Scheme: "ftp", Host: "MÜNCHEN.example"}).Address(); got != "xn--mnchen-3ya.example:21" {
		t.Errorf("Address of a host made by hand: %q", got)
	}
}

func TestCheck(t *testing.T) {
	good := []URL{
		{Scheme: "ftp", Host: "h"},
		{Scheme: "ftp", Host: "FTP.Example.Org", Name: "\x01 ;/~"},
		{Scheme: "ftps", Host: "2001:db8::1", Port: 25, Dirs: []string{"", "/"}, Type: TypeDir},
		{Scheme: "ftpes", User: url.UserPassword("", "@:/"), Host: "münchen.example", Name: "f", Type: TypeASCII},
	}
	for _, u := range good {
		if err := u.Check(); err != nil {
			t.Errorf("Check: %v", err)
		}
		checkRoundTrip(t, &u)
	}
	bad := []struct {
		name   string
		change func(*URL)
		column int
		reason string
	}{
		{"no scheme", func(u *URL) { u.Scheme = "" }, 1, "scheme"},
		{"upper-case scheme", func(u *URL) { u.Scheme = "FTP" }, 1, "scheme"},
		{"CR in password", func(u *URL) { u.User = url.UserPassword("u", "S3CRET\r") }, 15, "carriage return"},
		{"no host", func(u *URL) { u.Host = "" }, 16, "host is missing"},
		{"path in host", func(u *URL) { u.Host = "h/x" }, 17, "host"},
		{"login in host", func(u *URL) { u.Host = "a@h" }, 17, "host"},
		{"port in host", func(u *URL) { u.Host = "h:21" }, 17, "IPv6"},
		{"brackets in host", func(u *URL) { u.Host = "[::1]" }, 17, "IPv6"},
		{"negative port", func(u *URL) { u.Port = -1 }, 18, "decimal number"},
		{"large port", func(u *URL) { u.Port = 65536 }, 18, "1 to 65535"},
		{"unknown typecode", func(u *URL) { u.Type = "x" }, 27, "typecode"},
		{"upper-case typecode", func(u *URL) { u.Type = "A" }, 27, "typecode"},
		{"no name to retrieve", func(u *URL) { u.Name, u.Type = "", TypeImage }, 20, "no file is named"},
	}
	for _, c := range bad {
		u := &URL{Scheme: "ftp", User: url.UserPassword("u", "S3CRET"), Host: "h", Dirs: []string{"a"}, Name: "f"}
		c.change(u)
		e, refused := errors.AsType[*Error](u.Check())
		if !refused || e.column != c.column || !strings.Contains(e.reason, c.reason) || e.Input != u.Redacted() ||
			strings.Contains(e.Error(), "S3CRET") || errors.Is(e, ErrScheme) != strings.Contains(c.name, "scheme") {
			t.Errorf("%s: Check gives %v\nwant column %d, %q", c.name, e, c.column, c.reason)
		}
	}
}

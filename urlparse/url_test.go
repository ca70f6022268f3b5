package urlparse

import (
	"errors"
	"net/url"
	"strings"
	"testing"
)

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
	u := &URL{Scheme: FTP, Host: "h", Dirs: append(make([]string, 0, 8), "a", "b")} // two children share no Dirs
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
	if got := (&URL{Scheme: FTP, Host: "MÜNCHEN.example"}).Address(); got != "xn--mnchen-3ya.example:21" {
		t.Errorf("Address of a host made by hand: %q", got)
	}
}

func TestSameLogin(t *testing.T) {
	cases := []struct {
		a, b string
		want bool
	}{
		{"ftp://h/a", "FTP://H:21/b/c", true}, {"ftps://h/", "ftps://h:990", true}, {"ftp://é.example/", "ftp://xn--9ca.example/", true},
		{"ftp://%61:p@h/", "ftp://a:%70@h/", true}, {"ftp://h/a", "ftps://h:21/a", false}, {"ftp://h/a", "ftpes://h/a", false},
		{"ftp://h/", "ftp://@h/", false}, {"ftp://@h/", "ftp://:@h/", false}, {"ftp://u@h/", "ftp://u:@h/", false},
		{"ftp://u:p@h/", "ftp://u:q@h/", false}, {"ftp://h/", "ftp://h./", false}, {"ftp://h/", "ftp://h:22/", false},
	}
	for _, c := range cases {
		a, b := mustParse(t, c.a), mustParse(t, c.b)
		if a.SameLogin(b) != c.want || b.SameLogin(a) != c.want {
			t.Errorf("%s, %s: SameLogin is not %v", c.a, c.b, c.want)
		}
	}
}

func TestCheck(t *testing.T) {
	good := []URL{
		{Scheme: FTP, Host: "h"},
		{Scheme: FTP, Host: "FTP.Example.Org", Name: "\x01 ;/~"},
		{Scheme: FTPS, Host: "2001:db8::1", Port: 25, Dirs: []string{"", "/"}, Type: TypeDir},
		{Scheme: FTPES, User: url.UserPassword("", "@:/"), Host: "münchen.example", Name: "f", Type: TypeASCII},
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
		u := &URL{Scheme: FTP, User: url.UserPassword("u", "S3CRET"), Host: "h", Dirs: []string{"a"}, Name: "f"}
		c.change(u)
		e, refused := errors.AsType[*Error](u.Check())
		if !refused || e.column != c.column || !strings.Contains(e.reason, c.reason) || e.Input != u.Redacted() ||
			strings.Contains(e.Error(), "S3CRET") || errors.Is(e, ErrScheme) != strings.Contains(c.name, "scheme") {
			t.Errorf("%s: Check gives %v\nwant column %d, %q", c.name, e, c.column, c.reason)
		}
	}
}

package urlparse

import (
	"errors"
	"net/url"
	"slices"
	"strings"
	"testing"
)

func TestChild(t *testing.T) {
	cases := []struct {
		parent, name string
		t            Typecode
		want         string
	}{
		{"ftp://h/a/", "f", TypeNone, "ftp://h/a/f"},
		{"ftp://h/a;type=d", "f", TypeNone, "ftp://h/a/f"},
		{"ftp://h/a/;type=d", "f", TypeNone, "ftp://h/a/f"},
		{"ftp://h/a", "f", TypeNone, "ftp://h/a/f"},
		{"ftp://h", "f", TypeNone, "ftp://h/f"},
		{"ftp://h/;type=d", "f", TypeASCII, "ftp://h/f;type=a"},
		{"ftp://h//", "f", TypeImage, "ftp://h//f;type=i"},
		{"ftp://h/%2F;type=d", "f", TypeNone, "ftp://h/%2F/f"},
		{"ftp://h/a/", "b", TypeDir, "ftp://h/a/b/"},
		{"ftp://h/a;type=d", "b", TypeDir, "ftp://h/a/b/"},
		{"ftp://u:p@h:2121/a/", "f", TypeNone, "ftp://u:p@h:2121/a/f"},
		{"ftps://[::1]/", "f", TypeNone, "ftps://[::1]/f"},
		{"ftp://h/a/", "x y;z?#%/\xe9", TypeNone, "ftp://h/a/x%20y%3Bz%3F%23%25%2F%E9"},
		{"ftp://h/a/", "", TypeNone, "ftp://h/a/"},
		{"ftp://h/a/", "", TypeDir, "ftp://h/a//"},
		{"ftp://h/a/", "..", TypeDir, "ftp://h/a/../"},
	}
	for _, c := range cases {
		u := mustParse(t, c.parent)
		before := u.String()
		child := u.Child(c.name, c.t)
		if got := child.String(); got != c.want {
			t.Errorf("%s: Child(%q, %v) = %s, want %s", c.parent, c.name, c.t, got, c.want)
		}
		if child.IsDir() != (c.t == TypeDir || c.name == "") {
			t.Errorf("%s: IsDir is %v", child, child.IsDir())
		}
		checkRoundTrip(t, child)
		if u.String() != before {
			t.Errorf("Child changed %s to %s", before, u)
		}
	}
}

// TestChildrenShareNothing checks that two children of one URL share no Dirs.
func TestChildrenShareNothing(t *testing.T) {
	u := mustParse(t, "ftp://h/a/b/c/")
	u.Dirs = slices.Grow(u.Dirs, 8)
	one, two := u.Child("one", TypeDir), u.Child("two", TypeDir)
	if one.String() != "ftp://h/a/b/c/one/" || two.String() != "ftp://h/a/b/c/two/" {
		t.Errorf("got %s and %s", one, two)
	}
}

func TestAddress(t *testing.T) {
	cases := []struct{ in, want string }{
		{"ftp://h/", "h:21"}, {"ftps://h/", "h:990"}, {"ftpes://h:2121/", "h:2121"}, {"ftp://h./", "h.:21"},
		{"ftp://[2001:db8::1]/", "[2001:db8::1]:21"}, {"ftp://[::1]:2121/", "[::1]:2121"}, {"ftp://192.0.2.1/", "192.0.2.1:21"},
	}
	for _, c := range cases {
		if got := mustParse(t, c.in).Address(); got != c.want {
			t.Errorf("%s: Address %q, want %q", c.in, got, c.want)
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
	base := func(change func(*URL)) *URL {
		u := &URL{Scheme: FTP, User: url.UserPassword("u", "S3CRET"), Host: "h", Dirs: []string{"a"}, Name: "f"}
		change(u)
		return u
	}
	bad := []struct {
		name   string
		u      *URL
		column int
		reason string
	}{
		{"no scheme", base(func(u *URL) { u.Scheme = "" }), 1, "scheme"},
		{"upper-case scheme", base(func(u *URL) { u.Scheme = "FTP" }), 1, "scheme"},
		{"CR in password", base(func(u *URL) { u.User = url.UserPassword("u", "S3CRET\r") }), 15, "carriage return"},
		{"no host", base(func(u *URL) { u.Host = "" }), 16, "host is missing"},
		{"path in host", base(func(u *URL) { u.Host = "h/x" }), 17, "host"},
		{"login in host", base(func(u *URL) { u.Host = "a@h" }), 17, "host"},
		{"port in host", base(func(u *URL) { u.Host = "h:21" }), 17, "IPv6"},
		{"brackets in host", base(func(u *URL) { u.Host = "[::1]" }), 17, "IPv6"},
		{"negative port", base(func(u *URL) { u.Port = -1 }), 18, "decimal number"},
		{"large port", base(func(u *URL) { u.Port = 65536 }), 18, "1 to 65535"},
		{"unknown typecode", base(func(u *URL) { u.Type = 'x' }), 27, "typecode"},
		{"upper-case typecode", base(func(u *URL) { u.Type = 'A' }), 27, "typecode"},
		{"no name to retrieve", base(func(u *URL) { u.Name, u.Type = "", TypeImage }), 20, "no file is named"},
	}
	for _, c := range bad {
		err := c.u.Check()
		var e *Error
		if !errors.As(err, &e) {
			t.Errorf("%s: Check gives %v", c.name, err)
			continue
		}
		if e.column != c.column || !strings.Contains(e.reason, c.reason) || e.Input != c.u.Redacted() {
			t.Errorf("%s: %v\nwant column %d, %q", c.name, err, c.column, c.reason)
		}
		if strings.Contains(err.Error(), "S3CRET") {
			t.Errorf("%s: the password is in %v", c.name, err)
		}
		if errors.Is(err, ErrScheme) != strings.Contains(c.name, "scheme") {
			t.Errorf("%s: errors.Is ErrScheme is wrong", c.name)
		}
	}
}

package urlparse

import (
	"errors"
	"math/rand/v2"
	"net/url"
	"reflect"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/testkit/table"
)

// checkNetURL checks that a valid URL comes back from net/url, as a value and as a text that url.Parse has read.
func checkNetURL(t *testing.T, u *URL) {
	t.Helper()
	there, err := u.NetURL()
	if err != nil {
		t.Errorf("%q has no URL of net/url: %v", u.String(), err)
		return
	}
	if u.User == nil && there.String() != u.String() {
		t.Errorf("%q is %q there", u.String(), there.String())
	}
	read, err := url.Parse(u.String())
	printed, perr := url.Parse(there.String())
	if err != nil || perr != nil {
		t.Errorf("%q: net/url does not read it: %v, %v", u.String(), err, perr)
		return
	}
	want, _ := Parse(u.String())
	for _, v := range []*url.URL{there, read, printed} {
		if back, err := FromURL(v); err != nil || !reflect.DeepEqual(back, want) {
			t.Errorf("%q comes back as %v, %v", u.String(), back, err)
		}
	}
}

// TestFromURLReadsAsParse compares both readings of every text in testdata, which are those of docs/rfc1738.md: what Parse
// accepts FromURL reads in the same way, or it says that there is no query; and no error shows a password.
func TestFromURLReadsAsParse(t *testing.T) {
	read, queries := 0, 0
	for _, file := range []string{"parsed.txt", "refused.txt", "redacted.txt"} {
		for _, row := range table.Rows(t, file, "") {
			in := row[0]
			there, err := url.Parse(in)
			if err != nil || strings.EqualFold(there.Scheme, "url") { // the wrapper of RFC 1738
				continue
			}
			read++
			got, err := FromURL(there)
			want, refused := Parse(in)
			_, typed := errors.AsType[*Error](err)
			switch {
			case err != nil && (!typed || strings.Contains(err.Error(), "secret")):
				t.Errorf("%q: the error is %v", in, err)
			case err != nil && strings.Contains(err.Error(), "query"):
				queries++
			case refused == nil && !reflect.DeepEqual(got, want):
				t.Errorf("%q is %v, %v; Parse reads %v", in, got, err, want)
			case err == nil && got.Check() != nil:
				t.Errorf("%q is %v, which Check refuses", in, got)
			}
		}
	}
	if read < 150 || queries == 0 {
		t.Errorf("%d texts were compared, %d of them with a query", read, queries)
	}
}

// TestFromURLAndBack makes URLs of any octets.
func TestFromURLAndBack(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	octets := func() string {
		b := make([]byte, r.IntN(6))
		for i := range b {
			b[i] = byte(1 + r.IntN(255))
		}
		return strings.NewReplacer("\r", "", "\n", "").Replace(string(b))
	}
	one := func(of ...string) string { return of[r.IntN(len(of))] }
	segment := func() string {
		return one(octets(), octets(), "", ".", "..", "%2F", "/etc", "a;type=i", "?", "#", "a b", "~", "ü")
	}
	for range 3_000 {
		u := &URL{
			Scheme: one(schemes...),
			Host:   one("h", "ftp.example.org.", "2001:db8::1", "192.0.2.1", "xn--bcher-kva.example", "_a"),
			Port:   []int{0, 21, 990, 65535}[r.IntN(4)],
			Name:   segment(),
		}
		for range r.IntN(4) {
			u.Dirs = append(u.Dirs, segment())
		}
		u.User = []*url.Userinfo{nil, url.User(octets()), url.UserPassword(octets(), octets())}[r.IntN(3)]
		u.Type = []Typecode{"", TypeDir, TypeASCII, TypeImage}[r.IntN(4)]
		if u.Name == "" && u.Type != "" {
			u.Type = TypeDir
		}
		checkNetURL(t, u)
	}
}

// TestFromURLByHand has values that programs make, and what the error says to write.
func TestFromURLByHand(t *testing.T) {
	for _, c := range []struct {
		in        *url.URL
		want, why string // the URL, or what the error contains
	}{
		{&url.URL{Scheme: "ftp", Host: "h"}, "ftp://h/", ""},
		{&url.URL{Scheme: "FTP", Host: "H:21", Path: "/a b"}, "ftp://h:21/a%20b", ""},
		{&url.URL{Scheme: "ftp", Host: "h", Path: "a/b"}, "ftp://h/a/b", ""},
		{&url.URL{Scheme: "ftp", Host: "h", Path: "//etc/motd"}, "ftp://h//etc/motd", ""},
		{&url.URL{Scheme: "ftp", Host: "h", Path: "/a/b", RawPath: "/a%2Fb"}, "ftp://h/a%2Fb", ""},
		{&url.URL{Scheme: "ftp", Host: "h", Path: "/a;b#[?]"}, "ftp://h/a%3Bb%23%5B%3F%5D", ""},
		{&url.URL{Scheme: "ftp", Host: "h", Path: "/a;type=D"}, "ftp://h/a;type=d", ""},
		{&url.URL{Scheme: "ftp", Host: "h", Path: "/a;type=i", RawPath: "/a%3Btype=i"}, "ftp://h/a%3Btype%3Di", ""},
		{&url.URL{Scheme: "ftp", Host: "bücher.example", User: url.User("~me")}, "ftp://%7Eme@xn--bcher-kva.example/", ""},
		{&url.URL{Scheme: "ftp", Host: "[2001:DB8::1]:2121"}, "ftp://[2001:db8::1]:2121/", ""},
		{nil, "", "write ftp://host/path"},
		{&url.URL{}, "", "write ftp://host/path"},
		{&url.URL{Path: "ftp.example.org/pub"}, "", "write ftp://ftp.example.org/pub"},
		{&url.URL{Scheme: "https", Host: "h", RawQuery: "q"}, "", "https is not supported"},
		{&url.URL{Scheme: "ftp", Opaque: "h/f"}, "", "write ftp://h/f"},
		{&url.URL{Scheme: "ftp", Path: "/f"}, "", `write ftp://`},
		{&url.URL{Scheme: "ftp", Host: "h", Path: "/f", RawQuery: "v=1"}, "", "write %3F"},
		{&url.URL{Scheme: "ftp", Host: "h", Path: "/f", ForceQuery: true}, "", "write %3F"},
		{&url.URL{Scheme: "ftp", Host: "h", Path: "/f", Fragment: "1"}, "", "write %23"},
		{&url.URL{Scheme: "ftp", Host: "h:x", Path: "/f"}, "", "a port is a decimal number"},
		{&url.URL{Scheme: "ftp", Host: "[fe80::1%25eth0]"}, "", "no zone"},
		{&url.URL{Scheme: "ftp", Host: "h", Path: "/a\r\nDELE b"}, "", "carriage return"},
		{&url.URL{Scheme: "ftp", Host: "h", Path: "/;type=i"}, "", "write ;type=d"},
		{&url.URL{Scheme: "ftp", Host: "h", Path: "/f;type=x"}, "", "write ;type=a"},
		{&url.URL{Scheme: "ftp", Host: "h", User: url.UserPassword("me", "secret\n"), Path: "/f"}, "", "line feed"},
	} {
		u, err := FromURL(c.in)
		switch {
		case c.why == "" && (err != nil || u.String() != c.want):
			t.Errorf("%v: got %v, %v; want %s", c.in, u, err, c.want)
		case c.why != "" && (err == nil || !strings.Contains(err.Error(), c.why) || strings.Contains(err.Error(), "secret")):
			t.Errorf("%v: got %v, %v; want %q", c.in, u, err, c.why)
		}
	}
	if u, err := (&URL{Scheme: "ftp", Host: "h", Name: "a\nb"}).NetURL(); err == nil {
		t.Errorf("an invalid URL became %v", u)
	}
}

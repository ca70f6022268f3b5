package urlparse

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/rules/table"
)

// parseCase is a valid URL: its text, the canonical one ("=" if that is the same), and its parts.
type parseCase struct{ in, canon, want string }

// parsed returns the URLs in a section of testdata/parsed.txt.
func parsed(t *testing.T, section string) (cases []parseCase) {
	for _, f := range table.Rows(t, "parsed.txt", section) {
		cases = append(cases, parseCase{f[0], f[1], strings.Join(f[2:], " ")})
	}
	return cases
}

// parts has all that a URL holds, secrets too.
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

// testParse runs a table: the parts, the canonical text, and the round trip.
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
	same := again.SameLogin(u) && u.SameLogin(again) && slices.Equal(again.Dirs, u.Dirs) && again.Name == u.Name && again.Type == u.Type
	if !same || again.String() != u.String() {
		t.Errorf("%q comes back as %q", u.String(), again.String())
	}
	if err := u.Check(); err != nil {
		t.Errorf("Check of %q: %v", u.String(), err)
	}
}

func TestSection2_1Scheme(t *testing.T) { testParse(t, parsed(t, "scheme")) }

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

func TestAppendixWrapper(t *testing.T) { testParse(t, parsed(t, "wrapper")) }

func mustParse(t testing.TB, s string) *URL {
	t.Helper()
	u, err := Parse(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

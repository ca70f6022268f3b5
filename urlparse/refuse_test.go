package urlparse

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
	"testing"
)

// refusal is a text that is refused: where, why, and what works instead ("" for no hint at all).
type refusal struct {
	in     string
	column int
	reason string
	hint   string
}

func testRefusals(t *testing.T, cases []refusal) {
	t.Helper()
	for _, c := range cases {
		u, err := Parse(c.in)
		e, refused := errors.AsType[*Error](err)
		if !refused {
			t.Errorf("Parse(%q) = %v, %v, want an *Error", c.in, u, err)
			continue
		}
		if e.column != c.column || !strings.Contains(e.reason, c.reason) || (c.hint == "") != (e.Hint == "") || !strings.Contains(e.Hint, c.hint) {
			t.Errorf("Parse(%q): %v, hint %q\nwant column %d: %s, hint %q", c.in, e, e.Hint, c.column, c.reason, c.hint)
		}
		if msg := e.Error(); strings.ContainsAny(msg, "\r\n\x00") || strings.Contains(msg, "column ") != (c.column > 1) || errors.Is(err, ErrScheme) != strings.Contains(e.reason, " is not supported, ") {
			t.Errorf("Parse(%q): message %q, ErrScheme: %t", c.in, msg, errors.Is(err, ErrScheme))
		}
	}
}

func TestRefuseScheme(t *testing.T) {
	testRefusals(t, []refusal{
		{"", 1, "empty", "write ftp://host/path"},
		{" \t", 1, "empty", "write ftp://host/path"},
		{"URL:", 5, "scheme is missing", "write ftp://host/path"},
		{"<URL:>", 6, "scheme is missing", "write ftp://host/path"},
		{"ftp.example.org/pub", 1, "scheme is missing", "write ftp://ftp.example.org/pub"},
		{"ftp.example.org:2121/pub", 1, "scheme is missing", "write ftp://ftp.example.org:2121/pub"},
		{"localhost:2121", 1, "scheme is missing", "write ftp://localhost:2121"},
		{"//ftp.example.org/pub", 1, "scheme is missing", "write ftp://ftp.example.org/pub"},
		{"u@h/pub", 1, "scheme is missing", "write ftp://u@h/pub"},
		{"u:secret@h/pub", 1, "scheme is missing", "write ftp://u:***@h/pub"},
		{"ftp//h/x", 1, "scheme is missing", "write ftp://h/x"},
		{"ftps//h/x", 1, "scheme is missing", "write ftps://h/x"},
		{"ftp:/h/x", 5, `"//" is missing`, "write ftp://h/x"},
		{"ftp:h", 5, `"//" is missing`, "write ftp://h"},
		{"FTPS:h", 6, `"//" is missing`, "write ftps://h"},
		{`ftp:\\h\x`, 5, `"//" is missing`, "write ftp://host/path"},
		{"ftp:", 5, `"//" is missing`, "write ftp://host/path"},
		{"/etc/motd", 1, "this is a path", "write ftp://host/path"},
		{"./motd", 1, "this is a path", "write ftp://host/path"},
		{`C:\pub\x`, 1, "drive letter", "write ftp://host/path"},
		{"c:/pub/x", 1, "drive letter", "write ftp://host/path"},
		{`\\server\share`, 1, "scheme is missing", "write ftp://host/path"},
		{"f tp://h/", 1, "scheme is missing", "write ftp://host/path"},
		{`"ftp://h/x"`, 1, "in quotation marks", "write ftp://h/x"},
		{"'ftp://h/x'", 1, "in quotation marks", "write ftp://h/x"},
		{"\u201cftp://u:secret@h/x\u201d", 1, "in quotation marks", "write ftp://u:***@h/x"},
		{`"x y"`, 1, "scheme is missing", "write ftp://host/path"},
		{"::1:2101", 1, "scheme is missing", "write ftp://[::1]:2101/ or ftp://[::1:2101]/"},
		{"::1/x", 1, "scheme is missing", "write ftp://[::1]/x"},
		{"::1:40000/x", 1, "scheme is missing", "write ftp://[::1]:40000/x"},
		{"me@h:dir/x", 1, "scheme is missing", "write ftp://me@h/dir/x"},
		{"me@h:/dir/x", 1, "scheme is missing", "write ftp://me@h/%2Fdir/x"},
		{"h.example:dir/x", 1, "scheme is missing", `write ftp:// before it, and "/" in place of ":"`},
		{"h.example:/dir/x", 1, "scheme is missing", `write ftp://h.example/%2Fdir/x`},
		{"h:dir/x", 1, "is not supported, only ftp, ftps and ftpes", "write ftp://h/ and the path if h is a host"},
		{"mailto:x", 1, "is not supported, only ftp, ftps and ftpes", ""},
		{"http:/h/x", 1, "is not supported, only ftp, ftps and ftpes", ""},
		{"ftp://::1:40000/x", 7, "must be in brackets", "write [::1]:40000"},
		{"ftp://::1:2101/x", 7, "must be in brackets", "write [::1]:2101 or [::1:2101]"},
		{`ftp://h:2121\x`, 13, "a port is a decimal number", `write "/" in its place`},
		{"ftp://h:2121;type=d", 13, "a port is a decimal number", `write "/" before the path, as in /;type=d`},
		{" ftp://h/", 1, "white space around", "write ftp://h/"},
		{"ftp://h/ \n", 9, "white space around", "write ftp://h/"},
		{"http://h/", 1, "http is not supported, only ftp, ftps and ftpes", ""},
		{"URL:HTTP://h/", 5, "http is not supported, only ftp, ftps and ftpes", ""},
		{"mailto:joe@example.org", 1, "mailto is not supported, only ftp, ftps and ftpes", ""},
		{"sftp://u:p@h/", 1, "sftp is not supported, only ftp, ftps and ftpes", ""},
		{"<URL:gopher://h/>", 6, "gopher is not supported, only ftp, ftps and ftpes", ""},
		{"file:///x", 1, "file is not supported, only ftp, ftps and ftpes", ""},
		{"a+b-c.1://x", 1, "a+b-c.1 is not supported, only ftp, ftps and ftpes", ""},
	})
}

// TestSection2_2Refusals puts every octet, and some characters beyond ASCII, into a path: what may not stand there is
// refused with its encoded spelling.
func TestSection2_2Refusals(t *testing.T) {
	allowed := "$-_.+!*'(),?:@&=~/%"
	cases := []refusal{
		{"ftp://h/a\u00a0b", 10, "U+00A0", "write %C2%A0"},
		{"ftp://h/a\u0085x", 10, "U+0085", "write %C2%85"},
		{"ftp://h/a b", 10, "a space cannot stand unencoded in a path", "write %20"},
		{"ftp://h/a\x7f", 10, "U+007F", "write %7F"},
		{"ftp://h/a\xe9", 10, "octet 0xE9", "write %E9"},
		{"ftp://h/a\"x", 10, `'"' cannot`, "write %22"},
		{"ftp://h/a\\x", 10, `"\" cannot`, "write %5C"},
	}
	for c := range 256 {
		if b := byte(c); !alpha(b) && !digit(b) && !strings.Contains(allowed, string(rune(b))) && strings.IndexByte("\x00\r\n", b) < 0 {
			cases = append(cases, refusal{"ftp://h/a" + string([]byte{b}) + "b", 10, "cannot stand unencoded in a path", fmt.Sprintf("write %%%02X", b)})
		}
	}
	for _, after := range []string{"", "a", "zz/x", "4/c", "%20"} {
		cases = append(cases, refusal{"ftp://h/50%" + after, 11, `"%" is not followed`, "write %25"})
	}
	testRefusals(t, cases)
}

func TestSection3_1LoginRefusals(t *testing.T) {
	testRefusals(t, []refusal{
		{"ftp://u:p:w@h/", 10, `":" cannot stand unencoded in a password`, "write %3A"},
		{"ftp://u:p@ss@h/", 10, `"@" cannot stand unencoded in a password`, "write %40"},
		{"ftp://a@b@h/", 8, `"@" cannot stand unencoded in a user name`, "write %40"},
		{"ftp://u:pa/ss@h/f", 11, `"/" cannot stand unencoded in a user name or password`, "write %2F"},
		{"ftp://u#v:p/w@h/", 12, `"/" cannot stand unencoded in a user name or password`, "%40"},
		{"ftp://u:pa#ss@h/", 11, `"#" cannot stand unencoded in a password`, "write %23"},
		{"ftp://~joe@h/", 7, `"~" cannot stand unencoded in a user name`, "write %7E"},
		{"ftp://é@h/", 7, `"é" cannot stand unencoded in a user name`, "write %C3%A9"},
		{"ftp://u:\xff@h/", 9, "octet 0xFF", "write %FF"},
		{"ftp://u:50%@h/", 11, `"%" is not followed`, "write %25"},
	})
}

func TestSection3_1HostRefusals(t *testing.T) {
	testRefusals(t, []refusal{
		{"ftp://", 7, "host is missing", "write ftp://host/path"},
		{"ftp:///etc/motd", 7, "host is missing", "write ftp://host/path"},
		{"ftp://u:p@/f", 11, "host is missing", "write ftp://host/path"},
		{"ftp://u@", 9, "host is missing", "write ftp://host/path"},
		{"ftp://:21/", 7, "host is missing", "write ftp://host/path"},
		{"ftp://ho st/", 9, "a space cannot stand in a host", ""},
		{"ftp://h!x/", 8, `"!" cannot stand in a host`, ""},
		{"ftp://h;type=d", 8, `";" cannot stand in a host`, `/;type=d`},
		{"ftp://h?x", 8, `"?" cannot stand in a host`, `/?x`},
		{`ftp://h\pub`, 8, `"\" cannot stand in a host`, `write "/"`},
		{"ftp://%68ost/", 7, "no percent escapes", "write host"},
		{"ftp://h%2Fst/", 8, "no percent escapes", ""},
		{"ftp://~h/", 7, `"~" cannot stand in a host`, ""},
		{"ftp://-h/", 7, "does not start with", ""},
		{"ftp://a.b-/", 10, "does not end with", ""},
		{"ftp://a..b/", 9, "label of the host name is empty", ""},
		{"ftp://h../", 9, "label of the host name is empty", ""},
		{"ftp://.h/", 7, "label of the host name is empty", ""},
		{"ftp://./", 7, "label of the host name is empty", ""},
		{"ftp://" + strings.Repeat("a", 64) + ".org/", 70, "at most 63 octets", ""},
		{"ftp://" + strings.Repeat("a.", 127) + "b/", 260, "at most 253 octets", ""},
		{"ftp://127.1/", 11, "last label", "write all four groups"},
		{"ftp://2130706433/", 7, "last label", "write all four groups"},
		{"ftp://1.2.3.4.5/", 15, "last label", "write all four groups"},
		{"ftp://1.2.3.4./", 13, "last label", "write 1.2.3.4"},
		{"ftp://0x7f.0.0.1/", 16, "last label", ""},
		{"ftp://0x7f000001/", 7, "last label", ""},
		{"ftp://a.1b/", 9, "last label", ""},
		{"ftp://256.1.1.1/", 7, "0 to 255", ""},
		{"ftp://1.2.3.999999999999999999999/", 13, "0 to 255", ""},
		{"ftp://1.2..4/", 11, "0 to 255", ""},
	})
}

func TestSection3_1PortRefusals(t *testing.T) {
	testRefusals(t, []refusal{
		{"ftp://h:/", 9, "no port follows", "write h"},
		{"ftp://[::1]:", 13, "no port follows", "write [::1]"},
		{"ftp://h:0/", 9, "1 to 65535", ""},
		{"ftp://h:65536/", 9, "1 to 65535", ""},
		{"ftp://h:99999999999999999999/", 9, "1 to 65535", ""},
		{"ftp://h:2x/", 10, "decimal number", "user:password@host"},
		{"ftp://u:p@h:2x/", 14, "decimal number", ""},
		{"ftp://h:+21/", 9, "decimal number", "user:password@host"},
		{"ftp://h:21:21/", 11, "decimal number", "user:password@host"},
	})
}

func TestExtensionHostRefusals(t *testing.T) {
	testRefusals(t, []refusal{
		{"ftp://::1/", 7, "must be in brackets", "write [::1]"},
		{"ftp://[::1/", 11, `"]" is missing`, ""},
		{"ftp://[::1]x/", 12, `only ":" and a port`, ""},
		{"ftp://[]/", 8, "no IPv6 address", ""},
		{"ftp://[1.2.3.4]/", 8, "no IPv6 address", ""},
		{"ftp://[fe80::1%25eth0]/", 15, "no zone", "write [fe80::1]"},
		{"ftp://h\xff/", 8, "not in UTF-8", ""},
		{"ftp://é.xn--a/", 7, "not a valid internationalized domain name", ""},
		{"ftp://a℀b.org/", 7, `"/" cannot stand in a host`, ""},
		{"ftp://é..org/", 7, "label of the host name is empty", ""},
	})
}

func TestSection3_2_2Refusals(t *testing.T) {
	testRefusals(t, []refusal{
		{"ftp://h/a;b/c", 10, `";" cannot stand unencoded in a path`, "write %3B"},
		{"ftp://h/a;b;type=d", 10, `";"`, "write %3B"},
		{"ftp://h/a;type=a/b", 10, `";"`, "write %3B"},
		{"ftp://h/a;type=a;type=d", 10, `";"`, "write %3B"},
		{"ftp://h/a;type", 10, `";"`, "write %3B"},
		{"ftp://h/a;", 10, `";"`, "write %3B"},
		{"ftp://h/a;type=", 16, "typecode after ;type=", "write ;type=a"},
		{"ftp://h/a;type=x", 16, "typecode after ;type=", ";type=d"},
		{"ftp://h/a;type=%61", 16, "typecode after ;type=", "write ;type=a"},
		{"ftp://h/a;type=\x01", 16, "typecode after ;type=", "write ;type=a"},
		{"ftp://h/;type=a", 9, "no file is named", "write ;type=d"},
		{"ftp://h/a/;type=i", 11, "no file is named", "write ;type=d"},
	})
}

// TestSection6ControlCharacters puts CR, LF and NUL into every part, as they are, encoded, and by hand.
func TestSection6ControlCharacters(t *testing.T) {
	for octet, name := range map[string]string{"\r": "carriage return", "\n": "line feed", "\x00": "null octet"} {
		encoded := fmt.Sprintf("%%%02x", octet)
		for _, o := range []string{octet, encoded} {
			testRefusals(t, []refusal{
				{"ftp://h/a" + o + "b", 10, name, ""},
				{"ftp://h/a/" + o + "DELE%20x/f", 11, name, ""},
				{"ftp://u" + o + "@h/", 8, name, ""},
				{"ftp://u" + o + ":p@h/", 8, name, ""},
				{"ftp://u:" + o + "@h/", 9, name, ""},
			})
		}
		testRefusals(t, []refusal{{"ftp://h" + octet + "/", 8, name, ""}, {"ftp://h" + encoded + "/", 8, "no percent escapes", ""}})
		for _, u := range []URL{
			{User: url.User(octet), Host: "h"}, {User: url.UserPassword("u", octet), Host: "h"}, {Host: "h" + octet},
			{Host: "h", Dirs: []string{"a" + octet}, Name: "f"}, {Host: "h", Name: octet},
		} {
			u.Scheme = FTP
			if err := u.Check(); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%q: Check gives %v", u.String(), err)
			}
		}
	}
}

func TestAppendixRefusals(t *testing.T) {
	testRefusals(t, []refusal{
		{"<ftp://h/f>", 1, `"<" does not begin a URL`, "write <URL:ftp://h/f>"},
		{"<ftp://u:secret@h/f>", 1, `"<" does not begin a URL`, "write <URL:ftp://u:***@h/f>"},
		{"<http://h/f>", 1, `"<" does not begin a URL`, "write <URL:ftp://host/path>"},
		{"<URL:ftp://h/f", 15, `no ">"`, "write >"},
		{"<URL:ftp://h/f> ", 16, "text follows", ""},
		{"<URL:ftp://h/a#b>", 15, `"#"`, "write %23"},
		{"<URL:\n ftp://h/a\n  #b>", 20, `"#"`, "write %23"},
		{"<URL:ftp://h/a;\n type=x>", 23, "typecode", "write ;type=a"},
		{"<URL:ftp://\n>", 13, "host is missing", "write ftp://"},
		{"URL:ftp://h/a#b", 14, `"#"`, "write %23"},
		{"URL: ftp://h/", 5, "scheme is missing", "write ftp://host/path"},
	})
}

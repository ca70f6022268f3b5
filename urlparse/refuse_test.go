package urlparse

import (
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/internal/rules/table"
)

// refusal is a text that is refused: where, why, and what works instead ("" for no hint at all).
type refusal struct {
	in     string
	column int
	reason string
	hint   string
}

// refusals returns those in a section of testdata/refused.txt.
func refusals(t *testing.T, section string) (all []refusal) {
	for _, f := range table.Rows(t, "refused.txt", section) {
		all = append(all, refusal{f[0], must.Get(strconv.Atoi(f[1]))(t), f[2], f[3]})
	}
	return all
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
	testRefusals(t, refusals(t, "scheme"))
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
	testRefusals(t, refusals(t, "login"))
}

func TestSection3_1HostRefusals(t *testing.T) {
	testRefusals(t, append(refusals(t, "host"),
		refusal{"ftp://" + strings.Repeat("a", 64) + ".org/", 70, "at most 63 octets", ""},
		refusal{"ftp://" + strings.Repeat("a.", 127) + "b/", 260, "at most 253 octets", ""}))
}

func TestSection3_1PortRefusals(t *testing.T) {
	testRefusals(t, refusals(t, "port"))
}

func TestExtensionHostRefusals(t *testing.T) {
	testRefusals(t, refusals(t, "more hosts"))
}

func TestSection3_2_2Refusals(t *testing.T) {
	testRefusals(t, refusals(t, "path"))
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
	testRefusals(t, refusals(t, "wrapper"))
}

package urlparse

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/table"
)

// refusal is a text that Parse refuses: in which column, why, and with which hint ("" for none).
type refusal struct {
	in     string
	column int
	reason string
	hint   string
}

// refusals returns the refusals in a section of testdata/refused.txt.
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

// TestSection2_2Refusals puts every octet, and some characters beyond ASCII, into a path. The error for one that may
// not stand there has the encoded spelling.
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

// TestSection6ControlCharacters puts CR, LF and NUL into every part: raw, encoded, and in values made by hand.
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
			u.Scheme = "ftp"
			if err := u.Check(); err == nil || !strings.Contains(err.Error(), name) {
				t.Errorf("%q: Check gives %v", u.String(), err)
			}
		}
	}
}

func TestAppendixRefusals(t *testing.T) {
	testRefusals(t, refusals(t, "wrapper"))
}

// TestNoPasswordInErrors parses texts that are not URLs: "S3", "KR" and "ET" are pieces of the password and must be
// nowhere in the error.
func TestNoPasswordInErrors(t *testing.T) {
	for _, in := range []string{
		"ftp://u:S3#KRET@h/", "ftp://u:S3@KRET@host/f", "ftp://u:S3KRET@ho st/", "ftp://u:S3KRET@h:99999/",
		"ftp://u:S3/KRET@h/f", "ftp://u:S3KR%ET@h/", "ftp://u:S3:KRET@h/", "ftp://u:S3KRET@h/a b",
		"ftp://u:S3KRET@h/a@b c", "ftp://u:1/S3@KRET@h/ ", "ftp://u:2/S3 KRET@h/", "ftp://u:S3KRET@/f",
		"ftp://u:S3KRET", "ftp://u:S3KRET/f", "ftp://u:S3KRET%40h/f", "ftp://u:S3/KRET%40h/f", "ftp://u /x:S3KRET@h/",
		"ftp:u:S3KRET@h/", "ftp:/u:S3KRET@h/#", "ftp//u:S3KRET@h/#", `ftp:\\u:S3KRET@h\x`, "fpt://u:S3KRET@h/",
		"u:S3KRET@h/f", "u:S3KRET@h", "u:/S3KRET@h/", "u:S3KRET", "//u:S3KRET@h/#", "http://u:S3KRET@h/", "sftp://u:S3@KRET@h/x",
		"<ftp://u:S3KRET@h/>", "<URL:ftp://u:S3KRET@h/", "<URL:ftp://u:S3\n#KRET@h/>", "<URL:ftp://u:S3KRET@h/> x",
		"URL:ftp://u:S3KRET@h/#", "URL: ftp://u:S3KRET@h/", "< URL:ftp://u:S3KRET@h/", " ftp://u:S3KRET@h/", `"ftp://u:S3KRET@h/"`,
		"FTP://u:S3\r\nKRET@h/", "ftp://u:S3%0aKRET@h/", "ftp://[u:S3KRET@h/", "ftp://u:S3KRET@[::1/", "ftp://u@d:S3KRET@h/",
		"ftp://u:é~S3KRET@h/", "ftp://:S3KRET@h:/", "ftp://u:S3KRET@h;type=d", "ftp://u:S3KRET@h/;type=a", "ftp://u:S3KRET@h/f;type=z",
		"ftp://u%3AS3KRET@h/ ", "ftp://u%3aS3KRET@h:99999/", "ftp://u%3AS3KRET", "ftp://u%3AS3KRET/f", "ftp://u%3AS3KRET%40h/f#", "ftp://u%3AS3:KRET@h /",
		"<URL:ftp://u%3AS3KRET@h/", "ftp://u%3AS3/KRET@h/f#", "http://u%3AS3KRET@h/", "ftp://u%3AS3%0aKRET@h/", "u%3AS3KRET@h",
		"ftp://u:S3@KR:/ET@h/", "ftp://u:S3@KR;ET/S3@h/", "ftp://u:S3@KR?ET/@h", "ftp://u:S3@%4BR/ET@h", "ftp://u:@KR:/ET@h/",
		"ftp://\xff\xff%3AS3KRET@h/", "ftp://\u0131%3aS3KRET@h /", "ftp://\u1e9e%3AS3KRET", "ftp://\xc8%3AS3KRET@h/f",
		"ftp:S3KRET@h/f", "FTP:S3KRET@h", "URL:ftp:S3KRET@h/f", "ftp:S3/KRET%40h",
	} {
		_, err := Parse(in)
		if err == nil {
			t.Errorf("Parse(%q) takes it", in)
			continue
		}
		for _, text := range []string{err.Error(), fmt.Sprintf("%+v %#v", err, err)} {
			if leak := regexp.MustCompile("S3|KR|ET").FindString(text); leak != "" {
				t.Errorf("Parse(%q): %q is in %s", in, leak, text)
			}
		}
	}
}

func TestRedactKeepsTheRest(t *testing.T) {
	for in, want := range map[string]string{
		"ftp://u:p@h/f": "ftp://u:***@h/f", "ftp://u@h/f": "ftp://u@h/f", "ftp://u:@h/f": "ftp://u:***@h/f", "ftp://u%3Ap@h/f": "ftp://u%3A***@h/f",
		"ftp://u%3ap:q@h/f": "ftp://u%3a***@h/f", "ftp://h:21/f#": "ftp://h:21/f#", "ftp://h/a%3Ab#": "ftp://h/a%3Ab#", "ftp://h/a:b#": "ftp://h/a:b#",
		"ftp://[::1]:21/#": "ftp://[::1]:21/#", "ftp://[::1]:x/#": "ftp://[::1]:***/#", `C:\pub\x`: `C:\pub\x`, "http://h/a": "http://h/a", "\xc8%3A": "\xc8%3A", "": "",
	} {
		if got := redact(in); got != want {
			t.Errorf("redact(%q) = %q, want %q", in, got, want)
		}
	}
}

func TestSection6Redacted(t *testing.T) {
	for _, c := range table.Rows(t, "redacted.txt", "redacted") {
		in, redacted := c[0], c[1]
		u := mustParse(t, in)
		if got := u.Redacted(); got != redacted {
			t.Errorf("%s: Redacted %q, want %q", in, got, redacted)
		}
		if u.String() != in {
			t.Errorf("%s was changed: %q", in, u.String())
		}
	}
}

// TestSection6Printing prints a URL, and values that hold one, with every verb and flag of fmt, and logs them. Nothing
// may show the password, in plain text or in hexadecimal digits.
func TestSection6Printing(t *testing.T) {
	u := mustParse(t, "ftp://u:secret@h/f")
	type named struct{ U *URL }
	holders := []any{
		u, *u, &u, []*URL{u}, []URL{*u}, [1]URL{*u}, map[string]URL{"": *u}, map[*URL]int{u: 1}, []any{u, *u}, named{u}, &named{u}, struct{ URL }{*u},
		struct{ U URL }{*u}, struct{ u *URL }{u}, struct{ u []*URL }{[]*URL{u}}, struct{ u any }{u}, fmt.Errorf("%v", u),
	}
	copies := []any{struct{ u URL }{*u}, &struct{ u URL }{*u}, struct{ u []URL }{[]URL{*u}}, struct{ u any }{*u}} // fmt can call no method of these
	check := func(how string, holder any, shown string) {
		plain := strings.ToLower(strings.NewReplacer(" ", "", "0x", "", ",", "").Replace(shown))
		if strings.Contains(plain, "secret") || strings.Contains(plain, fmt.Sprintf("%x", "secret")) {
			t.Errorf("%s of a %T shows the password: %s", how, holder, shown)
		}
	}
	for _, holder := range copies {
		check("%v", holder, fmt.Sprintf("%v %+[1]v %#[1]v", holder))
	}
	for _, holder := range holders {
		for verb := 'A'; verb <= 'z'; verb++ {
			for _, flags := range []string{"", "+", "#", " ", "-", "0", "+#", " #", "40.30"} {
				format := "%" + flags + string(verb)
				check(format, holder, fmt.Errorf(format, holder).Error()+fmt.Sprintf(format+" %[2]v %v", holder, holder))
			}
		}
		var log bytes.Buffer
		slog.New(slog.NewTextHandler(&log, nil)).Info("m", "url", holder)
		check("slog", holder, log.String())
	}
	var log bytes.Buffer
	slog.New(slog.NewJSONHandler(&log, nil)).Info("m", "url", u, "value", *u, slog.Group("g", "url", u))
	check("slog", u, log.String())
	if n := strings.Count(log.String(), `"ftp://u:***@h/f"`); n != 3 {
		t.Errorf("the log has the URL %d times: %s", n, log.String())
	}
	if got, want := fmt.Sprintf("%s %q %d", u, u, *u), `ftp://u:***@h/f "ftp://u:***@h/f" ftp://u:***@h/f`; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestUnmarshalRefused reads JSON strings that are not URLs: the value must not change, and the error shows no
// password.
func TestUnmarshalRefused(t *testing.T) {
	for _, in := range []string{"", "h", "ftp://u:secret@h:x/", "http://u:secret@h/"} {
		u := mustParse(t, "ftp://before/")
		err := json.Unmarshal(must.Get(json.Marshal(in))(t), u)
		if _, ok := errors.AsType[*Error](err); !ok || strings.Contains(err.Error(), "secret") || u.String() != "ftp://before/" {
			t.Errorf("%q is read as %s, %v", in, u, err)
		}
	}
	if text, err := json.Marshal(URL{Scheme: "ftp", Host: "h", Name: "a\nb"}); err == nil {
		t.Errorf("what no text can be read as is written: %s", text)
	}
}

func TestErrorMessage(t *testing.T) {
	cases := []struct{ in, want string }{
		{"ftp://h/a#b", `ftp://h/a#b: column 10: "#" cannot stand unencoded in a path; write %23`},
		{"ftp://h/é\x1b[1m", `ftp://h/é\x1b[1m: column 11: the character U+001B cannot stand unencoded in a path; write %1B`},
		{"ftp://h/a\n\"b", `ftp://h/a\x0a"b: column 10: a line feed (LF) cannot be part of an FTP command`},
		{"ftp://h/\u202e \xff", `ftp://h/\u202e \xff: column 12: a space cannot stand unencoded in a path; write %20`},
		{"", `"": the URL is empty; write ftp://host/path`},
	}
	for _, c := range cases {
		if _, err := Parse(c.in); err == nil || err.Error() != c.want {
			t.Errorf("Parse(%q)\n got %v\nwant %s", c.in, err, c.want)
		}
	}
	long := "ftp://h/" + strings.Repeat("é", 5000) + "#"
	if _, err := Parse(long); err == nil || len(err.Error()) > 300 || !strings.Contains(err.Error(), "...: column 10009") {
		t.Errorf("a long URL: %v", err)
	}
}

// strict matches what String may print: the grammar of RFC 1738 section 5.
var strict = func() *regexp.Regexp {
	const uchar = `([a-zA-Z0-9$\-_.+!*'(),]|%[0-9A-F]{2})`
	const label = `[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?` // "_" is an extension
	const host = `((` + label + `\.)*` + label + `\.?|[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+|\[[0-9a-f:.]+\])`
	return regexp.MustCompile(`^(ftp|ftps|ftpes)://(` + uchar + `*(:` + uchar + `*)?@)?` + host + `(:[1-9][0-9]*)?(/` + uchar + `*)+(;type=[aid])?$`)
}()

// obviousPassword returns the text between the first ":" of the login and the last "@", or "" if that text is short or
// also appears elsewhere, so that finding it in an error would prove nothing.
func obviousPassword(in string) string {
	m := regexp.MustCompile(`(?is)^(?:<?url:)?ftp(?:s|es)?://[^:@/]*:(.*)@`).FindStringSubmatchIndex(in)
	if m == nil || m[3]-m[2] < 6 {
		return ""
	}
	password := in[m[2]:m[3]]
	if rest := in[:m[2]] + " " + in[m[3]:]; strings.Contains(rest, password) {
		return ""
	}
	return password
}

func checkRefusal(t *testing.T, in string, err error) {
	var e *Error
	if !errors.As(err, &e) {
		t.Fatalf("Parse(%q): %T", in, err)
	}
	if e.column < 1 || e.column > len(in)+1 {
		t.Errorf("Parse(%q): column %d", in, e.column)
	}
	text := fmt.Sprintf("%v %q %q", e, e.Input, e.Hint)
	if password := obviousPassword(in); password != "" && strings.Contains(text, password) {
		t.Errorf("Parse(%q): %q is in %s", in, password, text)
	}
	if strings.ContainsAny(e.Error(), "\r\n\x00\x1b") {
		t.Errorf("Parse(%q): the message %q is not a printable line", in, e.Error())
	}
}

// checkValue checks what holds for every URL that Parse or Check accepts.
func checkValue(t *testing.T, u *URL) {
	checkRoundTrip(t, u)
	password, has := u.User.Password()
	for _, p := range append([]string{u.User.Username(), password, u.Host, u.Name}, u.Dirs...) {
		if strings.ContainsAny(p, "\r\n\x00") {
			t.Errorf("%q: a part is %q", u.String(), p)
		}
	}
	if !strict.MatchString(u.String()) {
		t.Errorf("%q is printed, which the grammar does not allow", u.String())
	}
	name, _, slip := strings.Cut(u.User.Username(), ":")
	prefix := u.Scheme + "://" + encode(name) + ":" + mask + "@"
	if slip { // everything after the encoded colon is masked as one
		prefix = u.Scheme + "://" + encode(name) + "%3A" + mask + "@"
	}
	if got := redact(u.String()); has && !strings.HasPrefix(got, prefix) {
		t.Errorf("%q: redact and Redacted differ: %s, %s", u.String(), got, u.Redacted())
	}
}

func FuzzParse(f *testing.F) {
	for _, in := range seeds {
		f.Add(in)
	}
	f.Fuzz(func(t *testing.T, in string) {
		u, err := Parse(in)
		if err != nil {
			checkRefusal(t, in, err)
			return
		}
		checkValue(t, u)
		checkRoundTrip(t, u.Child("x/y", TypeDir))
	})
}

// FuzzCheck makes values by hand: what Check accepts survives String and Parse.
func FuzzCheck(f *testing.F) {
	f.Add("ftp", true, "u", true, "p", "h", 21, "a", "f", "d")
	f.Add("ftps", true, "", false, "", "::1", 0, "", "", "")
	f.Add("ftpes", false, "", false, "", "é.example", 0, "/", "x;y", "a")
	f.Add("ftp", false, "", true, "p@:/", "a@b/c", -1, "\n", "\xff", "A")
	f.Fuzz(func(t *testing.T, scheme string, hasUser bool, user string, hasPassword bool, password, host string, port int, dir, name, code string) {
		u := &URL{Scheme: scheme, Host: host, Port: port, Dirs: []string{dir}, Name: name, Type: Typecode(code)}
		switch {
		case hasPassword:
			u.User = url.UserPassword(user, password)
		case hasUser:
			u.User = url.User(user)
		}
		if err := u.Check(); err != nil {
			checkRefusal(t, u.String(), err)
			return
		}
		checkValue(t, u)
	})
}

var seeds = []string{
	"", "ftp://h", "ftp://h/", "FTP://u:p@h:2121/a/b;type=D", "ftp://@h/", "ftp://:@h/", "ftp://u:@h//etc/motd", "ftp://u@h/%2Fetc/motd",
	"ftps://[2001:DB8::1]:990/~joe/é%FF", "ftpes://münchen.example./", "ftp://010.1.1.1/", "ftp://256.1.1.1/", "ftp://127.1/",
	"URL:ftp://h/a", "<URL:ftp://h/a-\n b;\ttype=a>", "<ftp://h/>", "http://h/", "ftp.example.org:21/pub", `C:\x`, "u:secret@h/f",
	"ftp://user:pa/ssword@h/f", "ftp://user:pa#ssword@h/", "ftp://user:p@ssword@host/f", "ftp://user:password@ho st/", "ftp://user:password@h:99999/",
	"ftp://h/a;b/c", "ftp://h/;type=i", "ftp://h/a;type=x", "ftp://h/%0d%0aDELE", "ftp://h/%zz", "ftp://h:25/", "ftp://a/b@host/f", "ftp:h", "ftp//h",
}

// An error shows at most 200 bytes of a text, and says that it has cut a longer one.
func TestErrorIsBounded(t *testing.T) {
	whole := strings.Repeat("a", 200)
	if got := shown(whole); got != whole {
		t.Errorf("200 bytes: got %q", got)
	}
	if got := shown(whole + "b"); got != whole+"..." {
		t.Errorf("201 bytes: got %q", got)
	}
}

package urlparse

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"strings"
	"testing"
)

// strict is the grammar of RFC 1738 section 5, for what String prints.
var strict = func() *regexp.Regexp {
	const (
		uchar = `([a-zA-Z0-9$\-_.+!*'(),]|%[0-9A-F]{2})`
		label = `[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?` // "_" is an extension
		host  = `((` + label + `\.)*` + label + `\.?|[0-9]+\.[0-9]+\.[0-9]+\.[0-9]+|\[[0-9a-f:.]+\])`
	)
	return regexp.MustCompile(`^(ftp|ftps|ftpes)://(` + uchar + `*(:` + uchar + `*)?@)?` + host + `(:[1-9][0-9]*)?(/` + uchar + `*)+(;type=[aid])?$`)
}()

// obviousPassword is the text between the first ":" of the login and the last "@", if no other part of the text holds it,
// and it is long enough to tell.
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

// checkValue checks what holds for every URL that Parse or Check takes.
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

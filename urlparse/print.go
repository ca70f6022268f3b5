package urlparse

import (
	"fmt"
	"io"
	"log/slog"
	"slices"
	"strconv"
	"strings"

	"example.com/ftpfetch/internal/printable"
)

const mask = "***"

// String returns the URL in its canonical spelling, with the password. Parsing it returns u again. String
// percent-encodes every octet that RFC 1738 does not list as a uchar, with upper-case digits. It also encodes "~" and
// the reserved characters that a segment could hold unencoded, so that no other program can take a "?" for a query. It
// prints the path even if it is empty: "ftp://h" becomes "ftp://h/".
//
// The fmt verbs print [URL.Redacted] instead.
func (u *URL) String() string { return u.fromHost(u.beforeHost()) }

// Redacted returns the URL like String, with "***" in place of the password, if u has one. What follows a colon in the
// user name becomes "***" too: it is a password if the colon before it was encoded by mistake. So does what stands
// before an "@" in the first segment, if there is a port and no user: "ftp://me:21/secret@host/f" names a file on the
// host "me", but is probably meant as a login with a "/" in its password. So does the password of a second URL in the
// path.
func (u *URL) Redacted() string {
	name, slip := printable.Slip(u.User.Username())
	user := encode(u.User.Username())
	if slip != "" {
		user = encode(name+":") + mask
	}
	return u.withPath(func(string) string { return mask }).fromHost(u.login(user, mask))
}

// withPath returns u with instead(part) for each part of its path that may be a password: the end of u's own password,
// or the password of a second URL, as in "ftp://a/x,ftp://me:secret@b/y".
func (u *URL) withPath(instead func(part string) string) *URL {
	suspect := func(s string) bool { return strings.Contains(s, "@") }
	if !suspect(u.Name) && !slices.ContainsFunc(u.Dirs, suspect) {
		return u
	}
	path := append(slices.Clone(u.Dirs), u.Name)
	for i, s := range path {
		start := 0
		at := strings.LastIndexByte(s, '@')
		switch {
		case i >= 2 && path[i-1] == "" && strings.HasSuffix(path[i-2], ":"):
			start = strings.IndexByte(s, ':') + 1
		case i > 0 || u.Port == 0 || u.User != nil:
			continue
		}
		if start+at > 0 && start <= at {
			path[i] = s[:start] + instead(s[start:at]) + s[at:]
		}
	}
	v := *u
	last := len(path) - 1
	v.Dirs = path[:last]
	v.Name = path[last]
	return &v
}

// Format prints the URL without its password, whatever the verb, so that a URL in a message or a log shows no secret.
// Call String for the whole URL.
func (u URL) Format(f fmt.State, verb rune) {
	text := u.Redacted()
	if verb == 'q' {
		text = strconv.Quote(text)
	}
	io.WriteString(f, text)
}

// LogValue returns the URL without its password, for log/slog.
func (u URL) LogValue() slog.Value { return slog.StringValue(u.Redacted()) }

// MarshalText returns the URL without its password ([URL.WithoutPassword]), so that JSON, XML and logs of structs that
// hold a URL show none. To keep the password, store the text of [URL.String]: a struct for JSON then has a field of
// type string. UnmarshalText and [Parse] read either. The error is the one of [URL.Check].
func (u URL) MarshalText() ([]byte, error) { return []byte(u.WithoutPassword().String()), u.Check() }

// UnmarshalText reads text like [Parse]. It changes nothing if Parse fails.
func (u *URL) UnmarshalText(text []byte) error {
	v, err := Parse(string(text))
	if err == nil {
		*u = *v
	}
	return err
}

func (u *URL) beforeHost() string {
	password, _ := u.User.Password()
	return u.login(encode(u.User.Username()), encode(password))
}

func (u *URL) login(user, password string) string {
	s := u.Scheme + "://"
	if u.User == nil {
		return s
	}
	if _, ok := u.User.Password(); ok {
		user += ":" + password
	}
	return s + user + "@"
}

// fromHost returns the whole URL: before, then the host and what follows it.
func (u *URL) fromHost(before string) string {
	b := append(append(make([]byte, 0, 128), before...), u.host()...)
	if u.Port != 0 {
		b = strconv.AppendInt(append(b, ':'), int64(u.Port), 10)
	}
	for _, dir := range u.Dirs {
		b = append(append(b, '/'), encode(dir)...)
	}
	b = append(append(b, '/'), encode(u.Name)...)
	switch u.Type {
	case "":
	case TypeASCII, TypeImage, TypeDir:
		b = append(b, ";type="+u.Type...)
	default:
		b = append(b, ";type=?"...)
	}
	return string(b)
}

// redact masks what may be a password in a text that may not be a URL. It uses no grammar, because the text may follow
// none: the password is everything between the first ":" after the scheme, encoded or not, and the last "@" of the
// whole text. That hides parts of some paths on purpose: a "/", "@" or "#" in a password is an error, and its message
// must not show the password.
func redact(text string) string {
	start := loginStart(text)
	login := text[start:]
	secret := afterColon(login)
	end := lastAt(login)
	if end < 0 {
		secret, end = portSpan(login)
	}
	if secret < 0 || end < secret {
		return text
	}
	return text[:start+secret] + mask + login[end:]
}

// afterColon returns the index after the first ":" of s, which may be encoded, or -1.
func afterColon(s string) int {
	for i := range len(s) {
		switch {
		case s[i] == ':':
			return i + 1
		case hasPrefixFold(s[i:], "%3A"):
			return i + len("%3A")
		}
	}
	return -1
}

// lastAt returns the end of what may be a login, or -1. An encoded "@" counts only if there is no other: the user
// probably encoded the delimiter too.
func lastAt(s string) int {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		return i
	}
	return strings.LastIndex(s, "%40")
}

// portSpan returns where a port that is not a number begins and ends, or -1: a password looks like that if the "@" was
// forgotten.
func portSpan(login string) (begin, end int) {
	if drivePath(login) {
		return -1, -1
	}
	skip := 0
	if strings.HasPrefix(login, "[") {
		skip = strings.IndexByte(login, ']') + 1
	}
	end = skip + len(upTo(login[skip:], "/"))
	begin = afterColon(login[skip:end])
	if begin < 0 || allDigits(login[skip+begin:end]) {
		return -1, -1
	}
	return skip + begin, end
}

// loginStart returns where the login may begin, after the wrapper of the Appendix and a known scheme. Any other word
// before a ":" could be a user name, with its password after the ":".
func loginStart(text string) int {
	s := strings.TrimLeft(text, "<\"'` \t\r\n")
	if hasPrefixFold(s, "URL:") {
		s = strings.TrimLeft(s[len("URL:"):], " \t\r\n")
	}
	for scheme := range strings.FieldsSeq("ftp: ftps: ftpes: http: https: sftp: file: gopher:") {
		if rest := s[min(len(s), len(scheme)):]; hasPrefixFold(s, scheme) && !userBefore(rest) {
			s = rest
			break
		}
	}
	return len(text) - len(strings.TrimLeft(s, `/\`))
}

// userBefore reports whether the scheme before rest may be a user name: servers accept "ftp" as an anonymous user.
func userBefore(rest string) bool {
	return !strings.HasPrefix(rest, "/") && !strings.HasPrefix(rest, `\`) && lastAt(rest) >= 0
}

func upTo(s, sep string) string {
	before, _, _ := strings.Cut(s, sep)
	return before
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func allDigits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

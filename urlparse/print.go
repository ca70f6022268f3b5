package urlparse

import (
	"fmt"
	"io"
	"log/slog"
	"strconv"
	"strings"
)

// mask stands where a password would.
const mask = "***"

// String returns the URL in its canonical spelling, with the password: parsing
// it gives u again. Every octet that RFC 1738 does not list as a uchar is
// percent-encoded with upper-case digits, also "~" and the reserved characters
// that a segment could hold as they are, so that no other program can take a
// "?" for a query. The path is printed even if empty: "ftp://h" is "ftp://h/".
//
// The fmt verbs print [URL.Redacted] instead.
func (u *URL) String() string { return u.spell(encode(u.User.Value), encode(u.Password.Value)) }

// Redacted returns the URL as String does, but for the password, which is
// "***"; an absent one stays absent. What follows a colon in the user name is
// "***" too: it is a password where somebody has encoded the colon before it.
func (u *URL) Redacted() string {
	user := encode(u.User.Value)
	if name, slip, _ := strings.Cut(u.User.Value, ":"); slip != "" {
		user = encode(name+":") + mask
	}
	return u.spell(user, mask)
}

// WithoutPassword returns a copy of u without its password, and without what
// follows a colon in its user name, which may be one ([URL.Redacted]). Its
// String is what may be written down to name the file.
func (u *URL) WithoutPassword() *URL {
	v := *u
	v.Password = Text{}
	v.User.Value, _, _ = strings.Cut(u.User.Value, ":")
	return &v
}

// Path returns the part of String that begins with the "/" behind the host.
func (u *URL) Path() string {
	var b strings.Builder
	for _, dir := range u.Dirs {
		b.WriteString("/" + encode(dir))
	}
	b.WriteString("/" + encode(u.Name))
	if u.Type != TypeNone {
		b.WriteString(";type=" + u.Type.String())
	}
	return b.String()
}

// Format prints the URL without its password, whatever the verb, so that a URL
// in a message or a log tells no secret. Call String for the whole of it.
func (u URL) Format(f fmt.State, verb rune) {
	text := u.Redacted()
	if verb == 'q' {
		text = strconv.Quote(text)
	}
	io.WriteString(f, text)
}

// LogValue is the URL without its password, for log/slog.
func (u URL) LogValue() slog.Value { return slog.StringValue(u.Redacted()) }

// spell prints u with this encoded login.
func (u *URL) spell(user, password string) string {
	s := u.loginPrefix(user, password) + bracket(canonicalHost(u.Host))
	if u.Port != 0 {
		s += ":" + strconv.Itoa(u.Port)
	}
	return s + u.Path()
}

// loginPrefix prints all that stands before the host.
func (u *URL) loginPrefix(user, password string) string {
	s := string(u.Scheme) + "://"
	if u.User.Set || u.Password.Set {
		s += user
		if u.Password.Set {
			s += ":" + password
		}
		s += "@"
	}
	return s
}

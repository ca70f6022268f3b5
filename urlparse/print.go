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
func (u *URL) String() string { return u.spell(encode(u.Password.Value)) }

// Redacted returns the URL as String does, but for the password, which is
// "***"; an absent one stays absent.
func (u *URL) Redacted() string { return u.spell(mask) }

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

// spell prints u with this encoded password.
func (u *URL) spell(password string) string {
	var b strings.Builder
	b.WriteString(u.loginPrefix(password))
	b.WriteString(bracket(canonicalHost(u.Host)))
	if u.Port != 0 {
		b.WriteString(":" + strconv.Itoa(u.Port))
	}
	for _, dir := range u.Dirs {
		b.WriteString("/" + encode(dir))
	}
	b.WriteString("/" + encode(u.Name))
	if u.Type != TypeNone {
		b.WriteString(";type=" + u.Type.String())
	}
	return b.String()
}

// loginPrefix prints all that stands before the host.
func (u *URL) loginPrefix(password string) string {
	s := string(u.Scheme) + "://"
	if u.User.Set || u.Password.Set {
		s += encode(u.User.Value)
		if u.Password.Set {
			s += ":" + password
		}
		s += "@"
	}
	return s
}

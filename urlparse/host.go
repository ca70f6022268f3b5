package urlparse

import (
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

// host = hostname | hostnumber
//
// RFC 1738 sections 3.1 and 5. The top label distinguishes them: it never starts with a digit. Extensions: an IPv6 address
// in brackets, a name in UTF-8. host returns the form that URL.Host has.
func host(text part) (string, *Error) {
	switch {
	case text.s == "":
		return "", text.fault(0, "the host is missing", generalHint)
	case text.s[0] == '[':
		return ipv6(text)
	case strings.ContainsFunc(text.s, func(r rune) bool { return r >= utf8.RuneSelf }):
		return idnHost(text)
	}
	foreign := func(r rune) bool { return !labelOctet(byte(r)) && r != '.' }
	if i := strings.IndexFunc(text.s, foreign); i >= 0 {
		return "", hostOctet(text, i)
	}
	if top := topStart(text.s); digit(text.s[top]) {
		return hostnumber(text)
	}
	return hostname(text)
}

// labelOctet = alphadigit | "-"; "_" is an extension.
func labelOctet(c byte) bool { return alpha(c) || digit(c) || c == '-' || c == '_' }

// topStart returns where the last label begins. It ignores a trailing dot.
func topStart(s string) int { return strings.LastIndexByte(strings.TrimSuffix(s, "."), '.') + 1 }

// hostOctet refuses octet i, which cannot be in a host, and guesses what was meant.
func hostOctet(text part, i int) *Error {
	octet := text.s[i]
	rest := text.s[i:]
	if name := forbidden(octet); name != "" {
		return text.fault(i, name+" cannot be in a host", "")
	}
	if octet == '%' {
		return text.fault(i, "a host takes no percent escapes", decodedHint(text))
	}
	return text.fault(i, visible(rest[:1])+" cannot stand in a host", delimiterHint(rest))
}

// delimiterHint returns the hint for rest, which follows a host or port but does not begin with "/"; "" if there is
// none.
func delimiterHint(rest string) string {
	switch rest[0] {
	case ';', '?':
		return `write "/" before the path, as in /` + rest
	case '\\':
		return `write "/" in its place`
	}
	return ""
}

// decodedHint proposes the host without its escapes, if that is a valid host.
func decodedHint(text part) string {
	if plain, f := segmentOctets.decode(text); f == nil && !strings.Contains(plain, "%") {
		if name, f := host(part{s: plain}); f == nil {
			return "write " + name
		}
	}
	return ""
}

// hostname = *[ domainlabel "." ] toplabel, and one trailing dot.
//
// domainlabel = alphadigit | alphadigit *[ alphadigit | "-" ] alphadigit; a toplabel is read the same way, because host
// has already checked its first octet. RFC 1123 section 2.1 and RFC 1035 section 2.3.4 limit the lengths.
func hostname(text part) (string, *Error) {
	name := strings.TrimSuffix(text.s, ".")
	at := 0
	if len(name) > 253 {
		return "", text.fault(253, "a host name has at most 253 octets", "")
	}
	for label := range strings.SplitSeq(name, ".") {
		end := at + len(label)
		switch {
		case label == "":
			return "", text.fault(at, "a label of the host name is empty", "")
		case len(label) > 63:
			return "", text.fault(at+63, "a label of a host name has at most 63 octets", "")
		case label[0] == '-':
			return "", text.fault(at, `a label of a host name does not start with "-"`, "")
		case text.s[end-1] == '-':
			return "", text.fault(end-1, `a label of a host name does not end with "-"`, "")
		}
		at = end + 1
	}
	return strings.ToLower(text.s), nil
}

// hostnumber = digits "." digits "." digits "." digits
//
// Each group is a decimal number up to 255. Leading zeros do not make it octal, and the result omits them.
func hostnumber(text part) (string, *Error) {
	if _, err := netip.ParseAddr(text.s); err == nil { // without leading zeros
		return text.s, nil
	}
	if strings.Count(text.s, ".") != 3 || strings.Trim(text.s, "0123456789.") != "" {
		return "", notNumber(text)
	}
	at := 0
	octets := make([]byte, 0, 4)
	for group := range strings.SplitSeq(text.s, ".") {
		n, err := strconv.ParseUint(group, 10, 8)
		if err != nil {
			return "", text.fault(at, "a group of an IPv4 address is 0 to 255", "")
		}
		octets = append(octets, byte(n))
		at += len(group) + 1
	}
	return netip.AddrFrom4([4]byte(octets)).String(), nil
}

// notNumber refuses a host whose top label starts with a digit and that is not an IPv4 address of four groups.
func notNumber(text part) *Error {
	hint := ""
	if trimmed := strings.TrimSuffix(text.s, "."); trimmed != text.s {
		if name, f := host(part{s: trimmed}); f == nil {
			hint = "write " + name
		}
	} else if allDigits(strings.ReplaceAll(text.s, ".", "")) {
		hint = "write all four groups, as in 127.0.0.1"
	}
	const reason = "the last label of a host name does not start with a digit, " +
		"and an IPv4 address has four groups of digits"
	return text.fault(topStart(text.s), reason, hint)
}

// ipv6 reads an address in brackets, an extension (RFC 3986 section 3.2.2). It refuses a zone, which only one machine
// knows.
func ipv6(text part) (string, *Error) {
	if !strings.HasSuffix(text.s, "]") {
		return "", text.fault(len(text.s), `"]" is missing after the IPv6 address`, "")
	}
	addr, err := netip.ParseAddr(text.s[1 : len(text.s)-1])
	if err != nil || !addr.Is6() {
		return "", text.fault(1, "there is no IPv6 address between the brackets", "")
	}
	if addr.Zone() != "" {
		hint := "write [" + addr.WithZone("").String() + "]"
		if addr.IsLinkLocalUnicast() || addr.IsLinkLocalMulticast() { // without a zone it leads nowhere
			hint = "write the host's name, or another of its addresses"
		}
		at := strings.IndexByte(text.s, '%')
		return "", text.fault(at, "an IPv6 address in a URL takes no zone", hint)
	}
	return addr.String(), nil
}

// bracketed returns what s, an IPv6 address without brackets, may mean: an address and a port, an address alone, or
// either.
func bracketed(s string) (forms []string) {
	colon := strings.LastIndexByte(s, ':')
	if strings.IndexByte(s, ':') == colon { // an IPv6 address has two
		return nil
	}
	if addr, f := ipv6(part{s: "[" + s[:colon] + "]"}); f == nil {
		if _, f := port(part{s: s[colon+1:]}); f == nil {
			forms = append(forms, bracket(addr)+s[colon:])
		}
	}
	if addr, f := ipv6(part{s: "[" + s + "]"}); f == nil {
		forms = append(forms, bracket(addr))
	}
	return forms
}

// idnProfile maps as for a lookup (UTS 46); hostname checks the result.
var idnProfile = idna.New(idna.MapForLookup(), idna.BidiRule(), idna.CheckJoiners(true),
	idna.StrictDomainName(false), idna.Transitional(false))

// idnHost turns a name in UTF-8 into its A-labels, RFC 5890.
func idnHost(text part) (string, *Error) {
	for i, r := range text.s {
		if r == utf8.RuneError && !strings.HasPrefix(text.s[i:], "\uFFFD") {
			return "", text.fault(i, "the host is not in UTF-8", "")
		}
	}
	ascii, err := idnProfile.ToASCII(text.s)
	if err != nil {
		return "", text.fault(0, "the host is not a valid internationalized domain name", "")
	}
	name, f := host(part{s: ascii, at: text.at})
	if f != nil {
		f.column = text.at + 1 // a column in the A-labels is not one in the text
	}
	return name, f
}

// part is a piece of the text. It knows where it begins in the whole, so that an error can name the column.
type part struct {
	s  string
	at int // octets before it
}

// from returns the part from octet i on, and to returns the part before octet i.
func (p part) from(i int) part { return part{p.s[i:], p.at + i} }
func (p part) to(i int) part   { return part{p.s[:i], p.at} }

func (p part) fault(i int, reason, hint string) *Error {
	return &Error{Hint: hint, column: p.at + i + 1, reason: reason}
}

// The character classes of RFC 1738 section 5.

func alpha(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }
func digit(c byte) bool { return '0' <= c && c <= '9' }

// unreserved = alpha | digit | safe | extra
func unreserved(c byte) bool {
	return alpha(c) || digit(c) || strings.IndexByte("$-_.+!*'(),", c) >= 0
}

// component is a production of the form *[ uchar | one of also ].
type component struct {
	name string
	also string // may be unencoded, besides uchar
	utf8 bool   // UTF-8 letters too: an extension
}

var userOctets = component{name: "a user name", also: ";?&="}
var passwordOctets = component{name: "a password", also: ";?&="}

// fsegment = *[ uchar | "?" | ":" | "@" | "&" | "=" ]
//
// "/" and ";" are reserved in it: section 3.2.2. "~" is unsafe in RFC 1738, but unreserved in RFC 3986.
var segmentOctets = component{name: "a path", also: "?:@&=~", utf8: true}

// decode reads a part octet by octet and returns the octets that it stands for.
func (c component) decode(p part) (string, *Error) {
	if !strings.ContainsFunc(p.s, func(r rune) bool { return !c.takes(r) }) {
		return p.s, nil
	}
	var b strings.Builder
	b.Grow(len(p.s))
	for i := 0; i < len(p.s); {
		octets, n, f := c.uchar(p, i)
		if f != nil {
			return "", f
		}
		b.WriteString(octets)
		i += n
	}
	return b.String(), nil
}

// takes reports whether a character of ASCII may stand unencoded.
func (c component) takes(r rune) bool {
	return r < utf8.RuneSelf && (unreserved(byte(r)) || strings.IndexByte(c.also, byte(r)) >= 0)
}

// uchar reads a uchar (unreserved | escape) at i, or another character that the component allows. It returns the
// decoded octets and how many octets of text it read.
func (c component) uchar(p part, i int) (string, int, *Error) {
	ch := p.s[i]
	switch {
	case ch == '%':
		octet, f := escape(p, i)
		return string([]byte{octet}), 3, f
	case c.takes(rune(ch)):
		return p.s[i : i+1], 1, nil
	}
	r, n := utf8.DecodeRuneInString(p.s[i:])
	if n > 1 && c.utf8 && !unicode.IsControl(r) && !unicode.IsSpace(r) {
		return p.s[i : i+n], n, nil
	}
	return "", 0, c.refuse(p, i, n)
}

// refuse returns the error for the n octets at i, which cannot stand unencoded.
func (c component) refuse(p part, i, n int) *Error {
	if name := forbidden(p.s[i]); name != "" {
		return p.fault(i, name+" cannot be part of an FTP command", "")
	}
	octets := p.s[i : i+n]
	return p.fault(i, visible(octets)+" cannot stand unencoded in "+c.name, "write "+encode(octets))
}

// escape = "%" hex hex, RFC 1738 section 2.2. It refuses octets that would end the FTP command that carries them, section 6.
func escape(p part, i int) (byte, *Error) {
	octet, err := strconv.ParseUint(p.s[min(i+1, len(p.s)):min(i+3, len(p.s))], 16, 8)
	if err != nil || len(p.s) < i+3 {
		return 0, p.fault(i, `"%" is not followed by two hexadecimal digits`, "write %25")
	}
	if name := forbidden(byte(octet)); name != "" {
		return 0, p.fault(i, name+" cannot be part of an FTP command, encoded or not", "")
	}
	return byte(octet), nil
}

// forbidden returns the name of an octet that no part may hold, raw or decoded, and "" for all others.
func forbidden(octet byte) string {
	switch octet {
	case '\r':
		return "a carriage return (CR)"
	case '\n':
		return "a line feed (LF)"
	case 0:
		return "a null octet (NUL)"
	}
	return ""
}

// encode returns octets in a form that is allowed anywhere in a URL.
func encode(octets string) string {
	special := func(r rune) bool { return r >= utf8.RuneSelf || !unreserved(byte(r)) }
	if !strings.ContainsFunc(octets, special) {
		return octets
	}
	var b strings.Builder
	for _, c := range []byte(octets) {
		if unreserved(c) {
			b.WriteByte(c)
		} else {
			fmt.Fprintf(&b, "%%%02X", c)
		}
	}
	return b.String()
}

func visible(octets string) string {
	r, n := utf8.DecodeRuneInString(octets)
	switch {
	case r == ' ':
		return "a space"
	case r == '"':
		return `'"'`
	case r == utf8.RuneError && n < 2:
		return fmt.Sprintf("the octet 0x%02X", octets[0])
	case !unicode.IsGraphic(r) || unicode.IsSpace(r):
		return fmt.Sprintf("the character U+%04X", r)
	}
	return `"` + octets + `"`
}

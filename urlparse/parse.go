package urlparse

import (
	"cmp"
	"net/url"
	"strconv"
	"strings"
)

// Parse reads one URL. It may be preceded by "URL:" or wrapped in "<URL:" and ">", in which case white space inside the
// wrapper is removed (RFC 1738, Appendix). The error is an [*Error].
//
// Parse accepts the ports of other protocols; see [URL.BadPort].
func Parse(s string) (*URL, error) {
	text, f := unwrap(s)
	if f != nil {
		return nil, f.of(s)
	}
	u, f := ftpurl(part{s: text})
	if f != nil {
		f.column = outer(s, f.column)
		return nil, f.of(s)
	}
	return u, nil
}

// ftpurl = "ftp://" login [ "/" fpath [ ";type=" ftptype ]]
//
// RFC 1738 section 5 has the grammar, section 3.1 the parts. The "/" after the login is not part of the path. If it is
// missing, the path is empty.
func ftpurl(text part) (*URL, *Error) {
	u := new(URL)
	var schemepart part
	var f *Error
	if u.Scheme, schemepart, f = scheme(text); f != nil {
		return nil, f
	}
	slash := strings.IndexByte(schemepart.s, '/')
	if slash < 0 {
		return u, login(u, schemepart)
	}
	if f = login(u, schemepart.to(slash)); f != nil {
		return nil, slashInLogin(schemepart, slash, f)
	}
	return u, urlpath(u, schemepart.from(slash+1))
}

// slashInLogin adapts f, the refusal of a login, if an "@" follows somewhere after the login: the "/" that ended it may be
// part of a password.
func slashInLogin(schemepart part, slash int, f *Error) *Error {
	switch {
	case !strings.Contains(schemepart.s[slash:], "@"):
		return f
	case !strings.Contains(schemepart.s[:slash], "@"):
		return schemepart.fault(slash,
			`"/" cannot stand unencoded in a user name or password, and no host is before it`,
			`write %2F for a "/" and %40 for a "@" there`)
	}
	if !strings.HasPrefix(f.Hint, "write %") { // it may quote a piece of the password as the host
		f.Hint = `if the password goes on here, write %40, %3A, %2F and %23 for "@", ":", "/" and "#" in it`
	}
	return f
}

// login = [ user [ ":" password ] "@" ] hostport
//
// RFC 1738 sections 3.1 and 5. The last "@" ends the user name and password, so that the error for an earlier,
// unencoded "@" can point at it.
func login(u *URL, text part) *Error {
	at := strings.LastIndexByte(text.s, '@')
	if at >= 0 {
		if f := userinfo(u, text.to(at)); f != nil {
			return f
		}
	}
	f := hostport(u, text.from(at+1))
	if f != nil && f.Hint == loginHint && at >= 0 {
		f.Hint = ""
	}
	return f
}

// loginHint is the hint for a port that is not a number, if there is no login.
const loginHint = "write ftp://user:password@host/ if this is a password"

// userinfo reads user [ ":" password ], each *[ uchar | ";" | "?" | "&" | "=" ]. An empty one is not an absent one:
// section 3.1.
func userinfo(u *URL, text part) *Error {
	before, _, found := strings.Cut(text.s, ":")
	name, f := userOctets.decode(text.to(len(before)))
	u.User = url.User(name)
	if f != nil || !found {
		return f
	}
	password, f := passwordOctets.decode(text.from(len(before) + 1))
	u.User = url.UserPassword(name, password)
	return f
}

// hostport = host [ ":" port ]
func hostport(u *URL, text part) (f *Error) {
	if forms := bracketed(text.s); forms != nil {
		hint := "write " + strings.Join(forms, " or ")
		return text.fault(0, "an IPv6 address must be in brackets", hint)
	}
	end := hostEnd(text.s)
	if u.Host, f = host(text.to(end)); f != nil {
		return f
	}
	switch {
	case end == len(text.s):
		return nil
	case text.s[end] != ':':
		return text.fault(end, `only ":" and a port can follow "]"`, "")
	case end+1 == len(text.s):
		return text.fault(end+1, `no port follows the ":"`, "write "+text.s[:end])
	}
	u.Port, f = port(text.from(end + 1))
	return f
}

// hostEnd returns the length of the host before the ":" and the port.
func hostEnd(s string) int {
	if strings.HasPrefix(s, "[") {
		return len(upTo(s, "]")) + min(1, strings.Count(s, "]"))
	}
	return len(upTo(s, ":"))
}

// port = digits, RFC 1738 section 5; 1 to 65535, decimal even with leading zeros.
func port(text part) (int, *Error) {
	for i, c := range []byte(text.s) {
		if !digit(c) {
			hint := cmp.Or(delimiterHint(text.s[i:]), loginHint)
			return 0, text.fault(i, "a port is a decimal number", hint)
		}
	}
	n, err := strconv.ParseUint(text.s, 10, 16)
	if err != nil || n == 0 {
		return 0, text.fault(0, "a port is 1 to 65535", "")
	}
	return int(n), nil
}

// urlpath = fpath [ ";type=" ftptype ], RFC 1738 section 3.2.2.
func urlpath(u *URL, text part) (f *Error) {
	segments, code, found := splitType(text)
	if u.Dirs, u.Name, f = fpath(segments); f != nil || !found {
		return f
	}
	if u.Type, f = ftptype(code); f != nil {
		return f
	}
	if u.Name == "" && u.Type != TypeDir {
		reason := "no file is named before ;type=" + string(u.Type)
		return segments.fault(len(segments.s), reason, "write ;type=d to list the directory")
	}
	return nil
}

// splitType cuts off a final ";type=...", in any letter case. It leaves any other ";" for fsegment to refuse.
func splitType(text part) (segments, code part, found bool) {
	const key = ";type="
	semicolon := strings.LastIndexByte(text.s, ';')
	if semicolon < 0 {
		return text, part{}, false
	}
	last := text.s[semicolon:]
	if !hasPrefixFold(last, key) || strings.Contains(last, "/") {
		return text, part{}, false
	}
	return text.to(semicolon), text.from(semicolon + len(key)), true
}

// fpath = fsegment *[ "/" fsegment ]
//
// The last segment is the name, the others are CWD arguments; any of them may be empty: section 3.2.2.
func fpath(text part) (dirs []string, name string, f *Error) {
	at := 0
	dirs = make([]string, 0, strings.Count(text.s, "/")+1)
	for segment := range strings.SplitSeq(text.s, "/") {
		octets, f := segmentOctets.decode(part{segment, text.at + at})
		if f != nil {
			return nil, "", f
		}
		dirs = append(dirs, octets)
		at += len(segment) + 1
	}
	last := len(dirs) - 1
	name = dirs[last]
	dirs = dirs[:last:last]
	if last == 0 {
		dirs = nil
	}
	return dirs, name, nil
}

// ftptype = "A" | "I" | "D" | "a" | "i" | "d"
func ftptype(text part) (Typecode, *Error) {
	switch t := Typecode(strings.ToLower(text.s)); t {
	case TypeASCII, TypeImage, TypeDir:
		return t, nil
	}
	return "", text.fault(0, "the typecode after ;type= is a, i or d",
		"write ;type=a, ;type=i or ;type=d")
}

// space is the white space that the Appendix ignores inside a wrapper.
const space = " \t\n\v\f\r"

// unwrap removes the prefix "URL:" or the wrapper "<URL:" ">", in any letter case: RFC 1738, Appendix.
func unwrap(raw string) (string, *Error) {
	whole := part{s: raw}
	trimmed := strings.Trim(raw, space)
	end := strings.IndexByte(raw, '>')
	switch wrapped := hasPrefixFold(raw, "<URL:"); {
	case wrapped && end < 0:
		return "", whole.fault(len(raw), `"<URL:" has no ">" after the URL`, "write > after it")
	case wrapped && end != len(raw)-1:
		return "", whole.fault(end+1, `text follows the ">" that ends the URL`, "")
	case wrapped, hasPrefixFold(raw, "URL:"):
	case strings.HasPrefix(raw, "<"):
		return "", whole.fault(0, `"<" does not begin a URL`, angleHint(raw))
	case trimmed == "":
		return "", whole.fault(0, "the URL is empty", generalHint)
	case trimmed != raw:
		at := 0
		if strings.HasPrefix(raw, trimmed) {
			at = len(trimmed)
		}
		return "", whole.fault(at, "white space around the URL", "write "+redact(trimmed))
	}
	return inner(raw), nil
}

// inner returns a URL without "URL:", or without its wrapper and the white space inside it. A hyphen before a line
// break stays: it may be part of the URL, and a guess could name another file.
func inner(raw string) string {
	switch {
	case hasPrefixFold(raw, "URL:"):
		return raw[len("URL:"):]
	case !hasPrefixFold(raw, "<URL:"):
		return raw
	}
	text := strings.TrimSuffix(raw[len("<URL:"):], ">")
	isSpace := func(r rune) bool { return strings.ContainsRune(space, r) }
	return strings.Join(strings.FieldsFunc(text, isSpace), "")
}

// outer converts a column of inner(raw) to the column of the same octet in raw.
func outer(raw string, column int) int {
	switch {
	case hasPrefixFold(raw, "URL:"):
		return column + len("URL:")
	case !hasPrefixFold(raw, "<URL:"):
		return column
	}
	i := len("<URL:")
	for ; column > 0; i++ {
		if strings.IndexByte(space, raw[i]) < 0 {
			column--
		}
	}
	return i
}

// angleHint proposes the wrapper for a text that begins with "<" and lacks "URL:".
func angleHint(raw string) string {
	text := strings.TrimSuffix(raw[1:], ">")
	if _, _, f := scheme(part{s: text}); f != nil || text+">" != raw[1:] {
		return "write <URL:ftp://host/path>"
	}
	return "write <URL:" + redact(text) + ">"
}

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
// Parse takes the ports of other protocols; see [URL.BadPort].
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
// RFC 1738 section 5; the parts of section 3.1. The "/" after the login is not part of the path. If it is missing, the
// path is empty.
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
		return schemepart.fault(slash, `"/" cannot stand unencoded in a user name or password, and no host is before it`,
			`write %2F for a "/" and %40 for a "@" there`)
	}
	if !strings.HasPrefix(f.Hint, "write %") {
		f.Hint = "" // it may quote a piece of the password as the host
	}
	return f
}

// login = [ user [ ":" password ] "@" ] hostport
//
// RFC 1738 sections 3.1 and 5. The last "@" ends the user name and password, so that the refusal of an unencoded one can
// point at it.
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

// loginHint is for a port that is not a number, if there is no login.
const loginHint = "write ftp://user:password@host/ if this is a password"

// userinfo reads user [ ":" password ], each *[ uchar | ";" | "?" | "&" | "=" ]. Empty is not absent: section 3.1.
func userinfo(u *URL, text part) *Error {
	before, _, found := strings.Cut(text.s, ":")
	name, f := userOctets.decode(text.to(len(before)))
	if u.User = url.User(name); f != nil || !found {
		return f
	}
	password, f := passwordOctets.decode(text.from(len(before) + 1))
	u.User = url.UserPassword(name, password)
	return f
}

// hostport = host [ ":" port ]
func hostport(u *URL, text part) (f *Error) {
	if forms := bracketed(text.s); forms != nil {
		return text.fault(0, "an IPv6 address must be in brackets", "write "+strings.Join(forms, " or "))
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
			return 0, text.fault(i, "a port is a decimal number", cmp.Or(delimiterHint(text.s[i:]), loginHint))
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
		return segments.fault(len(segments.s), "no file is named before ;type="+string(u.Type), "write ;type=d to list the directory")
	}
	return nil
}

// splitType cuts off a final ";type=...", in any letter case. It leaves any other ";" for fsegment to refuse.
func splitType(text part) (segments, code part, found bool) {
	const key = ";type="
	semicolon := strings.LastIndexByte(text.s, ';')
	if semicolon < 0 || !hasPrefixFold(text.s[semicolon:], key) || strings.Contains(text.s[semicolon:], "/") {
		return text, part{}, false
	}
	return text.to(semicolon), text.from(semicolon + len(key)), true
}

// fpath = fsegment *[ "/" fsegment ]
//
// The last segment is the name, the others are CWD arguments; any of them may be empty: section 3.2.2.
func fpath(text part) (dirs []string, name string, f *Error) {
	at, dirs := 0, make([]string, 0, strings.Count(text.s, "/")+1)
	for segment := range strings.SplitSeq(text.s, "/") {
		octets, f := fsegment(part{segment, text.at + at})
		if f != nil {
			return nil, "", f
		}
		dirs = append(dirs, octets)
		at += len(segment) + 1
	}
	last := len(dirs) - 1
	name, dirs = dirs[last], dirs[:last:last]
	if last == 0 {
		dirs = nil
	}
	return dirs, name, nil
}

// fsegment = *[ uchar | "?" | ":" | "@" | "&" | "=" ]
//
// "/" and ";" are reserved in it: section 3.2.2.
func fsegment(text part) (string, *Error) { return segmentOctets.decode(text) }

// ftptype = "A" | "I" | "D" | "a" | "i" | "d"
func ftptype(text part) (Typecode, *Error) {
	switch t := Typecode(strings.ToLower(text.s)); t {
	case TypeASCII, TypeImage, TypeDir:
		return t, nil
	}
	return "", text.fault(0, "the typecode after ;type= is a, i or d", "write ;type=a, ;type=i or ;type=d")
}

package urlparse

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"
)

// Parse reads one URL. It may be preceded by "URL:" or wrapped in "<URL:" and ">", in which case white space inside the
// wrapper is removed (RFC 1738, Appendix). The error is an [*Error].
//
// Parse takes the ports of other protocols; see [URL.BadPort].
func Parse(s string) (*URL, error) {
	text, f := unwrap(s)
	if f == nil {
		var u *URL
		if u, f = ftpurl(text); f == nil {
			return u, nil
		}
		f.column = outer(s, f.column)
	}
	f.Input = redact(s)
	return nil, f
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
		return schemepart.fault(slash,
			`"/" cannot stand unencoded in a user name or password, and no host is before it`,
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
		return text.fault(0, "an IPv6 address must be in brackets",
			"write "+strings.Join(forms, " or "))
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
		return segments.fault(len(segments.s), "no file is named before ;type="+string(u.Type),
			"write ;type=d to list the directory")
	}
	return nil
}

// splitType cuts off a final ";type=...", in any letter case. It leaves any other ";" for fsegment to refuse.
func splitType(text part) (segments, code part, found bool) {
	const key = ";type="
	semicolon := max(0, strings.LastIndexByte(text.s, ';'))
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
	for {
		end := len(upTo(text.s, "/"))
		octets, f := segmentOctets.decode(text.to(end))
		if f != nil {
			return nil, "", f
		}
		if end == len(text.s) {
			return slices.Clip(dirs), octets, nil // nobody shares what append would write to
		}
		dirs = append(dirs, octets)
		text = text.from(end + 1)
	}
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

// scheme = 1*[ lowalpha | digit | "+" | "-" | "." ], then ":" and "//": RFC 1738 sections 2.1 and 3.1. Letter case does not
// matter. scheme returns the scheme and the scheme-specific part after the "//".
func scheme(text part) (string, part, *Error) {
	if drivePath(text.s) {
		return "", text, text.fault(0, "this is a path with a drive letter, not a URL", generalHint)
	}
	name, rest, found := strings.Cut(text.s, ":")
	if !found || !schemeName(name) || hostBeforeColon(name, rest) {
		return "", text, missingScheme(text)
	}
	s := strings.ToLower(name)
	if !known(s) {
		reason := s + " is not supported, only ftp, ftps and ftpes" + clients[s]
		f := text.fault(0, reason, hostHint(name, rest))
		f.kind = ErrScheme
		return "", text, f
	}
	if !strings.HasPrefix(rest, "//") {
		hint := generalHint
		if !userBefore(rest) { // or rest begins with a password
			hint = schemeHint(s, rest)
		}
		return "", text, text.fault(len(name)+1, `"//" is missing after the scheme`, hint)
	}
	return s, text.from(len(name) + len("://")), nil
}

func schemeName(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r > 'z' || !alpha(byte(r)) && !digit(byte(r)) && !strings.ContainsRune("+-.", r)
	})
}

// drivePath reports whether s begins like `C:\x` or "C:/x".
func drivePath(s string) bool {
	if len(s) < 3 || !alpha(s[0]) || s[1] != ':' {
		return false
	}
	return s[2] == '\\' || s[2] == '/' && !strings.HasPrefix(s[3:], "/")
}

// hostBeforeColon reports whether name, before the first ":", looks like a host or a user name rather than a scheme.
func hostBeforeColon(name, rest string) bool {
	lower := strings.ToLower(name)
	if strings.HasPrefix(rest, "//") || lower == "mailto" || known(lower) {
		return false
	}
	return rest == "" || digit(rest[0]) || strings.Contains(name, ".") ||
		strings.Contains(rest, "@") || addressHint(name+":"+rest) != ""
}

// space is the white space that the Appendix ignores inside a wrapper.
const space = " \t\n\v\f\r"

// unwrap removes the prefix "URL:" or the wrapper "<URL:" ">", in any letter case: RFC 1738, Appendix.
func unwrap(raw string) (part, *Error) {
	whole := part{s: raw}
	trimmed := strings.Trim(raw, space)
	switch {
	case hasPrefixFold(raw, "<URL:"):
		return inWrapper(whole)
	case hasPrefixFold(raw, "URL:"):
		return whole.from(len("URL:")), nil
	case strings.HasPrefix(raw, "<"):
		return part{}, whole.fault(0, `"<" does not begin a URL`, angleHint(raw))
	case trimmed == "":
		return part{}, whole.fault(0, "the URL is empty", generalHint)
	case trimmed != raw:
		at := 0
		if strings.HasPrefix(raw, trimmed) {
			at = len(trimmed)
		}
		return part{}, whole.fault(at, "white space around the URL", "write "+redact(trimmed))
	}
	return whole, nil
}

// inWrapper returns what is between "<URL:" and ">", without white space. A hyphen before a line break stays: it may be
// part of the URL, and a guess could name another file.
func inWrapper(raw part) (part, *Error) {
	end := strings.IndexByte(raw.s, '>')
	switch {
	case end < 0:
		return part{}, raw.fault(len(raw.s), `"<URL:" has no ">" after the URL`, "write > after it")
	case end != len(raw.s)-1:
		return part{}, raw.fault(end+1, `text follows the ">" that ends the URL`, "")
	}
	text := raw.to(end).from(len("<URL:"))
	isSpace := func(r rune) bool { return strings.ContainsRune(space, r) }
	text.s = strings.Join(strings.FieldsFunc(text.s, isSpace), "")
	return text, nil
}

// outer returns the column in raw of an octet that is at column if no white space of a wrapper before it counts.
func outer(raw string, column int) int {
	if raw[0] != '<' {
		return column
	}
	for i := len("<URL:"); i < column; i++ {
		if strings.IndexByte(space, raw[i]) >= 0 {
			column++
		}
	}
	return column
}

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
		const reason = `"/" cannot stand unencoded in a user name or password, and no host is before it`
		return schemepart.fault(slash, reason,
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
		reason := "no file is named before ;type=" + string(u.Type)
		return segments.fault(len(segments.s), reason, "write ;type=d to list the directory")
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
	return "", text.fault(0, "the typecode after ;type= is a, i or d", "write ;type=a, ;type=i or ;type=d")
}

// generalHint shows the form of a URL if there is no better hint.
const generalHint = "write ftp://host/path"

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
		f := text.fault(0, s+" is not supported, only ftp, ftps and ftpes", hostHint(name, rest))
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
	drive := len(s) > 2 && alpha(s[0]) && s[1] == ':' && (s[2] == '\\' || s[2] == '/')
	return drive && !strings.HasPrefix(s[1:], "://")
}

// hostBeforeColon reports whether name, before the first ":", looks like a host or a user name rather than a scheme.
func hostBeforeColon(name, rest string) bool {
	if strings.HasPrefix(rest, "//") || strings.EqualFold(name, "mailto") || known(strings.ToLower(name)) {
		return false
	}
	return rest == "" || digit(rest[0]) || strings.Contains(name, ".") || strings.Contains(rest, "@") ||
		addressHint(name+":"+rest) != ""
}

func missingScheme(text part) *Error {
	reason := "the scheme is missing"
	if strings.HasPrefix(text.s, "/") && !strings.HasPrefix(text.s, "//") || strings.HasPrefix(text.s, ".") {
		return text.fault(0, reason+": this is a path, not a URL", generalHint)
	}
	bare := strings.Trim(text.s, `"'`+"`\u201c\u201d\u2018\u2019\u00ab\u00bb") // a shell did not remove them
	if bare != text.s {
		if _, err := Parse(bare); err == nil {
			return text.fault(0, "the URL is in quotation marks", "write "+redact(bare))
		}
	}
	name, rest := "ftp", text.s
	for _, s := range []string{FTPES, FTPS, FTP} {
		if hasPrefixFold(rest, s+"//") {
			name = s
			rest = rest[len(s):]
			break
		}
	}
	hint := schemeHint(name, rest)
	if hint == generalHint || !strings.ContainsAny(rest, "./:") { // a word is hardly a host
		hint = cmp.Or(addressHint(rest), copyHint(rest), generalHint)
	}
	file := strings.Count(rest, ".") == 1 && !strings.ContainsAny(rest, "/:@") // or a host
	if hint != generalHint && file {
		hint = hostHint(rest, "")
	}
	return text.fault(0, reason, hint)
}

// otherSchemes are never taken for a host.
const otherSchemes = " http https sftp scp file mailto news data s3 "

// hostHint is for an unknown scheme without "//" after it, which may be a host.
func hostHint(name, rest string) string {
	scheme := strings.Contains(otherSchemes, " "+strings.ToLower(name)+" ")
	if _, f := host(part{s: name}); f != nil || scheme || strings.HasPrefix(rest, "//") {
		return ""
	}
	return "write ftp://" + name + "/ and the path if " + name + " is a host"
}

// addressHint proposes an IPv6 address that lacks its brackets.
func addressHint(text string) string {
	address, path, _ := strings.Cut(text, "/")
	forms := bracketed(address)
	for i, form := range forms {
		forms[i] = strings.TrimPrefix(schemeHint("ftp", form+"/"+path), "write ")
	}
	if forms == nil {
		return ""
	}
	return "write " + strings.Join(forms, " or ")
}

// copyHint proposes a URL for host:path or user@host:path, as scp reads them. A path that begins with "/" is absolute there.
func copyHint(text string) string {
	login, path, found := strings.Cut(text, ":")
	if !found || path == "" || strings.Contains(path, "@") || digit(path[0]) {
		return ""
	}
	slash := "/"
	if absolute, ok := strings.CutPrefix(path, "/"); ok {
		slash = "/%2F"
		path = absolute
	}
	hint := schemeHint("ftp", login+slash+path)
	switch {
	case hint == generalHint:
		return ""
	case redact(text) != text: // it does not show what may be a password
		return `write ftp:// before it, and "` + slash + `" in place of "` + text[len(login):len(text)-len(path)] + `"`
	}
	return hint
}

// schemeHint proposes rest with the scheme before it, if that is a URL.
func schemeHint(name, rest string) string {
	proposal := name + "://" + strings.TrimLeft(rest, `/\`)
	if _, err := Parse(proposal); err != nil {
		return generalHint
	}
	return "write " + redact(proposal)
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

// inner returns a URL without "URL:", or without its wrapper and the white space in that. A hyphen before a line break
// stays: it may be part of the URL, and a guess could name another file.
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

// outer returns the column in raw that column is in inner(raw).
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

// angleHint completes a wrapper that lacks its "URL:".
func angleHint(raw string) string {
	text := strings.TrimSuffix(raw[1:], ">")
	if _, _, f := scheme(part{s: text}); f != nil || text+">" != raw[1:] {
		return "write <URL:ftp://host/path>"
	}
	return "write <URL:" + redact(text) + ">"
}

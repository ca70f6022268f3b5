package urlparse

import (
	"cmp"
	"slices"
	"strings"
)

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
		f := text.fault(0, s+" is not supported, only ftp, ftps and ftpes"+clients[s], hostHint(name, rest))
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
	return len(s) > 2 && alpha(s[0]) && s[1] == ':' && (s[2] == '\\' || s[2] == '/') && !strings.HasPrefix(s[1:], "://")
}

// hostBeforeColon reports whether name, before the first ":", looks like a host or a user name rather than a scheme.
func hostBeforeColon(name, rest string) bool {
	if strings.HasPrefix(rest, "//") || strings.EqualFold(name, "mailto") || known(strings.ToLower(name)) {
		return false
	}
	return rest == "" || addressHint(name+":"+rest) != "" || strings.Contains(name, ".") || digit(rest[0]) || strings.Contains(rest, "@")
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
			name, rest = s, rest[len(s):]
			break
		}
	}
	hint := schemeHint(name, rest)
	if hint == generalHint || !strings.ContainsAny(rest, "./:") { // a word is hardly a host
		hint = cmp.Or(addressHint(rest), copyHint(rest), generalHint)
	}
	if hint != generalHint && strings.Count(rest, ".") == 1 && !strings.ContainsAny(rest, "/:@") { // or the name of a file
		hint = hostHint(rest, "")
	}
	return text.fault(0, reason, hint)
}

// clients says what retrieves the URLs of other schemes.
var clients = map[string]string{"http": " (use curl)", "https": " (use curl)", "sftp": " (use sftp)", "scp": " (use scp)"}

// otherSchemes are never taken for a host.
var otherSchemes = []string{"http", "https", "sftp", "scp", "file", "mailto", "news", "data", "s3"}

// hostHint is for an unknown scheme without "//" after it, which may be a host.
func hostHint(name, rest string) string {
	if _, f := host(part{s: name}); f != nil || strings.HasPrefix(rest, "//") || slices.Contains(otherSchemes, strings.ToLower(name)) {
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
		slash, path = "/%2F", absolute
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
	whole, trimmed, end := part{s: raw}, strings.Trim(raw, space), strings.IndexByte(raw, '>')
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
	case strings.HasPrefix(raw, trimmed) && trimmed != raw:
		return "", whole.fault(len(trimmed), "white space around the URL", "write "+redact(trimmed))
	case trimmed != raw:
		return "", whole.fault(0, "white space around the URL", "write "+redact(trimmed))
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
	return strings.Join(strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(space, r) }), "")
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

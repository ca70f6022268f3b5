package urlparse

import (
	"cmp"
	"slices"
	"strings"
)

// generalHint shows the form of a URL if there is no better hint.
const generalHint = "write ftp://host/path"

// scheme = 1*[ lowalpha | digit | "+" | "-" | "." ], then ":" and "//": RFC 1738
// sections 2.1 and 3.1. Letter case does not matter. scheme returns the scheme and the scheme-specific part after the
// "//".
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

// hostBeforeColon reports whether name, before the first ":", looks like a host or a user name, although the grammar would
// allow it as a scheme.
func hostBeforeColon(name, rest string) bool {
	if strings.HasPrefix(rest, "//") || strings.EqualFold(name, "mailto") || known(strings.ToLower(name)) {
		return false
	}
	return rest == "" || addressHint(name+":"+rest) != "" || strings.Contains(name, ".") || digit(rest[0]) || strings.Contains(rest, "@")
}

// missingScheme returns the refusal of a text without a scheme.
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

// copyHint proposes a URL for host:path or user@host:path, as scp reads them. A
// path that begins with "/" is absolute there.
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

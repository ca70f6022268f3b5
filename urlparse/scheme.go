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
	if !slices.Contains(schemes, s) {
		hint := hostHint(name, rest)
		if known := misspelt(s); known != "" && strings.HasPrefix(rest, "//") {
			hint = "write " + known + "://"
		}
		f := text.fault(0, s+" is not supported, only ftp, ftps and ftpes", hint)
		f.kind = ErrScheme
		return "", text, f
	}
	if !strings.HasPrefix(rest, "//") {
		hint := generalHint
		if !userBefore(rest) { // otherwise rest may begin with a password
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

// misspelt returns the scheme that has the letters of s in another order, or "".
func misspelt(s string) string {
	sorted := func(s string) string { b := []byte(s); slices.Sort(b); return string(b) }
	for _, known := range schemes {
		if sorted(known) == sorted(s) && s != "sftp" {
			return known
		}
	}
	return ""
}

// drivePath reports whether s begins like `C:\x` or "C:/x".
func drivePath(s string) bool {
	drive := len(s) > 2 && alpha(s[0]) && s[1] == ':' && (s[2] == '\\' || s[2] == '/')
	return drive && !strings.HasPrefix(s[1:], "://")
}

// hostBeforeColon reports whether name, before the first ":", looks like a host or a user name rather than a scheme.
func hostBeforeColon(name, rest string) bool {
	lower := strings.ToLower(name)
	if strings.HasPrefix(rest, "//") || lower == "mailto" || slices.Contains(schemes, lower) {
		return false
	}
	return rest == "" || digit(rest[0]) || strings.Contains(name, ".") ||
		strings.Contains(rest, "@") || addressHint(name+":"+rest) != ""
}

// quotationMarks are the marks around a URL that a shell did not remove.
const quotationMarks = `"'` + "`\u201c\u201d\u2018\u2019\u00ab\u00bb"

// isPath reports whether a text is the path of a file on this machine.
func isPath(text string) bool {
	rooted := strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "//")
	return rooted || strings.HasPrefix(text, ".")
}

func missingScheme(text part) *Error {
	reason := "the scheme is missing"
	if isPath(text.s) {
		return text.fault(0, reason+": this is a path, not a URL", generalHint)
	}
	bare := strings.Trim(text.s, quotationMarks)
	if bare != text.s {
		if _, err := Parse(bare); err == nil {
			return text.fault(0, "the URL is in quotation marks", "write "+redact(bare))
		}
	}
	name := "ftp"
	rest := text.s
	for _, s := range schemes {
		if hasPrefixFold(rest, s+"//") {
			name = s
			rest = rest[len(s):]
			break
		}
	}
	hint := schemeHint(name, rest)
	if hint == generalHint || !strings.ContainsAny(rest, "./:") { // a word alone is probably no host
		hint = cmp.Or(addressHint(rest), copyHint(rest), generalHint)
	}
	file := strings.Count(rest, ".") == 1 && !strings.ContainsAny(rest, "/:@") // it may also be a host
	if hint != generalHint && file {
		hint = hostHint(rest, "")
	}
	return text.fault(0, reason, hint)
}

// otherSchemes are schemes that hostHint does not take for hosts.
const otherSchemes = " http https sftp scp file mailto news data s3 "

// hostHint returns the hint for an unknown scheme without "//" after it: it may be a host.
func hostHint(name, rest string) string {
	scheme := strings.Contains(otherSchemes, " "+strings.ToLower(name)+" ")
	if _, f := host(part{s: name}); f != nil || scheme || strings.HasPrefix(rest, "//") {
		return ""
	}
	return "write ftp://" + name + "/ and the path if " + name + " is a host"
}

// addressHint proposes brackets for an IPv6 address that has none.
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

// copyHint proposes a URL for host:path or user@host:path, as scp reads them. For scp, a path that begins with "/" is
// absolute.
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
	case redact(text) != text: // the hint must not show what may be a password
		between := text[len(login) : len(text)-len(path)]
		return `write ftp:// before it, and "` + slash + `" in place of "` + between + `"`
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

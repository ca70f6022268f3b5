package urlparse

import (
	"cmp"
	"strings"
)

// The errors say what to write instead where they can. A URL that a hint proposes is one that Parse takes, and shows no
// password.

// generalHint shows the form of a URL if there is no better hint.
const generalHint = "write ftp://host/path"

// missingScheme refuses a text without a scheme, and guesses what was meant.
func missingScheme(text part) *Error {
	absolute := strings.HasPrefix(text.s, "/") && !strings.HasPrefix(text.s, "//")
	if absolute || strings.HasPrefix(text.s, ".") {
		return text.fault(0, "the scheme is missing: this is a path, not a URL", generalHint)
	}
	// Quotation marks around the URL come from a text, or from a shell that takes them as they are.
	bare := strings.Trim(text.s, `"'`+"`\u201c\u201d\u2018\u2019\u00ab\u00bb")
	if bare != text.s {
		if _, err := Parse(bare); err == nil {
			return text.fault(0, "the URL is in quotation marks", "write "+redact(bare))
		}
	}
	name := FTP
	rest := text.s
	for _, s := range []string{FTPES, FTPS, FTP} {
		if hasPrefixFold(rest, s+"//") {
			name = s
			rest = rest[len(s):]
			break
		}
	}
	hint := schemeHint(name, rest)
	switch {
	case hint == generalHint || !strings.ContainsAny(rest, "./:"): // a word is hardly a host
		hint = cmp.Or(addressHint(rest), copyHint(rest), generalHint)
	case strings.Count(rest, ".") == 1 && !strings.ContainsAny(rest, "/:@"): // or the name of a file
		hint = hostHint(rest, "")
	}
	return text.fault(0, "the scheme is missing", hint)
}

// clients says what retrieves the URLs of other schemes.
var clients = map[string]string{
	"http":  " (use curl)",
	"https": " (use curl)",
	"sftp":  " (use sftp)",
	"scp":   " (use scp)",
}

// otherSchemes are never taken for a host.
const otherSchemes = " http https sftp scp file mailto news data s3 "

// hostHint is for an unknown scheme without "//" after it, which may be a host.
func hostHint(name, rest string) string {
	_, f := host(part{s: name})
	other := strings.Contains(otherSchemes, " "+strings.ToLower(name)+" ")
	if f != nil || other || strings.HasPrefix(rest, "//") {
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

// angleHint completes a wrapper that lacks its "URL:".
func angleHint(raw string) string {
	text := strings.TrimSuffix(raw[1:], ">")
	if _, _, f := scheme(part{s: text}); f != nil || text+">" != raw[1:] {
		return "write <URL:ftp://host/path>"
	}
	return "write <URL:" + redact(text) + ">"
}

// delimiterHint is for rest, which follows a host or port without "/", or "".
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

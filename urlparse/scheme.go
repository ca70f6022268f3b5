package urlparse

import (
	"strings"
)

// generalHint shows the form of a URL if there is no better hint.
const generalHint = "write ftp://host/path"

// scheme = 1*[ lowalpha | digit | "+" | "-" | "." ], then ":" and "//": RFC 1738
// sections 2.1 and 3.1. Letter case does not matter. scheme returns the scheme
// and the scheme-specific part after the "//".
func scheme(text part) (Scheme, part, *fault) {
	if drivePath(text.s) {
		return "", text, text.fault(0, "this is a path with a drive letter, not a URL", generalHint)
	}
	name, rest, found := strings.Cut(text.s, ":")
	if !found || !schemeName(name) || hostBeforeColon(name, rest) {
		return "", text, missingScheme(text)
	}
	s := Scheme(strings.ToLower(name))
	if s != FTP && s != FTPS && s != FTPES {
		f := text.fault(0, "the scheme "+string(s)+" is none of ftp, ftps and ftpes", "")
		f.kind = ErrScheme
		return "", text, f
	}
	if !strings.HasPrefix(rest, "//") {
		return "", text, text.fault(len(name)+1, `"//" is missing after the scheme`, slashesHint(s, rest))
	}
	return s, text.from(len(name) + len("://")), nil
}

func schemeName(s string) bool {
	for _, c := range []byte(s) {
		if !alpha(c) && !digit(c) && strings.IndexByte("+-.", c) < 0 {
			return false
		}
	}
	return s != ""
}

// drivePath reports whether s begins like `C:\x` or "C:/x".
func drivePath(s string) bool {
	return len(s) > 2 && alpha(s[0]) && s[1] == ':' && (s[2] == '\\' || s[2] == '/') && !strings.HasPrefix(s[1:], "://")
}

// hostBeforeColon reports whether name, before the first ":", looks like a host
// or a user name, although the grammar would allow it as a scheme.
func hostBeforeColon(name, rest string) bool {
	switch {
	case strings.HasPrefix(rest, "//"), strings.EqualFold(name, "mailto"):
		return false
	case hasPrefixFold(name, "ftp") && schemeWord(name):
		return false
	}
	return rest == "" || strings.Contains(name, ".") || digit(rest[0]) || strings.Contains(rest, "@")
}

func schemeWord(name string) bool {
	s := Scheme(strings.ToLower(name))
	return s == FTP || s == FTPS || s == FTPES
}

// missingScheme returns the refusal of a text without a scheme.
func missingScheme(text part) *fault {
	reason := "the scheme is missing"
	if strings.HasPrefix(text.s, "/") && !strings.HasPrefix(text.s, "//") || strings.HasPrefix(text.s, ".") {
		return text.fault(0, reason+": this is a path, not a URL", generalHint)
	}
	name, rest := "ftp", text.s
	for _, s := range []Scheme{FTPES, FTPS, FTP} {
		if hasPrefixFold(rest, string(s)+"//") {
			name, rest = string(s), rest[len(s):]
			break
		}
	}
	return text.fault(0, reason, schemeHint(name, rest))
}

// slashesHint is schemeHint for a text that begins with s and ":". If that may be
// a user name, rest begins with a password.
func slashesHint(s Scheme, rest string) string {
	if userBefore(rest) {
		return generalHint
	}
	return schemeHint(string(s), rest)
}

// schemeHint proposes rest with the scheme before it, if that is a URL.
func schemeHint(name, rest string) string {
	proposal := name + "://" + strings.TrimLeft(rest, `/\`)
	if _, err := Parse(proposal); err != nil {
		return generalHint
	}
	return "write " + redact(proposal)
}

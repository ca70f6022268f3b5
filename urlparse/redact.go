package urlparse

import "strings"

// redact masks what may be a password in a text that may be no URL. It knows
// no grammar, because the text may follow none: the password is all between
// the first ":" behind the scheme, encoded or not, and the last "@" of the whole text. That
// hides parts of some paths, and is meant to: a password with a "/", "@" or
// "#" in it must not come out by its own fault.
func redact(text string) string {
	start := loginStart(text)
	login := text[start:]
	secret, end := behindColon(login), lastAt(login)
	if end < 0 {
		secret, end = portSpan(login)
	}
	if secret < 0 || end < secret {
		return text
	}
	return text[:start+secret] + mask + login[end:]
}

// behindColon finds what follows the first ":" of s, as it is or encoded; -1
// where there is none.
func behindColon(s string) int {
	plain, encoded := strings.IndexByte(s, ':'), strings.Index(strings.ToUpper(s), "%3A")
	switch {
	case encoded >= 0 && (plain < 0 || encoded < plain):
		return encoded + len("%3A")
	case plain >= 0:
		return plain + 1
	}
	return -1
}

// lastAt finds the end of what may be a login. An encoded "@" counts only
// where there is no other: somebody encoded one too many.
func lastAt(s string) int {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		return i
	}
	return strings.LastIndex(s, "%40")
}

// portSpan finds where a port that is not a number begins and ends: with the
// "@" forgotten, a password looks like that.
func portSpan(login string) (begin, end int) {
	if drivePath(login) {
		return -1, -1
	}
	skip := 0
	if strings.HasPrefix(login, "[") {
		skip = strings.IndexByte(login, ']') + 1
	}
	end = skip + len(upTo(login[skip:], "/"))
	begin = behindColon(login[skip:end])
	if begin < 0 || allDigits(login[skip+begin:end]) {
		return -1, -1
	}
	return skip + begin, end
}

// loginStart skips the Appendix's wrapper and a scheme of these: a word that is
// no scheme could be a user name with its password behind the ":".
func loginStart(text string) int {
	s := strings.TrimLeft(text, "<\"'` \t\r\n")
	if hasPrefixFold(s, "URL:") {
		s = strings.TrimLeft(s[len("URL:"):], " \t\r\n")
	}
	for _, scheme := range []string{"ftp:", "ftps:", "ftpes:", "http:", "https:", "sftp:", "file:", "gopher:"} {
		if hasPrefixFold(s, scheme) {
			s = s[len(scheme):]
			break
		}
	}
	return len(text) - len(strings.TrimLeft(s, `/\`))
}

// maskPassword masks the password of a text that the parser has taken: here
// the grammar tells exactly where it is.
func maskPassword(text string) string {
	start := strings.Index(text, "//") + 2
	login := upTo(text[start:], "/")
	secret, at := behindColon(login), strings.LastIndexByte(login, '@')
	if secret < 0 || at < secret {
		return text
	}
	return text[:start+secret] + mask + text[start+at:]
}

func upTo(s, sep string) string {
	before, _, _ := strings.Cut(s, sep)
	return before
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

func allDigits(s string) bool {
	return strings.Trim(s, "0123456789") == ""
}

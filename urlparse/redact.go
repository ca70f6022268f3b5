package urlparse

import "strings"

// redact masks what may be a password in a text that may not be a URL. It uses no grammar, because the text may follow
// none: the password is everything between the first ":" after the scheme, encoded or not, and the last "@" of the whole
// text. That hides parts of some paths, on purpose: a password with "/", "@" or "#" in it must not show because of its own
// error.
func redact(text string) string {
	start := loginStart(text)
	login := text[start:]
	secret, end := afterColon(login), lastAt(login)
	if end < 0 {
		secret, end = portSpan(login)
	}
	if secret < 0 || end < secret {
		return text
	}
	return text[:start+secret] + mask + login[end:]
}

// afterColon returns where the text after the first ":" of s begins, encoded or not; or -1.
func afterColon(s string) int {
	for i := range len(s) {
		switch {
		case s[i] == ':':
			return i + 1
		case hasPrefixFold(s[i:], "%3A"):
			return i + len("%3A")
		}
	}
	return -1
}

// lastAt returns the end of what may be a login, or -1. An encoded "@" counts only if there is no other: the user encoded
// one too many.
func lastAt(s string) int {
	if i := strings.LastIndexByte(s, '@'); i >= 0 {
		return i
	}
	return strings.LastIndex(s, "%40")
}

// portSpan returns where a port that is not a number begins and ends, or -1: a password looks like that if the "@" was
// forgotten.
func portSpan(login string) (begin, end int) {
	if drivePath(login) {
		return -1, -1
	}
	skip := 0
	if strings.HasPrefix(login, "[") {
		skip = strings.IndexByte(login, ']') + 1
	}
	end = skip + len(upTo(login[skip:], "/"))
	begin = afterColon(login[skip:end])
	if begin < 0 || allDigits(login[skip+begin:end]) {
		return -1, -1
	}
	return skip + begin, end
}

// loginStart skips the Appendix's wrapper and a known scheme. Any other word before a ":" could be a user name, with its
// password after the ":".
func loginStart(text string) int {
	s := strings.TrimLeft(text, "<\"'` \t\r\n")
	if hasPrefixFold(s, "URL:") {
		s = strings.TrimLeft(s[len("URL:"):], " \t\r\n")
	}
	for _, scheme := range []string{"ftp:", "ftps:", "ftpes:", "http:", "https:", "sftp:", "file:", "gopher:"} {
		if rest := s[min(len(s), len(scheme)):]; hasPrefixFold(s, scheme) && !userBefore(rest) {
			s = rest
			break
		}
	}
	return len(text) - len(strings.TrimLeft(s, `/\`))
}

// userBefore reports whether the word before rest, which looks like a scheme, may
// be a user name: anonymous servers take "ftp" for one.
func userBefore(rest string) bool {
	return !strings.HasPrefix(rest, "/") && !strings.HasPrefix(rest, `\`) && lastAt(rest) >= 0
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

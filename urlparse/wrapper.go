package urlparse

import "strings"

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

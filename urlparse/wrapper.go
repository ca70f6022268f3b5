package urlparse

import "strings"

// space is the white space that the Appendix ignores inside a wrapper.
const space = " \t\n\v\f\r"

// source is the text as given, and the URL in it.
type source struct {
	raw     string
	text    string
	base    int   // where text begins in raw,
	offsets []int // or where each of its octets is, and its end
}

// error returns the refusal as an error for the user, with the column in the
// text as given.
func (src source) error(f *fault) *Error {
	column := src.base + f.at + 1
	if src.offsets != nil {
		column = src.offsets[f.at] + 1
	}
	return &Error{Input: redact(src.raw), Column: column, Reason: f.reason, Hint: f.hint, kind: f.kind}
}

// unwrap removes the prefix "URL:" or the wrapper "<URL:" ">", in any letter
// case: RFC 1738, Appendix.
func unwrap(raw string) (source, *fault) {
	whole := source{raw: raw, text: raw}
	switch {
	case hasPrefixFold(raw, "<URL:"):
		return unwrapAngle(raw)
	case hasPrefixFold(raw, "URL:"):
		return source{raw: raw, text: raw[len("URL:"):], base: len("URL:")}, nil
	case strings.HasPrefix(raw, "<"):
		return whole, part{s: raw}.fault(0, `"<" does not begin a URL`, angleHint(raw))
	case strings.Trim(raw, space) == "":
		return whole, part{s: raw}.fault(0, "the URL is empty", generalHint)
	case strings.Trim(raw, space) != raw:
		return whole, outerSpace(raw)
	}
	return whole, nil
}

// unwrapAngle removes the white space of a wrapped URL and remembers where
// each octet was. A hyphen before a line break stays: it may be part of the
// URL, and a guess could name another file.
func unwrapAngle(raw string) (source, *fault) {
	src := source{raw: raw}
	end := strings.IndexByte(raw, '>')
	if end < 0 {
		return src, part{s: raw}.fault(len(raw), `"<URL:" has no ">" after the URL`, "write > after it")
	}
	if end != len(raw)-1 {
		return src, part{s: raw}.fault(end+1, `text follows the ">" that ends the URL`, "")
	}
	for i := len("<URL:"); i < end; i++ {
		if strings.IndexByte(space, raw[i]) < 0 {
			src.offsets = append(src.offsets, i)
		}
	}
	src.offsets = append(src.offsets, end)
	src.text = inner(raw)
	return src, nil
}

// inner returns the text of a URL without the wrapper and the white space in it.
func inner(raw string) string {
	if !hasPrefixFold(raw, "<URL:") {
		return raw
	}
	var b strings.Builder
	for _, c := range []byte(strings.TrimSuffix(raw[len("<URL:"):], ">")) {
		if strings.IndexByte(space, c) < 0 {
			b.WriteByte(c)
		}
	}
	return b.String()
}

// angleHint completes a wrapper that lacks its "URL:".
func angleHint(raw string) string {
	inner := strings.TrimSuffix(raw[1:], ">")
	if _, _, f := scheme(part{s: inner}); f != nil || inner+">" != raw[1:] {
		return "write <URL:ftp://host/path>"
	}
	return "write <URL:" + redact(inner) + ">"
}

func outerSpace(raw string) *fault {
	trimmed := strings.Trim(raw, space)
	at := strings.Index(raw, trimmed)
	if at == 0 {
		at = len(trimmed)
	} else {
		at = 0
	}
	return part{s: raw}.fault(at, "white space around the URL", "write "+redact(trimmed))
}

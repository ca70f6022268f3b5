package urlparse

import "strings"

// urlpath = fpath [ ";type=" ftptype ], RFC 1738 section 3.2.2.
func urlpath(u *URL, text part) (f *fault) {
	segments, code, found := splitType(text)
	if u.Dirs, u.Name, f = fpath(segments); f != nil || !found {
		return f
	}
	if u.Type, f = ftptype(code); f != nil {
		return f
	}
	if u.Name == "" && u.Type != TypeDir {
		return noFile(u.Type, segments.at+len(segments.s))
	}
	return nil
}

// noFile refuses a typecode of a file if there is no name; it would end at at.
func noFile(t Typecode, at int) *fault {
	return part{at: at}.fault(0, "no file is named before ;type="+t.String(), "write ;type=d to list the directory")
}

// splitType cuts off a final ";type=...", in any letter case. It leaves any
// other ";" for fsegment to refuse.
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
// The last segment is the name, the others are CWD arguments; any of them may
// be empty: section 3.2.2.
func fpath(text part) (dirs []string, name string, f *fault) {
	at := 0
	for segment := range strings.SplitSeq(text.s, "/") {
		octets, f := fsegment(part{segment, text.at + at})
		if f != nil {
			return nil, "", f
		}
		dirs = append(dirs, octets)
		at += len(segment) + 1
	}
	last := len(dirs) - 1
	name, dirs = dirs[last], dirs[:last:last]
	if last == 0 {
		dirs = nil
	}
	return dirs, name, nil
}

// fsegment = *[ uchar | "?" | ":" | "@" | "&" | "=" ]
//
// "/" and ";" are reserved in it: section 3.2.2.
func fsegment(text part) (string, *fault) { return segmentOctets.decode(text) }

// ftptype = "A" | "I" | "D" | "a" | "i" | "d"
func ftptype(text part) (Typecode, *fault) {
	if len(text.s) == 1 {
		switch t := Typecode(text.s[0] | 0x20); t {
		case TypeASCII, TypeImage, TypeDir:
			return t, nil
		}
	}
	return 0, text.fault(0, "the typecode after ;type= is a, i or d", "write ;type=a, ;type=i or ;type=d")
}

package urlparse

import "strings"

// textSuffixes are suffixes of files that are lines of text on every system.
var textSuffixes = map[string]bool{
	"asc": true, "bat": true, "c": true, "cc": true, "cfg": true, "conf": true, "cpp": true,
	"css": true, "csv": true, "diff": true, "go": true, "h": true, "hpp": true, "htm": true,
	"html": true, "ini": true, "java": true, "js": true, "json": true, "log": true, "lst": true,
	"md": true, "patch": true, "pl": true, "py": true, "rst": true, "sh": true, "sql": true,
	"tex": true, "text": true, "tsv": true, "txt": true, "xml": true, "yaml": true, "yml": true,
}

// GuessType guesses the typecode of a file from the suffix of its name, as RFC
// 1738 section 3.2.3 allows if the URL has none: TypeASCII for text, TypeImage
// for everything else. name is decoded octets; the case of the suffix does not
// matter. A wrong TypeImage changes no octet, a wrong TypeASCII may.
func GuessType(name string) Typecode {
	dot := strings.LastIndexByte(name, '.')
	if dot > 0 && textSuffixes[strings.ToLower(name[dot+1:])] {
		return TypeASCII
	}
	return TypeImage
}

package urlparse

import "strings"

// textSuffixes are the suffixes of files that consist of lines of text on every system.
const textSuffixes = " asc bat c cc cfg conf cpp css csv diff go h hpp htm html ini java " +
	"js json log lst md patch pl py rst sh sql tex text tsv txt xml yaml yml "

// GuessType guesses the typecode of a file from the suffix of its name, as RFC 1738 section 3.2.3 allows if the URL has
// none: TypeASCII for text, TypeImage for everything else. name is decoded; the case of the suffix does not matter. A
// wrong TypeImage changes no byte, but a wrong TypeASCII may.
func GuessType(name string) Typecode {
	dot := strings.LastIndexByte(name, '.')
	if dot > 0 && strings.Contains(textSuffixes, " "+strings.ToLower(name[dot+1:])+" ") {
		return TypeASCII
	}
	return TypeImage
}

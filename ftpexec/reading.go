package ftpexec

import (
	"regexp"
	"strconv"
	"strings"
	"time"

	"example.com/ftpfetch/ftpexec/internal/wire"
)

// extendedPort reads the port of a 229 reply (RFC 2428 section 3): "(<d><d><d><port><d>)", whatever the delimiter; the
// protocol and address fields are left empty, and ignored where they are not. 0 is none.
func extendedPort(text string) int {
	text, _, closed := strings.Cut(text[strings.LastIndexByte(text, '(')+1:], ")")
	if !closed || text == "" {
		return 0
	}
	fields := strings.Split(text, text[:1])
	if len(fields) != 5 || !digits(fields[3]) {
		return 0
	}
	n, err := strconv.ParseUint(fields[3], 10, 16)
	if err != nil {
		return 0
	}
	return int(n)
}

// sixNumbers is "h1,h2,h3,h4,p1,p2" with numbers up to 255, between other characters.
var sixNumbers = func() *regexp.Regexp {
	const octet = `0*(25[0-5]|2[0-4]\d|1\d\d|\d\d?)`
	return regexp.MustCompile(`(?:^|\D)` + octet + strings.Repeat(` *, *`+octet, 5) + `(?:\D|$)`)
}()

// passivePort reads the port of a 227 reply. RFC 1123 section 4.1.2.6: the text is not fixed; scan for the six numbers.
// 0 is none.
func passivePort(text string) int {
	m := sixNumbers.FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	high, _ := strconv.Atoi(m[5])
	low, _ := strconv.Atoi(m[6])
	return high<<8 | low
}

// digits reports a number without sign.
func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// sizeIn reads a 213 to SIZE (RFC 3659 section 4): a number of octets.
func sizeIn(r wire.Reply) (int64, bool) {
	text := strings.TrimSpace(r.LastLine())
	n, err := strconv.ParseInt(text, 10, 64)
	return n, err == nil && r.OK() && digits(text)
}

// timeIn reads a 213 to MDTM (RFC 3659 section 2.3): YYYYMMDDHHMMSS, UTC; a fraction is left out.
func timeIn(r wire.Reply) (time.Time, bool) {
	text, _, _ := strings.Cut(strings.TrimSpace(r.LastLine()), ".")
	t, err := time.Parse("20060102150405", text)
	return t, err == nil && r.OK() && digits(text)
}

// inQuotes is the text between a quote and its partner; a quote in it is doubled.
var inQuotes = regexp.MustCompile(`^[^"]*"((?:[^"]|"")*)"(?:[^"]|$)`)

// directoryIn reads a 257 to PWD (RFC 959 appendix II): the directory stands in quotes. "" is none.
func directoryIn(r wire.Reply) string {
	m := inQuotes.FindStringSubmatch(r.Raw())
	if m == nil || !r.OK() || strings.ContainsAny(m[1], "\r\n\x00") {
		return ""
	}
	return strings.ReplaceAll(m[1], `""`, `"`)
}

// sizeIs is a size among the facts of MLST: "Type=file;Size=1234;Modify=20260102030405; name".
var sizeIs = regexp.MustCompile(`(?i)^ *(?:[^ ;]*;)*size=(\d{1,18})[; ]`)

// sizeFact reads the size from a reply to MLST, which has the facts on a line of its own between its first and its
// last; -1 is none.
func sizeFact(r wire.Reply) int64 {
	lines := strings.Split(r.Raw(), "\n")
	for i, line := range lines {
		if m := sizeIs.FindStringSubmatch(line); m != nil && r.OK() && i > 0 && i < len(lines)-1 {
			n, _ := strconv.ParseInt(m[1], 10, 64)
			return n
		}
	}
	return -1
}

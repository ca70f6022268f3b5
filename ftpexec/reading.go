package ftpexec

import (
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/ftpfetch/ftpexec/internal/listing"
	"example.com/ftpfetch/ftpexec/internal/wire"
)

// extendedPort returns the port in a 229 reply (RFC 2428 section 3), or 0: "(<d><d><d><port><d>)" with any delimiter.
// It ignores the protocol and address fields, which should be empty.
func extendedPort(text string) int {
	text, _, closed := strings.Cut(text[strings.LastIndexByte(text, '(')+1:], ")")
	if !closed || text == "" {
		return 0
	}
	if fields := strings.Split(text, text[:1]); len(fields) == 5 {
		if n, err := strconv.ParseUint(fields[3], 10, 16); err == nil {
			return int(n)
		}
	}
	return 0
}

// sixNumbers matches "h1,h2,h3,h4,p1,p2" with numbers up to 255.
var sixNumbers = listing.Lazy(`(?:^|\D)` + octet + strings.Repeat(` *, *`+octet, 5) + `(?:\D|$)`)

const octet = `0*(25[0-5]|2[0-4]\d|1\d\d|\d\d?)`

// passivePort returns the port in a 227 reply, or 0. The text around the six numbers is not fixed (RFC 1123 section
// 4.1.2.6).
func passivePort(text string) int {
	m := sixNumbers().FindStringSubmatch(text)
	if m == nil {
		return 0
	}
	high, _ := strconv.Atoi(m[5])
	low, _ := strconv.Atoi(m[6])
	return high<<8 | low
}

var (
	oneWord   = listing.Lazy(`(^|\s)ssl/tls(\s|$)`) // the only word with a "/" that is a wording
	quotation = listing.Lazy(`(^|[\s([:=])(?:".*"|'.*'|` + "`.*['`]" + `|[“‘«<].*[”’»>])(\PL|$)`)
	fullPath  = listing.Lazy(`\S*[/\\](?:.*[/\\])?(?:[^:\n]*:|\S*)`)
)

// wordsOf returns what r says, in lower case, with "*" for whatever may be a name that the server repeats: names, with
// their parts between "/", wherever they stand as a word, what is in quotes, and on each line all from the first word with
// a "/" or "\" to the last, up to a colon if one follows. It is not masked, so that no decision depends on a secret.
func wordsOf(r wire.Reply, names []string) string {
	clean := func(s string) string { return strings.ToLower(strings.ToValidUTF8(s, "?")) }
	code := strconv.Itoa(r.Code) // which the lines of some servers all have
	text := strings.NewReplacer("\n"+code+"-", "\n", "\n"+code+" ", "\n").Replace(clean(r.Raw()))
	var known []string
	for _, name := range names {
		for _, part := range append(strings.Split(name, "/"), name) {
			if part = clean(part); part != "" && strings.Contains(text, part) {
				known = append(known, regexp.QuoteMeta(part))
			}
		}
	}
	if len(known) > 0 {
		slices.SortFunc(known, func(a, b string) int { return len(b) - len(a) })
		text = listing.Lazy(`(^|\PL)(?:(?:`+strings.Join(known, "|")+`)(\PL|$))+`)().ReplaceAllString(text, "$1*$2")
	}
	if strings.ContainsAny(text, "\"'`“‘«</\\") {
		text = quotation().ReplaceAllString(oneWord().ReplaceAllString(text, "${1}tls$2"), "$1*$2")
		text = fullPath().ReplaceAllString(text, "*")
	}
	return strings.TrimSpace(text)
}

// sizeIn returns the size in bytes in a 213 reply to SIZE (RFC 3659 section 4).
func sizeIn(r wire.Reply) (int64, bool) {
	n, err := strconv.ParseUint(strings.TrimSpace(r.LastLine()), 10, 63)
	return int64(n), err == nil && r.OK()
}

// timeIn returns the time in a 213 reply to MDTM (RFC 3659 section 2.3): YYYYMMDDHHMMSS in UTC. It drops a fraction.
func timeIn(r wire.Reply) (time.Time, bool) {
	text, _, _ := strings.Cut(strings.TrimSpace(r.LastLine()), ".")
	t, err := time.Parse("20060102150405", text)
	return t, err == nil && r.OK()
}

// inQuotes matches a text in quotes. A quote in the text is doubled.
var inQuotes = listing.Lazy(`^[^"]*"((?:[^"]|"")*)"(?:[^"]|$)`)

// directoryIn returns the directory in a 257 reply to PWD, which stands in quotes (RFC 959 appendix II), or "".
func directoryIn(r wire.Reply) string {
	m := inQuotes().FindStringSubmatch(r.Raw())
	if m == nil || !r.OK() || strings.ContainsAny(m[1], "\r\n\x00") {
		return ""
	}
	return strings.ReplaceAll(m[1], `""`, `"`)
}

// factsIn returns the facts in a reply to MLST (RFC 3659 section 7.2). They are on the line between the first and the last.
func factsIn(r wire.Reply) (item listing.Item, ok bool) {
	lines := strings.Split(r.Raw(), "\n")
	if !r.OK() || len(lines) != 3 {
		return item, false
	}
	item, err := listing.MLSD(strings.TrimPrefix(lines[1], " "))
	return item, err == nil
}

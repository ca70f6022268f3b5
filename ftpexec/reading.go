package ftpexec

import (
	"cmp"
	_ "embed"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode"

	"example.com/ftpfetch/ftpexec/internal/listing"
	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/internal/lazy"
	"example.com/ftpfetch/urlparse"
)

// extendedPort returns the port in a 229 reply (RFC 2428 section 3), or 0: the first "(<d><d><d><port><d>)". The text
// around it is not fixed, and may have other parentheses.
func extendedPort(text string) int {
	for {
		_, rest, found := strings.Cut(text, "(")
		inside, _, closed := strings.Cut(rest, ")")
		if !found || !closed {
			return 0
		}
		if n := delimitedPort(inside); n != 0 {
			return n
		}
		text = rest
	}
}

// delimitedPort returns the port in "<d><d><d><port><d>", or 0. The delimiter is a printable ASCII character, as the RFC
// says, but no letter or digit. The protocol and the address, which should be empty, do not matter.
func delimitedPort(text string) int {
	if text == "" || text[0] <= ' ' || text[0] > '~' || unicode.IsOneOf(alphanumeric, rune(text[0])) {
		return 0
	}
	f := strings.Split(text, text[:1])
	if len(f) != 5 {
		return 0
	}
	n, err := strconv.ParseUint(f[3], 10, 16)
	if err != nil {
		return 0
	}
	return int(n)
}

var alphanumeric = []*unicode.RangeTable{unicode.Letter, unicode.Digit}

// sixNumbers matches "h1,h2,h3,h4,p1,p2" with numbers up to 255.
var sixNumbers = lazy.Regexp(`(?:^|\D)` + octet + strings.Repeat(` *, *`+octet, 5) + `(?:\D|$)`)

const octet = `0*(25[0-5]|2[0-4]\d|1\d\d|\d\d?)`

// passiveAddress returns the address and port in a 227 reply; the port is 0 if there are none. The text around the six
// numbers is not fixed (RFC 1123 section 4.1.2.6).
func passiveAddress(text string) (host string, port int) {
	if m := sixNumbers().FindStringSubmatch(text); m != nil {
		return strings.Join(m[1:5], "."), portOf(m[5], m[6])
	}
	if m := afterIPv6().FindStringSubmatch(text); m != nil {
		return "", portOf(m[1], m[2])
	}
	return "", 0
}

// afterIPv6 matches the port behind an IPv6 address, for which PASV has no form: twisted writes (::1,p1,p2).
var afterIPv6 = lazy.Regexp(`[0-9a-fA-F]*:[0-9a-fA-F:.]*:[0-9a-fA-F.]*,` + octet + `,` + octet + `(?:\D|$)`)

func portOf(high, low string) int {
	h, _ := strconv.Atoi(high)
	l, _ := strconv.Atoi(low)
	return h<<8 | l
}

var oneWord = lazy.Regexp(`(^|\s)ssl/tls(\s|$)`) // the only word with a "/" that is a wording
var quotation = lazy.Regexp(`(^|[\s([:=])` +
	`(?:".*"|'.*'|` + "`.*['`]" + `|[“‘«<].*[”’»>])` +
	`(\PL|$)`)
var fullPath = lazy.Regexp(`\S*[/\\](?:.*[/\\])?(?:[^:\n]*:|\S*)`)

// wordsOf returns the text of r in lower case. "*" replaces whatever may be a name that the server repeats: each of
// names and of their parts between "/" that stands as a word, text in quotes, and on each line everything from the
// first word with a "/" or "\" to the last, up to a colon if one follows. A name that is one of commonWords stays, because
// it hides a wording more often than it makes one. The text is not masked, so that no decision depends on a secret.
func wordsOf(r wire.Reply, names []string) string {
	clean := func(s string) string { return strings.ToLower(strings.ToValidUTF8(s, "?")) }
	code := strconv.Itoa(r.Code) // some servers begin every line with it
	text := strings.NewReplacer("\n"+code+"-", "\n", "\n"+code+" ", "\n").Replace(clean(r.Raw))
	var known []string
	for _, name := range names {
		for _, part := range append(strings.Split(name, "/"), name) {
			if part = clean(part); part != "" && !commonWords()[part] && strings.Contains(text, part) {
				known = append(known, regexp.QuoteMeta(part))
			}
		}
	}
	if len(known) > 0 {
		slices.SortFunc(known, func(a, b string) int { return len(b) - len(a) })
		shown := lazy.Regexp(`(^|\PL)(?:(?:` + strings.Join(known, "|") + `)(\PL|$))+`)
		text = shown().ReplaceAllString(text, "$1*$2")
	}
	if strings.ContainsAny(text, "\"'`“‘«</\\") {
		text = quotation().ReplaceAllString(oneWord().ReplaceAllString(text, "${1}tls$2"), "$1*$2")
		text = fullPath().ReplaceAllString(text, "*")
	}
	return strings.TrimSpace(text)
}

// sizeIn returns the size in bytes in a 213 reply to SIZE (RFC 3659 section 4). No other reply has a value.
func sizeIn(r wire.Reply) (int64, bool) {
	n, err := strconv.ParseUint(strings.TrimSpace(r.LastLine()), 10, 63)
	return int64(n), err == nil && r.Code == 213
}

// timeIn returns the time in a 213 reply to MDTM (RFC 3659 section 2.3), without a fraction of a second. No other reply
// has a value.
func timeIn(r wire.Reply) (time.Time, bool) {
	text, _, _ := strings.Cut(strings.TrimSpace(r.LastLine()), ".")
	t, ok := listing.TimeVal(text)
	return t, ok && r.Code == 213
}

// inQuotes matches a text in quotes. A quote in the text is doubled.
var inQuotes = lazy.Regexp(`^[^"]*"((?:[^"]|"")*)"(?:[^"]|$)`)

// directoryIn returns the directory in a 257 reply to PWD, which stands in quotes (RFC 959 appendix II), or "".
func directoryIn(r wire.Reply) string {
	m := inQuotes().FindStringSubmatch(r.Raw)
	if m == nil || !r.OK() || strings.ContainsAny(m[1], "\r\n\x00") {
		return ""
	}
	return strings.ReplaceAll(m[1], `""`, `"`)
}

// factsIn returns the facts in a reply to MLST (RFC 3659 section 7.2). They are on the line between the first and the
// last.
func factsIn(r wire.Reply) (item listing.Item, ok bool) {
	lines := strings.Split(r.Raw, "\n")
	if !r.OK() || len(lines) != 3 {
		return item, false
	}
	item, err := listing.MLSD(strings.TrimPrefix(lines[1], " "))
	return item, err == nil
}

// meaning is what a server says in words alone, because RFC 959 has no code of its own for it.
type meaning string

const (
	full     meaning = "full"     // too many connections, logins or transfers
	needsTLS meaning = "needsTLS" // the client has to use TLS
	empty    meaning = "empty"    // the directory has no files
	unopened meaning = "unopened" // the directory could not be opened
	partial  meaning = "partial"  // not all names are listed, although the code is 226
	aborted  meaning = "aborted"  // the transfer was not whole, although the code is 226
	done     meaning = "done"     // the listing is whole, although the code is not 226
	absent   meaning = "absent"   // there is no such file or directory
	denied   meaning = "denied"   // access is denied

	directory meaning = "directory" // what RETR names is a directory
)

//go:embed wordings.txt
var wordingsText string

// wordings are the ways in which servers say each meaning: a code and a phrase. The phrase is the whole reply, or a
// clause between punctuation marks, names and the ends of the reply.
var wordings = sync.OnceValue(func() map[meaning][]func() *regexp.Regexp {
	all := make(map[meaning][]func() *regexp.Regexp)
	for line := range strings.Lines(wordingsText) {
		row := append(strings.SplitN(strings.TrimSpace(line), " ", 4), "", "", "")
		pattern := `^(?:` + row[2] + `) (?:` + row[3] + `)\.?$`
		if row[1] == "clause" {
			pattern = `(?s)^(?:` + row[2] + `) ` +
				`(?:.*[-*.,:;!\])\n] *)?(?:` + row[3] + `)(?: *[-*.,:;!(\n].*)?$`
		}
		all[meaning(row[0])] = append(all[meaning(row[0])], lazy.Regexp(pattern))
	}
	return all
})

// commonWords are the words of the wordings that mean nothing by themselves: "a" in "not a regular file".
var commonWords = sync.OnceValue(func() map[string]bool {
	common := make(map[string]bool)
	for line := range strings.Lines(wordingsText) {
		if row := strings.SplitN(line, " ", 4); len(row) == 4 && row[0] != "#" {
			for _, word := range word().FindAllString(row[3], -1) {
				common[word] = !slices.Contains(telling, word)
			}
		}
	}
	return common
})

// telling are the words of the wordings that mean something by themselves.
var telling = strings.Fields("denied permission permissions permitted encryption encrypted secure ssl tls")

var word = lazy.Regexp(`[a-z]+`)

func (a answer) means(m meaning) bool {
	return slices.ContainsFunc(wordings()[m], func(pattern func() *regexp.Regexp) bool {
		return pattern().MatchString(a())
	})
}

// encryption is what a server that refuses a login may want, if none of the wordings says so.
var encryption = lazy.Regexp(`\b(ssl|tls|ftps|ftpes|encrypt|secure)`)

// readLimits looks in the text of e's reply to op for the causes that have no code of their own.
// secure says whether the control connection is under TLS.
func (e *Error) readLimits(op Command, secure bool) {
	if e.Code < 400 {
		return
	}
	inClear := !secure
	switch {
	case inClear && e.answer.means(needsTLS):
		e.requireTLS(op)
		return
	case inClear && (e.Code == 534 || e.entering() && encryption().MatchString(e.answer())):
		e.Hint = "If the server asks for TLS, write ftpes:// in place of ftp://"
	default:
		e.readCause(op)
	}
	if e.Code == 421 && e.entering() {
		e.also(ErrTooMany)
	}
}

// readCause adds the cause that the text of the reply to op gives.
func (e *Error) readCause(op Command) {
	switch {
	case (e.Code == 421 || e.Stage != StageDirectory && op.Verb != "TYPE") && e.answer.means(full):
		e.Err = and(e.Err, ErrTooMany)
	case e.Code == 421 || e.Stage != StageDirectory && e.Stage != StageTransfer:
	case e.answer.means(denied):
		e.also(fs.ErrPermission)
	case (e.Stage == StageDirectory || verbs[op.Verb].lists) && e.answer.means(absent):
		e.also(fs.ErrNotExist)
	}
}

// requireTLS makes e, a refusal of op, an [ErrTLSRequired].
func (e *Error) requireTLS(op Command) {
	if e.Err == ErrLost { // the server said why it closed the connection
		e.refuse(op)
		e.Err = cmp.Or(e.Err, ErrLost)
	}
	e.Err = and(e.Err, ErrTLSRequired)
	e.Hint = "Write ftpes:// in place of ftp://"
}

// also adds a cause for errors.Is, without its text.
func (e *Error) also(cause error) { e.Err = fmt.Errorf("%w%.0w", e.Err, cause) }

// inOneStep returns the hint for a refused CWD that is not the last: the inner directory may be accessible although the
// outer one is not. The hint is u's path with all directories from the refused one, u.Dirs[i], in one CWD. It is "" if
// the server says that the directory does not exist, or if one CWD would lead elsewhere.
func (e *Error) inOneStep(u *urlparse.URL, i int) string {
	if e.Code/10 != 55 || i < 0 || len(u.Dirs)-i < 2 || e.answer.means(absent) {
		return ""
	}
	inner := u.Dirs[i]
	for _, dir := range u.Dirs[i+1:] {
		if dir == "" || strings.HasPrefix(dir, "/") {
			return ""
		}
		inner = strings.TrimSuffix(inner, "/") + "/" + dir
	}
	v := *u
	v.Dirs = append(slices.Clone(u.Dirs[:i]), inner)
	host := urlparse.URL{Scheme: u.Scheme, User: u.User, Host: u.Host, Port: u.Port}
	path := strings.TrimPrefix(v.Redacted(), host.Redacted())
	return "If only the inner directory is accessible, write /" + path + " to enter it in one step"
}

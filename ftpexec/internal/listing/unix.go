package listing

import (
	"io/fs"
	"strings"
	"time"

	"example.com/ftpfetch/internal/lazy"
)

// mode matches the first column of ls -l, with the mark of an ACL or an extended attribute.
var mode = lazy.Regexp(`^([-bcdlpsDL])([-r][-w][-xsS][-r][-w][-xsSlL][-r][-w][-xtT])[.+@]?`)

// oddMode matches what other systems put there: Connect:Enterprise and the rights of NetWare.
var oddMode = lazy.Regexp(`^([-d])(?:(?:[A-Z]*-[-A-Z]*[A-Z]{3} )|( ?\[[-A-Za-z]*\] ))`)

// unix reads a line of ls -l, with or without the number of links and the group: "drwxr-xr-x 2 ftp ftp 4096 Jan  2 15:04 name".
func unix(line string, now time.Time) (Item, bool) {
	item := Item{Size: -1}
	rest, padded := item.takeMode(line)
	var words []word
	for _, at := range wordPattern().FindAllStringIndex(rest, maxWords) {
		words = append(words, word{rest[at[0]:at[1]], at[0], at[1]})
	}
	for i := 1; i < len(words); i++ {
		// The size stands before the time. A group may run into it.
		before := words[i-1].text
		s, n := unixTime(words[i:], now)
		if s.unit == 0 || strings.TrimRight(before, "0123456789") == before {
			continue
		}
		if i+n >= len(words) {
			return item, false
		}
		s.on(&item)
		item.Name = rest[words[i+n-1].end+1:]
		if padded {
			item.Name = strings.TrimLeft(item.Name, " ")
		}
		length := size(before)
		if i > 1 && strings.HasSuffix(words[i-2].text, ",") { // the two numbers of a device
			length = -1
		}
		item.setSize(length)
		return item, true
	}
	return item, false
}

// takeMode takes the mode at the beginning of a line, and returns what follows it: "" if there is no mode. NetWare pads the
// names, so that they stand in a column.
func (item *Item) takeMode(line string) (rest string, padded bool) {
	if m := mode().FindStringSubmatch(line); m != nil {
		item.Mode = kinds[m[1][0]] | letters(m[2])
		item.HasPerm = true
		return line[len(m[0]):], false
	}
	if m := oddMode().FindStringSubmatch(line); m != nil {
		item.Mode = kinds[m[1][0]]
		return line[len(m[0])-1:], m[2] != ""
	}
	return "", false
}

// setSize takes the size that ls shows. That of a symbolic link is the length of its target.
func (item *Item) setSize(n int64) {
	if item.Mode.IsRegular() {
		item.Size = n
	}
	if item.Mode&fs.ModeSymlink == 0 {
		return
	}
	// The name may contain an arrow: the right one is where the size says that the target begins.
	const arrow = " -> "
	name := item.Name
	at := int64(len(name)-len(arrow)) - n
	if n > 0 && at > 0 && strings.HasPrefix(name[at:], arrow) {
		item.Name = name[:at]
		item.Target = name[len(name)-int(n):]
		return
	}
	item.Name, item.Target, _ = strings.Cut(name, arrow)
}

// kinds are the types that the first letter of a mode tells. "-" is a file.
var kinds = map[byte]fs.FileMode{
	'd': fs.ModeDir,
	'l': fs.ModeSymlink,
	'L': fs.ModeSymlink, // servers in Go
	'b': fs.ModeDevice,
	'c': fs.ModeDevice | fs.ModeCharDevice,
	'p': fs.ModeNamedPipe,
	's': fs.ModeSocket,
	'D': fs.ModeIrregular,
}

// letters returns the permissions that nine letters tell.
func letters(text string) fs.FileMode {
	bits := uint64(0)
	for i, letter := range []byte(text) {
		if !strings.ContainsRune("-STlL", rune(letter)) {
			bits |= 0o400 >> i
		}
		if strings.ContainsRune("sStTlL", rune(letter)) {
			bits |= 0o4000 >> (i / 3)
		}
	}
	return permissions(bits)
}

// word is a word of a line, and where it begins and ends there.
type word struct {
	text       string
	start, end int
}

// maxWords bounds the search for the time: owners and groups are short.
const maxWords = 16

var wordPattern = lazy.Regexp(`[^ \t]+`)

// unixTime reads the time at the beginning of words, and returns how many words it takes.
func unixTime(words []word, now time.Time) (s stamp, n int) {
	text := func(i int) string {
		if i < len(words) {
			return words[i].text
		}
		return ""
	}
	mon := month(text(0))
	dom := number(strings.TrimRight(text(1), ".,日"))
	if mon == 0 { // "2. Jan 2006"
		mon = month(text(1))
		dom = number(strings.TrimRight(text(0), "."))
	}
	if mon == 0 {
		return isoTime(text, words, now)
	}
	if y := year(strings.TrimSuffix(text(2), "年")); y >= 0 {
		if c := clock(text(3)); c.unit > 0 && strings.HasSuffix(text(1), ",") { // "Oct 08, 2002 09:47"
			return date(y, mon, dom, c), 4
		}
		return date(y, mon, dom, stamp{}), 3
	}
	c := clock(text(2))
	if c.unit == 0 {
		return stamp{}, 0
	}
	if y := year(text(3)); y >= 0 && c.unit < time.Minute { // "Jan  2 15:04:05 2006", BSD's ls -T
		return date(y, mon, dom, c), 4
	}
	return recent(mon, dom, c, now), 3
}

// isoTime reads the time styles of GNU ls: "2006-01-02 15:04", "2006-01-02 15:04:05.123456789 +0100", "01-02 15:04", and
// "2006-01-02 " with a space in place of the time.
func isoTime(text func(int) string, words []word, now time.Time) (s stamp, n int) {
	p := strings.FieldsFunc(text(0), func(r rune) bool { return r == '-' || r == '/' })
	c := clock(text(1))
	timed := c.unit > 0 // otherwise only the day is told
	switch {
	case len(p) == 2 && timed:
		return recent(number(p[0]), number(p[1]), c, now), 2
	case len(p) == 2 && year(text(1)) >= 0: // "09-26 2000"
		return date(year(text(1)), number(p[0]), number(p[1]), stamp{}), 2
	case len(p) != 3 || year(p[0]) < 0:
		return stamp{}, 0
	}
	s = date(year(p[0]), number(p[1]), number(p[2]), c)
	switch {
	case s.unit == 0 || !timed && (len(words) == 1 || words[1].start == words[0].end+1):
		return stamp{}, 0
	case !timed:
		words[0].end++
		return s, 1
	}
	if zone, err := time.Parse("-0700", text(2)); err == nil && c.unit < time.Minute {
		_, offset := zone.Zone()
		s.t = s.t.Add(-time.Duration(offset) * time.Second)
		s.utc = true
		return s, 3
	}
	return s, 2
}

package listing

import (
	"io/fs"
	"strings"
	"time"
)

// mode matches the first column of ls -l, with the mark of an ACL or an extended attribute.
var mode = Lazy(`^([-bcdlpsDL])([-r][-w][-xsS][-r][-w][-xsSlL][-r][-w][-xtT])[.+@]?`)

// oddMode matches what other systems put there: Connect:Enterprise and the rights of NetWare.
var oddMode = Lazy(`^([-d])(?:(?:[A-Z]*-[-A-Z]*[A-Z]{3} )|( ?\[[-A-Za-z]*\] ))`)

// unix reads a line of ls -l, with or without the number of links and the group: "drwxr-xr-x 2 ftp ftp 4096 Jan  2 15:04 name".
func unix(line string, now time.Time) (Item, bool) {
	item, rest, padded := Item{Size: -1}, "", false
	if m := mode().FindStringSubmatch(line); m != nil {
		item.Mode, item.HasPerm, rest = kinds[m[1][0]]|letters(m[2]), true, line[len(m[0]):]
	} else if m := oddMode().FindStringSubmatch(line); m != nil {
		item.Mode, rest, padded = kinds[m[1][0]], line[len(m[0])-1:], m[2] != ""
	} else {
		return item, false
	}
	words := split(rest)
	for i := range words {
		s, n, ok := unixTime(words[i:], now)
		if !ok || i == 0 || strings.TrimRight(words[i-1].text, "0123456789") == words[i-1].text { // no size, nor a group that runs into it
			continue
		}
		s.on(&item)
		end := words[i+n-1].end
		if end >= len(rest) || i+n >= len(words) {
			return item, false
		}
		item.Name = rest[end+1:]
		if padded { // NetWare aligns the names
			item.Name = strings.TrimLeft(item.Name, " ")
		}
		length := int64(-1)
		if i < 2 || !strings.HasSuffix(words[i-2].text, ",") { // those are a device's numbers
			length = size(words[i-1].text)
		}
		item.setSize(length)
		return item, true
	}
	return item, false
}

// setSize takes the size that ls shows. That of a symbolic link is the length of its target.
func (item *Item) setSize(n int64) {
	if item.Mode.IsRegular() {
		item.Size = n
	}
	if item.Mode&fs.ModeSymlink == 0 {
		return
	}
	const arrow = " -> "
	if at := len(item.Name) - int(max(0, min(n, int64(len(item.Name))))) - len(arrow); n > 0 && at > 0 && strings.HasPrefix(item.Name[at:], arrow) {
		item.Name, item.Target = item.Name[:at], item.Name[at+len(arrow):]
		return
	}
	item.Name, item.Target, _ = strings.Cut(item.Name, arrow)
}

var kinds = map[byte]fs.FileMode{'-': 0, 'd': fs.ModeDir, 'l': fs.ModeSymlink, 'b': fs.ModeDevice, 'c': fs.ModeDevice | fs.ModeCharDevice,
	'p': fs.ModeNamedPipe, 's': fs.ModeSocket, 'D': fs.ModeIrregular,
	'L': fs.ModeSymlink, // servers in Go
}

// letters returns the permissions that nine letters stand for.
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

// word is a word of a line, and where it stands there.
type word struct {
	text       string
	start, end int
}

// maxWords bounds the search for the time: owners and groups are short.
const maxWords = 16

var wordPattern = Lazy(`[^ \t]+`)

func split(line string) (words []word) {
	for _, at := range wordPattern().FindAllStringIndex(line, maxWords) {
		words = append(words, word{line[at[0]:at[1]], at[0], at[1]})
	}
	return words
}

// unixTime reads the time at the beginning of words, and returns how many words it takes.
func unixTime(words []word, now time.Time) (s stamp, n int, ok bool) {
	text := func(i int) string {
		if i < len(words) {
			return words[i].text
		}
		return ""
	}
	mon, dom, rest := month(text(0)), number(strings.TrimRight(text(1), ".,日"), 2), text(2)
	if mon == 0 { // "2. Jan 2006"
		mon, dom = month(text(1)), number(strings.TrimRight(text(0), "."), 2)
	}
	if mon == 0 {
		return isoTime(text, words, now)
	}
	if y := year(strings.TrimSuffix(rest, "年")); y >= 0 {
		if c, timed := clock(text(3)); timed && strings.HasSuffix(text(1), ",") { // "Oct 08, 2002 09:47"
			s, ok = date(y, mon, dom, c)
			return s, 4, ok
		}
		s, ok = date(y, mon, dom, stamp{})
		return s, 3, ok
	}
	c, ok := clock(rest)
	if !ok {
		return s, 0, false
	}
	if y := year(text(3)); y >= 0 && c.unit < time.Minute { // "Jan  2 15:04:05 2006", BSD's ls -T
		s, ok = date(y, mon, dom, c)
		return s, 4, ok
	}
	s, ok = recent(mon, dom, c, now)
	return s, 3, ok
}

// isoTime reads the time styles of GNU ls: "2006-01-02 15:04", "2006-01-02 15:04:05.123456789 +0100", "01-02 15:04", and
// "2006-01-02 " with a space in place of the time.
func isoTime(text func(int) string, words []word, now time.Time) (s stamp, n int, ok bool) {
	p := strings.FieldsFunc(text(0), func(r rune) bool { return r == '-' || r == '/' })
	c, timed := clock(text(1))
	switch {
	case len(p) == 2 && timed && number(p[0], 2) > 0:
		s, ok = recent(number(p[0], 2), number(p[1], 2), c, now)
		return s, 2, ok
	case len(p) == 2 && year(text(1)) >= 0 && number(p[0], 2) > 0: // "09-26 2000"
		s, ok = date(year(text(1)), number(p[0], 2), number(p[1], 2), stamp{})
		return s, 2, ok
	case len(p) != 3 || year(p[0]) < 0:
		return s, 0, false
	}
	s, ok = date(year(p[0]), number(p[1], 2), number(p[2], 2), c)
	switch {
	case !ok:
		return s, 0, false
	case !timed && len(words) > 1 && words[1].start > words[0].end+1:
		words[0].end++
		return s, 1, true
	case !timed:
		return s, 0, false
	}
	if zone, err := time.Parse("-0700", text(2)); err == nil && c.unit < time.Minute {
		_, offset := zone.Zone()
		s.t, s.utc = s.t.Add(-time.Duration(offset)*time.Second), true
		return s, 3, true
	}
	return s, 2, true
}

package listing

import (
	"bytes"
	"io/fs"
	"strings"
	"time"
)

// A line is plain if it is written as most servers write nearly all their lines, and no other line can change what it
// says. The general readers, MLSD and Reader.LIST, say the same about it and take many times as long. A line about
// which there is the least doubt is not plain, and they read it.
//
// For MLSD these are lines about files and directories whose facts have their usual forms. For LIST they are the lines
//
//	-rw-r--r--    1 owner    group        4096 Jan 02  2003 name
//	drwxr-xr-x    2 owner    group        4096 Jan 02 15:04 name

// plainLine is what a plain line says.
type plainLine struct {
	row
	name, unique []byte // parts of the line
	short        bool   // see date
}

// plainReader reads plain lines.
type plainReader struct {
	now   time.Time
	modes [2]knownMode // of the last file and the last directory
	// The last owner and the last group that cannot begin a date.
	owner, group string
	limit        int64 // the latest time without a year; 0 if not yet known
	year         int   // of limit
}

// knownMode is a mode, and what it means.
type knownMode struct {
	text string
	mode fs.FileMode
}

// read reads a line by a command. It returns false if the line is not plain.
func (r *plainReader) read(command string, line []byte, p *plainLine) bool {
	switch command {
	case "LIST":
		return r.readLS(line, p)
	case "MLSD":
		return p.readMLSD(line)
	}
	return false
}

// readLS reads a line of ls -l.
func (r *plainReader) readLS(line []byte, p *plainLine) bool {
	rest, ok := r.takeMode(line, p)
	if !ok {
		return false
	}
	links, rest := cutWord(rest)
	owner, rest := cutWord(rest)
	group, rest := cutWord(rest)
	size, rest := cutWord(rest)
	if _, ok := decimal(links, 18); !ok || !r.knows(&r.owner, owner) || !r.knows(&r.group, group) {
		return false
	}
	n, ok := decimal(size, 18)
	if !ok {
		return false
	}
	if p.mode.IsRegular() {
		p.size = n
	}
	month, rest := cutWord(rest)
	dom, rest := cutWord(rest)
	spaces := len(rest) - len(bytes.TrimLeft(rest, " "))
	last, rest := cutWord(rest)
	if len(rest) < 2 || !r.takeDate(month, dom, last, p) {
		return false
	}
	p.short = p.unit == toDay && spaces == 1
	p.name = rest[1:]
	return p.certain()
}

// takeMode takes a mode of a file or a directory from the beginning of a line.
func (r *plainReader) takeMode(line []byte, p *plainLine) (rest []byte, ok bool) {
	const length = 10 // of a type and nine permissions
	if len(line) < length+2 || line[0] != '-' && line[0] != 'd' {
		return nil, false
	}
	known := &r.modes[0]
	if line[0] == 'd' {
		known = &r.modes[1]
	}
	if string(line[:length]) != known.text {
		text := string(line[:length])
		if !mode().MatchString(text + " 1") {
			return nil, false
		}
		*known = knownMode{text, kinds[line[0]] | letters(text[1:])}
	}
	p.mode = known.mode
	p.perm = true
	rest = line[length:]
	if strings.IndexByte(".+@", rest[0]) >= 0 {
		rest = rest[1:]
	}
	return rest, rest[0] == ' '
}

// cutWord cuts the first word off a text that begins with a space. It returns no word if there is none, or if it
// contains a tab, at which others would cut it.
func cutWord(text []byte) (word, rest []byte) {
	start := 0
	for start < len(text) && text[start] == ' ' {
		start++
	}
	end := start
	for end < len(text) && text[end] > ' ' {
		end++
	}
	if start == 0 || end < len(text) && text[end] != ' ' {
		return nil, nil
	}
	return text[start:end], text[end:]
}

// decimal returns the value of one digit to a number of digits.
func decimal(text []byte, most int) (n int64, ok bool) {
	for _, c := range text {
		if c < '0' || c > '9' {
			return 0, false
		}
		n = n*10 + int64(c-'0')
	}
	return n, 0 < len(text) && len(text) <= most
}

// knows reports whether no date can begin with a word, the name or the number of an owner or a group. last is the last
// such word.
func (r *plainReader) knows(last *string, word []byte) bool {
	if len(word) == 0 {
		return false
	}
	if string(word) == *last {
		return true
	}
	for _, c := range word {
		letter := 'a' <= c|0x20 && c|0x20 <= 'z'
		if !letter && strings.IndexByte("0123456789_-.$@", c) < 0 {
			return false
		}
	}
	text := string(word)
	if _, number := decimal(word, len(word)); !number && partOf(text, false, false).kind != 0 {
		return false
	}
	*last = text
	return true
}

// takeDate takes a date that consists of a month in English, a day, and a year or a time of day.
func (r *plainReader) takeDate(monthName, dom, last []byte, p *plainLine) bool {
	month := englishMonth(monthName)
	day, ok := decimal(dom, 2)
	switch {
	case month == 0 || !ok || day == 0:
		return false
	case len(last) == len("2006"):
		year, ok := decimal(last, 4)
		p.unit = toDay
		p.modified = date0(int(year), month, int(day))
		return ok && year >= 1900 && int(day) <= days(int(year), month)
	}
	return int(day) <= days(2001, month) && r.takeClock(month, int(day), last, p)
}

// takeClock takes the time of the last such day before now, as clock.lately does.
func (r *plainReader) takeClock(month, day int, text []byte, p *plainLine) bool {
	if len(text) != len("15:04") || text[2] != ':' {
		return false
	}
	hour, okHour := decimal(text[:2], 2)
	minute, okMinute := decimal(text[3:], 2)
	if !okHour || !okMinute || hour > 23 || minute > 59 {
		return false
	}
	if r.limit == 0 {
		limit := r.now.UTC().Add(24 * time.Hour)
		r.limit = limit.Unix()
		r.year = limit.Year()
	}
	since := hour*3600 + minute*60
	p.unit = toMinute
	p.modified = date0(r.year, month, day) + since
	if p.modified > r.limit {
		p.modified = date0(r.year-1, month, day) + since
	}
	if r.limit-p.modified > openYear {
		p.unit = toGuess
	}
	return true
}

// openYear is how many seconds before the limit a time may be before its year is open; see recent.
const openYear = int64((recent + 24*time.Hour) / time.Second)

// date0 returns the midnight with which a day begins, in seconds since 1970.
func date0(year, month, day int) int64 {
	return time.Date(year, time.Month(month), day, 0, 0, 0, 0, time.UTC).Unix()
}

// days returns the number of days of a month.
func days(year, month int) int {
	switch {
	case month == 2 && year%4 == 0 && (year%100 != 0 || year%400 == 0):
		return 29
	case month == 2:
		return 28
	case month == 4, month == 6, month == 9, month == 11:
		return 30
	}
	return 31
}

// englishMonth returns the number of a month that has its English abbreviation, from 1, or 0.
func englishMonth(name []byte) int {
	const names = "JanFebMarAprMayJunJulAugSepOctNovDec"
	for i := 0; len(name) == 3 && i < len(names); i += 3 {
		if names[i] == name[0] && names[i+1] == name[1] && names[i+2] == name[2] {
			return i/3 + 1
		}
	}
	return 0
}

// certain reports whether all of the name, and nothing else, is the name of an entry.
func (p *plainLine) certain() bool {
	first := p.name[0]
	last := p.name[len(p.name)-1]
	clocked := p.unit == toMinute || p.unit == toGuess
	letter := 'A' <= first && first <= 'Z'
	switch {
	case first == ' ' || last == ' ' || last == '*' || !p.isName():
		return false
	// another time of day, after a year
	case p.short && strings.IndexByte("0123456789:.", first) >= 0:
		return false
	// a zone, after a time of day
	case clocked && (letter || first == '+' || first == '-') && bytes.IndexByte(p.name, ' ') >= 0:
		return false
	}
	return !p.mode.IsDir() || !bytes.HasSuffix(p.name, []byte(".DIR;1"))
}

// readMLSD reads a line of MLSD.
func (p *plainLine) readMLSD(line []byte) bool {
	facts, name, ok := bytes.Cut(line, []byte("; "))
	if !ok || len(name) == 0 || line[0] == ' ' {
		return false
	}
	p.mode = fs.ModeIrregular
	for len(facts) > 0 {
		fact := facts
		end := bytes.IndexByte(facts, ';')
		if end >= 0 {
			fact = facts[:end]
			facts = facts[end+1:]
		} else {
			facts = nil
		}
		equals := bytes.IndexByte(fact, '=')
		if equals < 0 || !p.takeFact(fact[:equals], fact[equals+1:]) {
			return false
		}
	}
	if p.mode.IsDir() {
		p.size = -1
	}
	p.name = name
	return p.mode.Type() != fs.ModeIrregular && p.isName()
}

// isName reports whether an entry can have the name, which has no control characters.
func (p *plainLine) isName() bool {
	for _, c := range p.name {
		if c < ' ' || c == '/' {
			return false
		}
	}
	return string(p.name) != "." && string(p.name) != ".."
}

// takeFact takes a fact. It returns false if the value does not have its usual form.
func (p *plainLine) takeFact(key, value []byte) (ok bool) {
	switch {
	case isKey(key, "type"):
		return p.takeType(value)
	case isKey(key, "size"):
		p.size, ok = decimal(value, 18)
		return ok
	case isKey(key, "modify"):
		return p.takeTime(value)
	case isKey(key, "unique"):
		p.unique = value
	case isKey(key, "unix.mode"):
		return p.takePermissions(value)
	}
	return isASCII(key)
}

// isKey reports whether a text is a name of a fact, which is in lower case.
func isKey(text []byte, key string) bool {
	if len(text) != len(key) {
		return false
	}
	for i, c := range text {
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		if c != key[i] {
			return false
		}
	}
	return true
}

// isASCII reports whether a text has only octets of ASCII. A name of a fact with others may be one of the names above,
// written oddly.
func isASCII(text []byte) bool {
	for _, c := range text {
		if c >= 0x80 {
			return false
		}
	}
	return true
}

func (p *plainLine) takeType(value []byte) bool {
	kind := fs.FileMode(0)
	if string(value) == "dir" {
		kind = fs.ModeDir
	}
	p.mode = p.mode&^fs.ModeType | kind
	return kind != 0 || string(value) == "file"
}

// takeTime takes a time of RFC 3659 section 2.3 without a fraction.
func (p *plainLine) takeTime(value []byte) bool {
	if len(value) != len("20060102150405") {
		return false
	}
	ymd, ok := decimal(value[:8], 8)
	hms, okTime := decimal(value[8:], 6)
	year, month, day := int(ymd/10000), int(ymd/100%100), int(ymd%100)
	hour, minute, second := hms/10000, hms/100%100, hms%100
	p.unit = toSecond
	p.modified = date0(year, month, day) + hour*3600 + minute*60 + second
	return ok && okTime && year >= 1900 && 0 < month && month <= 12 && 0 < day && day <= days(year, month) &&
		hour < 24 && minute < 60 && second < 60
}

// takePermissions takes three or four octal digits.
func (p *plainLine) takePermissions(value []byte) bool {
	bits := uint64(0)
	for _, c := range value {
		if c < '0' || c > '7' {
			return false
		}
		bits = bits<<3 | uint64(c-'0')
	}
	p.mode = p.mode&fs.ModeType | permissions(bits)
	p.perm = true
	return len(value) == 3 || len(value) == 4
}

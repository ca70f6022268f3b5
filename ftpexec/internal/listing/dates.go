package listing

import (
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/ftpfetch/internal/lazy"
)

const day = 24 * time.Hour

// stamp is what a line says about a time. The zero stamp says nothing.
type stamp struct {
	t    time.Time
	unit time.Duration // its precision; 0 if there is no time
	utc  bool
	// the line has no year; see Item
	guessed bool
}

// recent is how long ls and servers write a time of day in place of the year: half a year, give or take some days.
const recent = 184 * day

// on sets the time of item, unless its year has a sign or more than four digits: RFC 3339 section 5.6, which journals
// and JSON follow, has no such year.
func (s stamp) on(item *Item) {
	if y := s.t.Year(); s.unit > 0 && y >= 0 && y <= 9999 {
		item.Time = s.t
		item.Precision = s.unit
		item.UTC = s.utc
		item.Guessed = s.guessed
	}
}

// clock is a time of day: the time since midnight, and its unit. A unit of 0 means that the line has no time of day,
// and a negative unit that it has an impossible one.
type clock struct {
	since, unit time.Duration
}

// clockIn reads "15:04", "15:04:05" or "15:04:05.123", and "3:04PM" or "3:04p".
func clockIn(text string) clock {
	bare := strings.TrimRight(text, "aApPmM ")
	if !isClock(bare) {
		return clock{}
	}
	layout := "15:04"
	c := clock{unit: time.Minute}
	if strings.Count(bare, ":") > 1 {
		layout = "15:04:05"
		c.unit = secondsIn(bare)
	}
	if half := strings.TrimSpace(text[len(bare):]); half != "" {
		layout = "3" + layout[2:] + "PM"
		text = bare + strings.ToUpper(half[:1]) + "M"
	}
	t, err := time.Parse(layout, text)
	if err != nil {
		return clock{unit: -1}
	}
	c.since = t.Sub(t.Truncate(day))
	return c
}

// isClock reports whether a text has the digits and colons of a time of day.
func isClock(text string) bool {
	return len(text) >= 4 && (text[1] == ':' || text[2] == ':') &&
		strings.Trim(text, "0123456789:.") == ""
}

// at returns the stamp of a time of a day, or of the day alone if c has no time. It is zero if there is no such day or
// time.
func (c clock) at(year, month, dayOfMonth int) stamp {
	t := time.Date(year, time.Month(month), dayOfMonth, 0, 0, 0, 0, time.UTC)
	if t.Day() != dayOfMonth || int(t.Month()) != month || t.IsZero() || c.unit < 0 || year < 0 {
		return stamp{}
	}
	if c.unit == 0 {
		return stamp{t: t, unit: day}
	}
	return stamp{t: t.Add(c.since), unit: c.unit}
}

// lately returns the last such day before now, at time c. It adds a day to now, because the server's clock may be ahead
// and its time zone is not known.
func (c clock) lately(month, dayOfMonth int, now time.Time) stamp {
	limit := now.UTC().Add(day)
	// Two leap years are at most 8 years apart.
	for year := limit.Year(); year > limit.Year()-9; year-- {
		if s := c.at(year, month, dayOfMonth); s.unit > 0 && !s.t.After(limit) {
			s.guessed = limit.Sub(s.t) > recent+day
			return s
		}
	}
	return stamp{}
}

// secondsIn returns the unit of the last digit of a time with seconds.
func secondsIn(text string) time.Duration {
	_, decimals, _ := strings.Cut(text, ".")
	unit := time.Second
	for range min(len(decimals), 9) {
		unit /= 10
	}
	return unit
}

// number returns the value of one to four digits, or -1.
func number(text string) int {
	if text == "" || len(text) > 4 || strings.Trim(text, "0123456789") != "" {
		return -1
	}
	n, _ := strconv.Atoi(text)
	return n
}

// century returns the year that two to four digits mean: from 1970 on, and "103" for 2003, as some OS/2 servers write.
func century(text string) int {
	n := number(text)
	switch {
	case len(text) == 2 && n < 70:
		return 2000 + n
	case len(text) < 4:
		return 1900 + n
	}
	return n
}

// monthOf returns the month that a number or a name means, or 0.
func monthOf(text string) int {
	if n := number(text); n >= 0 {
		return n
	}
	return month(text)
}

// calendar returns the day that the parts of a date mean, "2006", "1" and "2" or in another order. A dot between them
// means the European order; american says whether anything else means the American one. The month is 0 if nothing shows
// the order.
func calendar(a, separator, b, c string, american bool) (y, mon, dom int) {
	if number(a) > 31 || len(a) == 4 {
		return century(a), monthOf(b), number(c)
	}
	y = century(c)
	dotted := separator == "."
	first := monthOf(a)
	second := monthOf(b)
	switch {
	case number(a) < 0, second > 12, american && !dotted && first <= 12:
		return y, first, number(b)
	case number(b) < 0, first > 12, first == second, dotted:
		return y, second, number(a)
	}
	return y, 0, 0
}

// setDate sets the time to a time of the day that calendar finds in parts.
func (item *Item) setDate(parts []string, american bool, timeOfDay string) {
	y, mon, dom := calendar(parts[0], parts[1], parts[2], parts[3], american)
	clockIn(timeOfDay).at(y, mon, dom).on(item)
}

// date is what some words of a line say about a time.
type date struct {
	stamp
	words int  // how many words; 0 if they are no date
	short bool // no time of day, and one space before the year: servers may pad it on the right
}

// orders matches the kinds of words of a date, in the orders in which ls and servers write them.
var orders = lazy.Regexp(`^(?:M[DE]S[YyN]|(?:M[DE]|[DE]M|EE)(?:y?[CS]|[YyN])|NM[DE][CS]?|NB[CS]?|ASZ|A[CS]?|B[CSYyN])`)

// part is a word of a date, and what it says. Its kind is M for a month, D for a day, E for a day or a month with a dot,
// Y for a year, y for a year after one space, N for a year with a mark, C for a time of day, S for a time with seconds,
// A for a whole date, "2006-01-02", B for a month and day, "01-02", and Z for a zone, "+0100".
type part struct {
	kind             byte
	year, month, dom int // -1, 0 and 0 if unknown
	clock
	zone time.Duration
}

// partOf returns what a word may be. If any is set, an unknown word without digits may be a month.
func partOf(text string, near, any bool) part {
	p := part{year: -1, clock: clockIn(text)}
	plain := unmarked(text)
	n := number(plain)
	if n < 0 || plain != text {
		p.month = month(text)
	}
	switch {
	case p.unit > 0 && p.unit < time.Minute:
		p.kind = 'S'
	case p.unit != 0:
		p.kind = 'C'
	case p.month > 0, any && !strings.ContainsAny(text, "0123456789"):
		p.kind = 'M'
	case len(plain) == 4 && n >= 0:
		p.year = n
		p.kind = kindOfYear(near, plain != text)
	case len(plain) < 3 && n >= 0:
		p.dom = n
		p.kind = kindOfDay(text)
	default:
		p.numeric(plain)
	}
	return p
}

// unmarked returns a word without the mark of a year or a day, a dot or a comma at its end.
func unmarked(text string) string {
	if text[len(text)-1] >= utf8.RuneSelf {
		text = words().units.Replace(text)
	}
	return strings.TrimRight(text, "., ")
}

// kindOfYear returns the kind of a year, which may be near the word before it and may have a mark.
func kindOfYear(near, marked bool) byte {
	switch {
	case near:
		return 'y'
	case marked:
		return 'N'
	}
	return 'Y'
}

// kindOfDay returns the kind of a day, which may have a dot.
func kindOfDay(text string) byte {
	if text[len(text)-1] == '.' {
		return 'E'
	}
	return 'D'
}

// numeric reads a word of several numbers, or a zone.
func (p *part) numeric(text string) {
	if text == "" || strings.IndexByte("+-0123456789", text[0]) < 0 {
		return
	}
	f := strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune("-/. ", r) })
	zone, err := time.Parse("-0700", text)
	switch {
	case err == nil:
		_, offset := zone.Zone()
		p.zone = time.Duration(offset) * time.Second
		p.kind = 'Z'
	case len(f) == 3:
		p.year, p.month, p.dom = calendar(f[0], text[len(f[0]):len(f[0])+1], f[1], f[2], false)
		p.kind = 'A'
	case len(f) == 2:
		if strings.Contains(text, ".") {
			f[0], f[1] = f[1], f[0]
		}
		p.month = monthOf(f[0])
		p.dom = number(f[1])
		p.kind = 'B'
	}
}

// dateIn reads the date at the beginning of words. If any is set, its month may be an unknown word, and its day need
// not exist.
func dateIn(all []word, any bool, now time.Time) (d date) {
	var parts [4]part
	var kinds [4]byte
	for i := range min(len(all), len(parts)) {
		near := i > 0 && all[i].start == all[i-1].end+1
		parts[i] = partOf(all[i].text, near, any)
		kinds[i] = parts[i].kind
		if kinds[0] == 0 {
			return d
		}
	}
	d.words = len(orders().Find(kinds[:]))
	sum := d.join(parts[:d.words])
	s := sum.at(sum.year, sum.month, sum.dom)
	if sum.year < 0 && kinds[0] != 'A' {
		s = sum.lately(sum.month, sum.dom, now)
	}
	if s.unit == 0 && kinds[0] < 'C' && !any { // digits that are no date
		return date{}
	}
	d.t = s.t.Add(-sum.zone)
	d.unit = s.unit
	d.guessed = s.guessed
	return d
}

// join puts the parts of a date together, and sets what they say about it.
func (d *date) join(parts []part) part {
	sum := part{year: -1}
	if len(parts) > 1 && parts[0].kind == 'E' && parts[1].kind == 'E' { // "26. 4."
		parts[1].month = parts[1].dom
		parts[1].dom = 0
	}
	for i := range parts {
		p := &parts[i]
		sum.year = max(sum.year, p.year)
		sum.month += p.month
		sum.dom += p.dom
		sum.since += p.since
		sum.unit += p.unit
		sum.zone += p.zone
		d.short = d.short || p.kind == 'y' || p.kind == 'A'
		d.utc = p.kind == 'Z'
	}
	d.short = d.short && sum.unit == 0
	return sum
}

package listing

import (
	"strings"
	"time"
	"unicode/utf8"
)

const day = 24 * time.Hour

// stamp is what a line tells about a time. The zero stamp tells nothing.
type stamp struct {
	t    time.Time
	unit time.Duration // its precision; 0 if there is no time
	utc  bool
}

// on sets the time of item, unless its year has a sign or more than four digits: RFC 3339 section 5.6, which journals and
// JSON follow, has no such year.
func (s stamp) on(item *Item) {
	if y := s.t.Year(); s.unit > 0 && y >= 0 && y <= 9999 {
		item.Time = s.t
		item.Precision = s.unit
		item.UTC = s.utc
	}
}

// clock is a time of day: what has passed since midnight, and its unit. A unit of 0 means that the line tells none, one
// below 0 that it tells one that no clock shows.
type clock struct {
	since, unit time.Duration
}

// clockIn reads "15:04", "15:04:05" or "15:04:05.123", and "3:04PM" or "3:04p".
func clockIn(text string) clock {
	bare := strings.TrimRight(text, "aApPmM ")
	if len(bare) < 4 || bare[1] != ':' && bare[2] != ':' || strings.Trim(bare, "0123456789:.") != "" {
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

// at returns the stamp of a time of a day, or of the day alone if c tells no time. It tells nothing if there is no such
// day or time.
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

// lately returns the last such day, at time c, before now. A day is added to now, because the server's clock may be ahead
// and its time zone is not known.
func (c clock) lately(month, dayOfMonth int, now time.Time) stamp {
	limit := now.UTC().Add(day)
	for year := limit.Year(); year > limit.Year()-9; year-- { // two leap years are at most 8 years apart
		if s := c.at(year, month, dayOfMonth); s.unit > 0 && !s.t.After(limit) {
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
func number(text string) (n int) {
	if text == "" || len(text) > 4 {
		return -1
	}
	for i := range len(text) {
		if text[i] < '0' || text[i] > '9' {
			return -1
		}
		n = n*10 + int(text[i]-'0')
	}
	return n
}

func year(text string) int {
	if len(text) != 4 {
		return -1
	}
	return number(text)
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

// order says whether the month or the day comes first in a date.
type order int

// The orders of dates that end in the year.
const (
	unsure order = iota
	monthFirst
	dayFirst
)

// calendar returns the day that the parts of a date mean, "2006", "1" and "2" or in another order. It returns month 0 if
// nothing tells the order.
func calendar(a, b, c string, o order) (y, mon, dom int) {
	if number(a) > 31 || len(a) == 4 {
		return century(a), monthOf(b), number(c)
	}
	y = century(c)
	switch first, second := monthOf(a), monthOf(b); {
	case number(a) < 0, second > 12, o == monthFirst && first <= 12:
		return y, first, number(b)
	case number(b) < 0, first > 12, first == second, o == dayFirst:
		return y, second, number(a)
	}
	return y, 0, 0
}

// orderBy returns the order that a separator stands for: a dot is European. otherwise is that of another one.
func orderBy(separator string, otherwise order) order {
	if separator == "." {
		return dayFirst
	}
	return otherwise
}

// layouts are the orders in which ls writes a date in words: the month, the day, the year, y if one space stands before it and
// N if it has a mark, and the time of day, S if it has seconds. A longer one comes before one that it begins with.
var layouts = []string{"MDSY", "MDyC", "MDC", "MDY", "DMyC", "DMC", "DMY", "NMDC", "NMD"}

// date is what some words of a line say about a time.
type date struct {
	stamp
	words int  // how many they are; 0 if they are no date
	short bool // it has no time of day, and one space before the year: servers may pad it on the right
}

// part is what a word may be in a date; -1 or 0 if it is not that.
type part struct {
	month, dom, year int
	clock
	near, marked bool // one space stands before it; it is not only a number
}

// partOf returns what a word may be. If any is set, one that is not known and has no digit may be a month.
func partOf(text string, any bool) part {
	p := part{dom: -1, year: -1}
	if digits := text[0] >= '0' && text[0] <= '9'; !digits || text[len(text)-1] >= utf8.RuneSelf {
		p.month = month(text)
		if any && p.month == 0 && !strings.ContainsAny(text, "0123456789") {
			p.month = -1
		}
	} else if text[0] >= '0' && text[0] <= '9' {
		p.clock = clockIn(text)
	}
	plain := plain(text)
	p.marked = plain != text
	p.dom = number(plain)
	p.year = year(plain)
	return p
}

// plain returns a word without the marks of a year or day at its end.
func plain(text string) string {
	if text[len(text)-1] >= utf8.RuneSelf {
		text = words().units.Replace(text)
	}
	return strings.TrimRight(text, "., ")
}

// partsOf returns what the first words may be.
func partsOf(all []word, any bool) (parts [4]part) {
	for i := range parts {
		parts[i] = part{dom: -1, year: -1}
		if i < len(all) {
			parts[i] = partOf(all[i].text, any)
			parts[i].near = i > 0 && all[i].start == all[i-1].end+1
		}
	}
	return parts
}

// fits reports whether p can be what a letter of layouts means.
func (p part) fits(letter rune) bool {
	switch letter {
	case 'M':
		return p.month != 0
	case 'D':
		return p.dom >= 0 && p.dom < 100
	case 'y':
		return p.year >= 0 && p.near
	case 'N':
		return p.year >= 0 && p.marked
	case 'Y':
		return p.year >= 0
	case 'S':
		return p.unit != 0 && p.unit < time.Minute
	}
	return p.unit != 0
}

// dateIn reads the date at the beginning of words. If any is set, its month may be a word that is not known, and its day one
// that there is not.
func dateIn(all []word, any bool, now time.Time) date {
	if first := partOf(all[0].text, any); first.month == 0 && first.dom < 0 && strings.Trim(all[0].text[:1], "0123456789") != "" {
		return date{}
	}
	parts := partsOf(all, any)
	for _, layout := range layouts {
		if d := dateBy(layout, parts, now); d.words > 0 {
			return d
		}
	}
	return numericDate(all, parts, any, now)
}

// dateBy reads a date of a layout.
func dateBy(layout string, parts [4]part, now time.Time) (d date) {
	var p part
	p.year = -1
	for i, letter := range layout {
		switch at := parts[i]; {
		case !at.fits(letter):
			return date{}
		case letter == 'M':
			p.month = at.month
		case letter == 'D':
			p.dom = at.dom
		case letter == 'Y', letter == 'y', letter == 'N':
			p.year = at.year
			d.short = at.near && i > 0
		default:
			p.clock = at.clock
		}
	}
	d.words = len(layout)
	if p.year < 0 {
		d.stamp = p.lately(p.month, p.dom, now)
	} else {
		d.stamp = p.at(p.year, p.month, p.dom)
	}
	d.short = d.short && p.unit == 0
	return d
}

// numericDate reads a date in one word, "2006-01-02" or "02.01.2006", with or without a time of day, and the forms of GNU ls:
// "01-02 15:04", "2006-01-02 15:04:05.123456789 +0100". "01-02 2006" is of others.
func numericDate(all []word, parts [4]part, any bool, now time.Time) (d date) {
	f := strings.FieldsFunc(words().units.Replace(all[0].text), func(r rune) bool { return strings.ContainsRune("-/. ", r) })
	c := parts[1].clock
	switch {
	case len(f) == 2 && c.unit != 0:
		d = date{stamp: c.lately(monthOf(f[0]), number(f[1]), now), words: 2}
	case len(f) == 2 && parts[1].year >= 0:
		d = date{stamp: c.at(parts[1].year, monthOf(f[0]), number(f[1])), words: 2, short: parts[1].near}
	}
	if len(f) != 3 {
		return d.valid(any)
	}
	y, mon, dom := calendar(f[0], f[1], f[2], orderBy(all[0].text[len(f[0]):len(f[0])+1], unsure))
	if c.unit == 0 {
		return date{stamp: c.at(y, mon, dom), words: 1, short: true}.valid(any)
	}
	d = date{stamp: c.at(y, mon, dom), words: 2}.valid(any)
	if len(all) < 3 || c.unit >= time.Minute {
		return d
	}
	if zone, err := time.Parse("-0700", all[2].text); err == nil {
		_, offset := zone.Zone()
		d.t = d.t.Add(-time.Duration(offset) * time.Second)
		d.utc = true
		d.words = 3
	}
	return d
}

// valid returns d, or no date if there is no such day, unless any is set.
func (d date) valid(any bool) date {
	if d.unit == 0 && !any {
		return date{}
	}
	return d
}

package listing

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"
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
	if y := s.t.Year(); y >= 0 && y <= 9999 {
		item.Time = s.t
		item.Precision = s.unit
		item.UTC = s.utc
	}
}

// date returns a time of a day, or the day alone if clock is the zero stamp. It returns none if there is no such day.
func date(year, month, dayOfMonth int, clock stamp) stamp {
	t := time.Date(year, time.Month(month), dayOfMonth, 0, 0, 0, 0, time.UTC)
	if t.Day() != dayOfMonth || int(t.Month()) != month || t.IsZero() {
		return stamp{}
	}
	return stamp{t: t.Add(clock.t.Sub(clock.t.Truncate(day))), unit: cmp.Or(clock.unit, day)}
}

// setTime takes a day, and a time of that day if clockTime is not "". It returns false if there is no such time.
func (item *Item) setTime(year, month, dayOfMonth int, clockTime string) bool {
	c := clock(clockTime)
	s := date(year, month, dayOfMonth, c)
	if s.unit == 0 || c.unit == 0 && clockTime != "" {
		return false
	}
	s.on(item)
	return true
}

// recent returns the last such day, at time c, before now. A day is added to now, because the server's clock may be
// ahead and its time zone is not known.
func recent(month, dayOfMonth int, c stamp, now time.Time) stamp {
	limit := now.UTC().Add(day)
	for year := limit.Year(); year > limit.Year()-9; year-- { // two leap years are at most 8 years apart
		if s := date(year, month, dayOfMonth, c); s.unit > 0 && !s.t.After(limit) {
			return s
		}
	}
	return stamp{}
}

// clock reads "15:04", "15:04:05" or "15:04:05.123", and "3:04PM" or "3:04p".
func clock(text string) stamp {
	if !strings.Contains(text, ":") {
		return stamp{}
	}
	text = strings.ToUpper(text)
	if strings.HasSuffix(text, "A") || strings.HasSuffix(text, "P") {
		text += "M"
	}
	unit := time.Minute
	if strings.Count(text, ":") > 1 {
		unit = secondsIn(text)
	}
	for _, layout := range []string{"15:04", "3:04PM", "15:04:05", "3:04:05PM"} {
		if t, err := time.Parse(layout, text); err == nil {
			return stamp{t: t, unit: unit}
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

// monthNames are the abbreviations of the months in English, German, French, Spanish, Italian, Portuguese, Dutch and the
// Scandinavian languages, for each month, in lower case with a space on either side.
var monthNames = [12]string{
	" jan januar janv jän ene gen ",
	" feb fév févr fev ",
	" mar mär märz mrz mars mrt ",
	" apr april avr avril abr ",
	" may mai mei mag maj ",
	" jun june juni juin giu ",
	" jul july juli juil lug ",
	" aug août aoû ago ",
	" sep sept set ",
	" oct okt ott out ",
	" nov ",
	" dec dez déc dic des ",
}

// month returns the number of a month, from 1, or 0. "4月" is Chinese and Japanese.
func month(text string) int {
	if n, ok := strings.CutSuffix(text, "月"); ok {
		return max(0, min(number(n), 12))
	}
	name := " " + strings.TrimRight(strings.ToLower(text), ".,") + " "
	return 1 + slices.IndexFunc(monthNames[:], func(names string) bool { return strings.Contains(names, name) })
}

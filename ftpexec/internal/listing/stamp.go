package listing

import (
	"strconv"
	"strings"
	"time"
)

const day = 24 * time.Hour

// stamp is a time as a listing tells it.
type stamp struct {
	t    time.Time
	unit time.Duration // its precision
	utc  bool
}

func (s stamp) on(item *Item) { item.Time, item.Precision, item.UTC = s.t, s.unit, s.utc }

// date returns the day, or no stamp if there is no such day.
func date(year, month, dayOfMonth int) (stamp, bool) {
	t := time.Date(year, time.Month(month), dayOfMonth, 0, 0, 0, 0, time.UTC)
	ok := t.Day() == dayOfMonth && int(t.Month()) == month && !t.IsZero()
	return stamp{t: t, unit: day}, ok
}

// at adds a time of the day to the stamp of a day.
func (s stamp) at(c stamp) stamp {
	return stamp{t: s.t.Add(c.t.Sub(time.Time{})), unit: c.unit, utc: s.utc}
}

// recent returns the last such day, at time c, before now. A day is added to now, because the server's clock may be
// ahead and its time zone is not known.
func recent(month, dayOfMonth int, c stamp, now time.Time) (stamp, bool) {
	limit := now.UTC().Add(day)
	for year := limit.Year(); year > limit.Year()-9; year-- { // two leap years are at most 8 years apart
		if s, ok := date(year, month, dayOfMonth); ok && !s.at(c).t.After(limit) {
			return s.at(c), true
		}
	}
	return stamp{}, false
}

// clock reads "15:04", "15:04:05" or "15:04:05.123", and "3:04PM" or "3:04p".
func clock(text string) (stamp, bool) {
	text = strings.ToUpper(text)
	digits := strings.TrimRight(text, "APM")
	hour, rest, ok := strings.Cut(digits, ":")
	minute, second, seconds := strings.Cut(rest, ":")
	second, fraction, fractions := strings.Cut(second, ".")
	h, m := number(hour, 2), number(minute, 2)
	if len(digits) < len(text) {
		if h < 1 || h > 12 {
			return stamp{}, false
		}
		h %= 12
		if text[len(digits)] == 'P' {
			h += 12
		}
	}
	if !ok || len(minute) != 2 || h < 0 || h > 23 || m < 0 || m > 59 {
		return stamp{}, false
	}
	c := stamp{unit: time.Minute}
	c.t = c.t.Add(time.Duration(h)*time.Hour + time.Duration(m)*time.Minute)
	if seconds {
		s := number(second, 2)
		if s < 0 || s > 59 {
			return stamp{}, false
		}
		c.t, c.unit = c.t.Add(time.Duration(s)*time.Second), time.Second
	}
	if fractions {
		d, unit := parts(fraction)
		c.t, c.unit = c.t.Add(d), unit
	}
	return c, true
}

// number returns the value of 1 to most digits, or -1.
func number(text string, most int) int {
	if text == "" || len(text) > most || strings.Trim(text, "0123456789") != "" {
		return -1
	}
	n, _ := strconv.Atoi(text)
	return n
}

// year returns a year of four digits, or -1.
func year(text string) int {
	if len(text) != 4 {
		return -1
	}
	return number(text, 4)
}

// century returns the year that two to four digits mean: from 1970 on, and "103" for 2003, as some OS/2 servers write.
func century(text string) int {
	n := number(text, 4)
	switch {
	case len(text) == 2 && n < 70:
		return 2000 + n
	case len(text) < 4:
		return 1900 + n
	}
	return n
}

// monthNames are the abbreviations of the months in English, German, French, Spanish, Italian, Portuguese, Dutch and the
// Scandinavian languages, for each month, in lower case.
var monthNames = [12]string{
	"jan januar janv jän ene gen", "feb fév févr fev", "mar mär märz mrz mars mrt", "apr april avr avril abr", "may mai mei mag maj",
	"jun june juni juin giu", "jul july juli juil lug", "aug août aoû ago", "sep sept set", "oct okt ott out",
	"nov", "dec dez déc dic des",
}

var months = func() map[string]int {
	all := map[string]int{}
	for i, names := range monthNames {
		for _, name := range strings.Fields(names) {
			all[name] = i + 1
		}
	}
	return all
}()

// month returns the number of a month, from 1, or 0. "4月" is Chinese and Japanese.
func month(text string) int {
	if n, ok := strings.CutSuffix(text, "月"); ok {
		return max(0, min(number(n, 2), 12))
	}
	return months[strings.TrimRight(strings.ToLower(text), ".,")]
}

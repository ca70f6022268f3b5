package glob

import (
	"fmt"
	"strings"
	"time"

	"example.com/ftpfetch/internal/lazy"
)

// dates are the forms of the dates in a range such as {2026-11-01..2026-11-26}, and the step from one to the next.
var dates = []struct {
	form         string
	months, days int
}{
	{time.DateOnly, 0, 1}, {"20060102", 0, 1}, {"2006_01_02", 0, 1}, {"2006.01.02", 0, 1}, {"2006-01", 1, 0},
}

// dateRange matches what others write for a range of dates, but which is a set of characters here.
var dateRange = lazy.Regexp(`\[(\d{4}([-_.])\d\d(?:[-_.]\d\d)?)(?:-|\.\.)(\d{4}[-_.]\d\d(?:[-_.]\d\d)?)\]`)

// numeral and letter match the ends of ranges that brackets can name.
var numeral, letter = lazy.Regexp(`^\d+$`), lazy.Regexp(`^[A-Za-z]$`)

// dotted returns the dates of a range in braces: each day or month that there is. text is the range for messages, and
// inside what is between its braces.
func dotted(text, inside string) ([]string, error) {
	from, to, _ := strings.Cut(inside, "..")
	to, by, stepped := strings.Cut(to, "..")
	step := 1
	if stepped {
		if step = number(by); step == 0 {
			return nil, fmt.Errorf("the range %s has no step: write a whole number from 1 after the last ..", text)
		}
	}
	for _, d := range dates {
		first, err := time.Parse(d.form, from)
		last, lerr := time.Parse(d.form, to)
		switch {
		case err == nil && lerr == nil && (d.form != "20060102" || plausible(first) && plausible(last)):
			return each(text, d.form, first, last, d.months*step, d.days*step)
		case impossible(err) && !numeral().MatchString(from):
			return nil, fmt.Errorf("the range %s: there is no %s", text, from)
		case impossible(lerr) && !numeral().MatchString(to):
			return nil, fmt.Errorf("the range %s: there is no %s", text, to)
		}
	}
	numbers := numeral().MatchString(from) && numeral().MatchString(to)
	if numbers && stepped {
		by = ":" + by
	}
	if numbers || !stepped && letter().MatchString(from) && letter().MatchString(to) {
		return nil, fmt.Errorf("%s is no range of days: write [%s-%s%s]", text, from, to, by)
	}
	return nil, fmt.Errorf("%s is no list: write {a,b}, [1-20], or days or months such as "+
		"{2026-11-01..2026-11-26} and {2026-01..2026-11}", text)
}

// number returns a step, or 0 if the text is none.
func number(text string) (n int) {
	if len(text) > len("99999") || !numeral().MatchString(text) {
		return 0
	}
	_, _ = fmt.Sscan(text, &n)
	return n
}

// plausible reports whether eight digits are a date rather than another number.
func plausible(t time.Time) bool { return t.Year() >= 1800 && t.Year() < 2200 }

// impossible reports whether an error says that a date has the right form, but that there is no such day.
func impossible(err error) bool { return err != nil && strings.Contains(err.Error(), "out of range") }

// each returns the dates from first to last.
func each(text, form string, first, last time.Time, months, days int) (all []string, err error) {
	switch {
	case last.Before(first):
		return nil, fmt.Errorf("the range %s is none: write {%s..%s}", text, last.Format(form), first.Format(form))
	case last.Sub(first) >= mostChoices*24*time.Hour:
		return nil, tooMany(text)
	}
	for t := first; !t.After(last); t = t.AddDate(0, months, days) {
		all = append(all, t.Format(form))
	}
	return all, nil
}

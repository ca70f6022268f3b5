package glob

import (
	"errors"
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
	for _, d := range dates {
		first, err := time.Parse(d.form, from)
		last, lerr := time.Parse(d.form, to)
		step := 1
		if stepped {
			step = number(by)
		}
		switch {
		case err == nil && lerr == nil && (d.form != "20060102" || plausible(first) && plausible(last)):
			return each(text, d.form, first, last, d.months*step, d.days*step)
		case impossible(from, err):
			return nil, fmt.Errorf("the range %s: there is no %s", text, from)
		case impossible(to, lerr):
			return nil, fmt.Errorf("the range %s: there is no %s", text, to)
		}
	}
	return nil, errors.New(text + instead(from, to, by))
}

// instead says what to write in place of a range in braces that is not one of dates.
func instead(from, to, by string) string {
	numbers := numeral().MatchString(from) && numeral().MatchString(to)
	letters := letter().MatchString(from) && letter().MatchString(to)
	switch {
	case numbers && by != "":
		return fmt.Sprintf(" is no range of days: write [%s-%s:%s]", from, to, by)
	case numbers, letters && by == "":
		return fmt.Sprintf(" is no range of days: write [%s-%s]", from, to)
	}
	return " is no list: write {a,b}, [1-20], or days or months such as " +
		"{2026-11-01..2026-11-26} and {2026-01..2026-11}"
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

// impossible reports whether a text has the form of a date, by the error of parsing it, but there is no such day. Digits
// alone may be a number.
func impossible(text string, err error) bool {
	return err != nil && strings.Contains(err.Error(), "out of range") && !numeral().MatchString(text)
}

// each returns the dates from first to last.
func each(text, form string, first, last time.Time, months, days int) (all []string, err error) {
	switch {
	case months+days == 0:
		return nil, fmt.Errorf("the range %s has no step: write a whole number from 1 behind it", text)
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

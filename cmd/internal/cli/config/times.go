package config

import (
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"

	"example.com/ftpfetch/cmd/internal/mirror"
	"example.com/ftpfetch/internal/lazy"
)

// readNewer reads how old files may be, or since when they have changed.
func (l *line) readNewer(s string) (err error) {
	l.MaxAge, l.NewerThan, l.Since, err = readSince(s)
	return err
}

// readMinAge reads how old files must be, or since when they have not changed.
func (l *line) readMinAge(s string) (err error) {
	l.MinAge, l.OlderThan, l.Before, err = readSince(s)
	return err
}

// readSince reads an age, a moment, or the word for a day. A moment is in UTC unless it names a zone.
func readSince(s string) (age time.Duration, at time.Time, day string, err error) {
	if s == "today" || s == "yesterday" {
		return 0, at, s, nil
	}
	if day, err := time.Parse("20060102", s); err == nil { // not so many seconds
		return 0, at, "", fmt.Errorf("write %s for the day, or %ss", day.Format(time.DateOnly), s)
	}
	if m := ago().FindStringSubmatch(s); m != nil {
		n, _ := strconv.Atoi(m[1])
		return time.Duration(n) * units[m[2]], at, "", nil
	}
	age, err = readTime(s)
	if err != nil {
		at, err = readMoment(s)
	}
	return age, at, "", err
}

// ago matches an age in words, as date(1) and lftp read it.
var ago = lazy.Regexp(`^([1-9][0-9]{0,3}) ?(minute|hour|day|week|w)s?( ago)?$`)

var units = map[string]time.Duration{
	"minute": time.Minute, "hour": time.Hour, "day": 24 * time.Hour, "week": 7 * 24 * time.Hour,
	"w": 7 * 24 * time.Hour,
}

// readMoment reads a time, in UTC unless it names a zone. If s names a file, it takes the file's time.
func readMoment(s string) (time.Time, error) {
	for _, form := range []string{
		time.RFC3339, "2006-01-02T15:04", "2006-01-02T15:04:05", "2006-01-02 15:04", time.DateTime, time.DateOnly,
	} {
		if t, err := time.Parse(form, s); err == nil {
			return t, nil
		}
	}
	info, err := os.Stat(s)
	if err != nil {
		return time.Time{}, errors.New("write a time such as 1h, 7d, today, yesterday, 2026-11-28 or " +
			"2026-11-28T12:00:00Z, or the name of a file")
	}
	return info.ModTime(), nil
}

// FilterAt returns the filter of a look at this time. The words for days and MaxAge mean something else at each look.
func (c *Config) FilterAt(now time.Time) mirror.Filter {
	f := c.Filter
	if c.MaxAge > 0 {
		f.NewerThan = now.Add(-c.MaxAge)
	}
	if c.Since != "" {
		f.NewerThan = midnight(c.Since, now)
	}
	if c.Before != "" {
		f.OlderThan = midnight(c.Before, now)
	}
	return f
}

// midnight returns when the day began that is called today or yesterday now, in UTC.
func midnight(day string, now time.Time) time.Time {
	today := now.UTC().Truncate(24 * time.Hour)
	if day == "yesterday" {
		return today.Add(-24 * time.Hour)
	}
	return today
}

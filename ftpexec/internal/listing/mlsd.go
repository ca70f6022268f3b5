package listing

import (
	"cmp"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MLSD reads a line of MLSD, "fact=value;fact=value; name" (RFC 3659 section 7.2). Names of facts, and the values of
// type, are case-insensitive. Exactly one space separates the facts from the name, which may contain anything.
func MLSD(line string) (Item, error) {
	facts, name, ok := cutFacts(line)
	if !ok {
		return Item{}, ErrUnknown
	}
	item := Item{Name: name, Size: -1, Mode: fs.ModeIrregular}
	for _, fact := range strings.Split(facts, ";") {
		key, value, found := strings.Cut(fact, "=")
		switch {
		case !found && fact != "":
			return Item{}, ErrUnknown
		case found && !item.learn(strings.ToLower(key), value):
			return Item{}, ErrNoEntry
		}
	}
	return named(item)
}

// cutFacts splits a line after "; ", or at its first space if the server leaves out the last semicolon. A line that
// begins with a space has no facts.
func cutFacts(line string) (facts, name string, ok bool) {
	if name, ok = strings.CutPrefix(line, " "); ok {
		return "", name, true
	}
	if facts, name, ok = strings.Cut(line, "; "); ok {
		return facts, name, true
	}
	return strings.Cut(line, " ")
}

// learn takes a fact (RFC 3659 section 7.5; UNIX.mode is in common use). It returns false if the line is about the
// directory itself or its parent.
func (item *Item) learn(key, value string) bool {
	switch key {
	case "type":
		kind := strings.ToLower(value)
		if kind == "cdir" || kind == "pdir" {
			return false
		}
		item.Mode = item.Mode&^fs.ModeType | typeOf(kind)
		if item.Target = ""; item.Mode&fs.ModeSymlink != 0 {
			_, item.Target, _ = strings.Cut(value, ":")
		}
	case "size":
		item.Size = size(value)
	case "modify":
		if t, err := time.Parse("20060102150405", value); err == nil && !t.IsZero() { // with or without a fraction (RFC 3659 section 2.3)
			stamp{t, secondsIn(value), true}.on(item)
		}
	case "unique":
		item.Unique = value
	case "unix.mode":
		item.setPermissions(value)
	}
	return true
}

// typeOf returns the type bits for a value of the fact type, in lower case. RFC 3659 section 7.5.1 leaves the types of
// systems to them; its examples and erratum 1500 show those for Unix.
func typeOf(kind string) fs.FileMode {
	switch kind {
	case "file":
		return 0
	case "dir":
		return fs.ModeDir
	}
	for prefix, mode := range map[string]fs.FileMode{
		"os.unix=slink": fs.ModeSymlink, "os.unix=symlink": fs.ModeSymlink,
		"os.unix=chr": fs.ModeDevice | fs.ModeCharDevice, "os.unix=blk": fs.ModeDevice,
		"os.unix=fifo": fs.ModeNamedPipe, "os.unix=pipe": fs.ModeNamedPipe, "os.unix=sock": fs.ModeSocket,
	} {
		if strings.HasPrefix(kind, prefix) {
			return mode
		}
	}
	return fs.ModeIrregular
}

// setPermissions takes the twelve bits of a Unix mode in octal digits.
func (item *Item) setPermissions(octal string) {
	if bits, err := strconv.ParseUint(octal, 8, 12); err == nil {
		item.Mode, item.HasPerm = item.Mode&fs.ModeType|permissions(bits), true
	}
}

// permissions returns the twelve bits of a Unix mode as a FileMode.
func permissions(bits uint64) fs.FileMode {
	mode := fs.FileMode(bits & 0o777)
	for bit, special := range map[uint64]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if bits&bit != 0 {
			mode |= special
		}
	}
	return mode
}

// size returns a size in bytes, or -1 if it is not a number.
func size(text string) int64 {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return -1
	}
	return int64(n)
}

const day = 24 * time.Hour

// stamp is a time. The zero stamp is none.
type stamp struct {
	t    time.Time
	unit time.Duration // its precision; 0 if there is no time
	utc  bool
}

// on sets the time of item, unless it is in a year that no journal and no JSON can have (RFC 3339 section 5.6).
func (s stamp) on(item *Item) {
	if y := s.t.Year(); y >= 0 && y <= 9999 {
		item.Time, item.Precision, item.UTC = s.t, s.unit, s.utc
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
	ok := s.unit > 0 && (c.unit > 0 || clockTime == "")
	if ok {
		s.on(item)
	}
	return ok
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
	for layout, unit := range map[string]time.Duration{"15:04": time.Minute, "3:04PM": time.Minute, "15:04:05": secondsIn(text), "3:04:05PM": secondsIn(text)} {
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
	" jan januar janv jän ene gen ", " feb fév févr fev ", " mar mär märz mrz mars mrt ", " apr april avr avril abr ", " may mai mei mag maj ",
	" jun june juni juin giu ", " jul july juli juil lug ", " aug août aoû ago ", " sep sept set ", " oct okt ott out ", " nov ", " dec dez déc dic des ",
}

// month returns the number of a month, from 1, or 0. "4月" is Chinese and Japanese.
func month(text string) int {
	if n, ok := strings.CutSuffix(text, "月"); ok {
		return max(0, min(number(n), 12))
	}
	name := " " + strings.TrimRight(strings.ToLower(text), ".,") + " "
	return 1 + slices.IndexFunc(monthNames[:], func(names string) bool { return strings.Contains(names, name) })
}

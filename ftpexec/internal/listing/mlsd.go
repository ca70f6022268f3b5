package listing

import (
	"io/fs"
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
	for fact := range strings.SplitSeq(facts, ";") {
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

// learn records a fact (RFC 3659 section 7.5; UNIX.mode is in common use). It returns false if the line is about the
// directory itself or its parent.
func (item *Item) learn(key, value string) bool {
	switch key {
	case "type":
		kind := strings.ToLower(value)
		if kind == "cdir" || kind == "pdir" {
			return false
		}
		item.setType(kind, value)
	case "size":
		item.Size = size(value)
	case "modify":
		item.setTime(value)
	case "unique":
		item.Unique = value
	case "unix.mode":
		item.setPermissions(value)
	}
	return true
}

// setType records the fact type; kind is value in lower case.
func (item *Item) setType(kind, value string) {
	item.Mode = item.Mode&^fs.ModeType | typeOf(kind)
	item.Target = ""
	if item.Mode&fs.ModeSymlink != 0 {
		_, item.Target, _ = strings.Cut(value, ":")
	}
}

// setTime records a time of RFC 3659 section 2.3, with or without a fraction, which time.Parse accepts too.
func (item *Item) setTime(value string) {
	if t, ok := TimeVal(value); ok && !t.IsZero() {
		stamp{t: t, unit: secondsIn(value), utc: true}.on(item)
	}
}

// TimeVal reads a time of RFC 3659 section 2.3: YYYYMMDDHHMMSS in UTC, with or without a fraction. The second 60, a leap
// second, is the one after 59.
func TimeVal(value string) (time.Time, bool) {
	const seconds = len("20060102150405") - 2
	leap := len(value) >= seconds+2 && value[seconds:seconds+2] == "60"
	if leap {
		value = value[:seconds] + "59" + value[seconds+2:]
	}
	t, err := time.Parse("20060102150405", value)
	if leap {
		t = t.Add(time.Second)
	}
	return t, err == nil
}

// typeOf returns the type bits for a value of the fact type, in lower case. RFC 3659 section 7.5.1 leaves
// system-specific types to the systems; its examples and erratum 1500 show the types of Unix.
func typeOf(kind string) fs.FileMode {
	switch kind {
	case "file":
		return 0
	case "dir":
		return fs.ModeDir
	}
	for prefix, mode := range map[string]fs.FileMode{
		"os.unix=slink":   fs.ModeSymlink,
		"os.unix=symlink": fs.ModeSymlink,
		"os.unix=chr":     fs.ModeDevice | fs.ModeCharDevice,
		"os.unix=blk":     fs.ModeDevice,
		"os.unix=fifo":    fs.ModeNamedPipe,
		"os.unix=pipe":    fs.ModeNamedPipe,
		"os.unix=sock":    fs.ModeSocket,
	} {
		if strings.HasPrefix(kind, prefix) {
			return mode
		}
	}
	return fs.ModeIrregular
}

// setPermissions records the twelve bits of a Unix mode in octal digits.
func (item *Item) setPermissions(octal string) {
	if bits, err := strconv.ParseUint(octal, 8, 12); err == nil {
		item.Mode = item.Mode&fs.ModeType | permissions(bits)
		item.HasPerm = true
	}
}

// permissions returns the twelve bits of a Unix mode as a FileMode.
func permissions(bits uint64) fs.FileMode {
	mode := fs.FileMode(bits & 0o777)
	for i, special := range []fs.FileMode{fs.ModeSticky, fs.ModeSetgid, fs.ModeSetuid} {
		if bits&(0o1000<<i) != 0 {
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

package config

import (
	"slices"
	"strings"

	"example.com/ftpfetch/internal/lazy"
)

// letters reads flags with one dash. It does not take another program's flags for ours: read as -n -c, wget's -nc would
// write into the very file that it must leave alone. It never shows what follows an unknown letter, which may be a
// password.
func (l *line) letters(text string) {
	name, value, given := strings.Cut(text, "=")
	for _, f := range l.flags { // with or without its inner dashes: -dryrun is not -d ryrun
		if strings.ReplaceAll(f.name, "-", "") == strings.ReplaceAll(name, "-", "") {
			l.complain("-%s has one dash: write --%s", name, f.name)
			l.setTyped(f, value, given)
			return
		}
	}
	if len(name) > 2 && isHabit("--"+name) { // -mirror is not -i rror
		l.complain("-%s has one dash", name)
		l.long(text)
		return
	}
	if l.ls(text) {
		return
	}
	both := strings.Contains(text, "i") && strings.Contains(text, "n")
	if both && ofFTP().MatchString(text) && !urlStart().MatchString(l.peek()) {
		l.complain("-%s is a flag of ftp, to which commands are sent: write ftp://host/path/file", text)
		l.unknown = true
		l.incomplete = true
		return
	}
	if lastBytes().MatchString(text) {
		l.complain("-%s: --range takes A-B, or A- for all from byte A on; -I tells the size", text)
		l.unknown = true
		l.incomplete = true
		return
	}
	for text != "" {
		text = l.letter(text)
	}
}

var (
	ftpCommand = lazy.Regexp(`^[-*+]?[A-Z]{3,4}\b`) // as curl's -Q sends it
	lastBytes  = lazy.Regexp(`^[0-9]{2,}$`)         // of curl's -r -500
)

// ls reads the letters of ls(1): -l with others, some of which are no flags here. The letter r reverses the order.
func (l *line) ls(letters string) bool {
	has := func(some string) bool { return strings.ContainsAny(letters, some) }
	if !has("l") && l.verb != "ls" || !has("aAtSR") || strings.Trim(letters, "laAtSRrh1") != "" {
		return false
	}
	set := func(flag, value string) { _ = l.parser.Set(flag, value) }
	switch {
	case has("t"):
		set("sort", "time")
	case has("S"):
		set("sort", "size")
	case has("r"):
		set("sort", "name")
	}
	if has("R") {
		set("info", "true")
		set("recursive", "true")
		l.Long = false
	} else {
		set("long", "true")
	}
	l.Human = l.Human || has("h")
	l.Reverse = has("r")
	l.right = slices.DeleteFunc(l.right, func(word string) bool { return word == "-l" })
	l.add("-l" + strings.NewReplacer("l", "", "1", "").Replace(letters))
	return true
}

// ofFTP matches the flags with which scripts call ftp(1).
var ofFTP = lazy.Regexp(`^[ginpv]*[gnpv]$`)

// ofWget matches the flags of wget that are two letters.
var ofWget = lazy.Regexp(`^n[cdHpv]`)

// letter reads the flag that text begins with, and returns the letters that are left.
func (l *line) letter(text string) (rest string) {
	n := 1
	if ofWget().MatchString(text) {
		n = 2
	}
	spelling, rest := "-"+text[:n], text[n:]
	if l.translateLetter(spelling, rest) {
		return ""
	}
	f := l.lookup(spelling)
	if f == nil {
		l.complainUnknown(spelling)
		if spelling == "-Q" && ftpCommand().MatchString(l.peek()) { // its value may begin with "-"
			l.next()
		}
		return ""
	}
	value := strings.TrimPrefix(rest, "=")
	if !f.bare() {
		l.setTyped(f, value, rest != "")
		return ""
	}
	if takesNumber(spelling, rest) || rest == "" && takesNumber(spelling, l.peek()) {
		l.complain("%s takes no value here", spelling)
		l.unknown = true
		l.incomplete = true
		return ""
	}
	l.setTyped(f, value, value != rest)
	if value != rest {
		return ""
	}
	return rest
}

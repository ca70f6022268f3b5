package config

import (
	"cmp"
	"slices"
	"strings"
)

// letters reads flags with one dash. It does not take another program's flags for ours: read as -n -c, wget's -nc would
// write into the very file that it must leave alone. It never shows what follows an unknown letter, which may be a
// password.
func (r *reader) letters(text string) {
	name, value, given := strings.Cut(text, "=")
	for _, f := range flags() { // with or without its inner dashes: -dryrun is not -d ryrun
		if strings.ReplaceAll(f.name, "-", "") == strings.ReplaceAll(name, "-", "") {
			r.complain("-%s has one dash: write --%s", name, f.name)
			r.own(f, value, given)
			return
		}
	}
	if len(name) > 2 && abroad("--"+name) != nil { // -mirror is not -i rror
		r.complain("-%s has one dash", name)
		r.long(text)
		return
	}
	if r.ls(text) {
		return
	}
	for text != "" {
		text = r.letter(text)
	}
}

// ls reads the letters of ls(1): -l with others, some of which are no flags here. The letter r reverses the order.
func (r *reader) ls(letters string) bool {
	has := func(some string) bool { return strings.ContainsAny(letters, some) }
	if !has("l") || !has("aAtSR") || strings.Trim(letters, "laAtSRrh") != "" {
		return false
	}
	set := func(flag, value string) { _ = r.all.Set(flag, value) }
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
	} else {
		set("long", "true")
	}
	r.Human = r.Human || has("h")
	r.Reverse = has("r")
	r.right = slices.DeleteFunc(r.right, func(word string) bool { return word == "-l" })
	r.add("-" + letters)
	return true
}

// letter reads the flag that text begins with, and returns the letters that are left.
func (r *reader) letter(text string) string {
	r.short = true
	letters := first(text)
	text = text[len(letters)-1:]
	value := strings.TrimPrefix(text, "=")
	found := abroad(letters)
	own := lookup(letters)
	switch {
	case own == nil && same(found):
		r.before(text)
		r.put(found[0], "")
		return ""
	case own == nil && r.take(found, text):
		return ""
	case own == nil:
		r.complain("unknown flag %s%s", letters, because(": ", found))
	case found == nil || own.mayTake(value) && !r.theirs(letters):
		given := text != "" && (!own.bare || text != value || numberFor(found, text))
		r.own(own, value, given)
		if given {
			return ""
		}
		return text
	case own.mayTake(value):
		r.complain("%s means something else here%s", letters, because(": ", found))
	default:
		r.complain("%s takes a number here%s", letters, because(": ", found))
	}
	r.letterOf(found, text)
	return ""
}

// letterOf replaces a letter of other programs by its counterpart here. text is what follows it in the argument.
func (r *reader) letterOf(found []foreign, text string) {
	f, known := of(r.program, found, cmp.Or(text, r.peek()))
	given := text != "" && (f.value != "" || fits("N", text)) // a number is a value, not the flag -4
	if known && !given {
		r.before(text)
	}
	r.swap(found, strings.TrimPrefix(text, "="), given)
}

// before puts the remaining letters in front of the other arguments. What is put later goes before them.
func (r *reader) before(letters string) {
	if letters != "" {
		r.args = slices.Insert(r.args, 0, "-"+letters)
	}
}

// same reports whether a flag has the same meaning in all programs and takes no value.
func same(found []foreign) bool {
	return len(found) == 1 && found[0].sure && found[0].value == ""
}

// theirs reports whether a letter of ours belongs to a command of lftp, or is rsync's -n, which fetches nothing.
func (r *reader) theirs(letter string) bool {
	return r.command && slices.Contains([]string{"-i", "-I", "-n"}, letter) ||
		r.program == "rsync" && r.known > 0 && letter == "-n"
}

// mayTake reports whether value may be meant for this flag rather than for the same letter of another program.
func (f *flag) mayTake(value string) bool {
	return f.value != "N" || value == "" || value == "auto" || fits("N", value)
}

// first returns the first of several flags after one dash: a letter, or a pair such as wget's -nc.
func first(text string) string {
	if len(text) > 1 && text[0] == 'n' && abroad("-"+text[:2]) != nil {
		return "-" + text[:2]
	}
	return "-" + text[:1]
}

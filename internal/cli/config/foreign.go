package config

import (
	_ "embed"
	"slices"
	"strings"
)

// habits is the one table of other programs' flags.
//
//go:embed habits.txt
var habits string

// foreign is what some programs mean by a flag.
type foreign struct {
	programs []string // none for "any"
	value    string   // what stands for its value, or ""
	answer   string   // what to write, for people
	write    []string // the same word by word
	none     bool     // nothing does that here
}

// abroad returns what programs mean by a flag, whose name has its dashes.
func abroad(name string) (found []foreign) {
	for row := range strings.SplitSeq(habits, "\n") {
		flags, means, ok := strings.Cut(row, " = ")
		if !ok || !slices.Contains(strings.Fields(flags), name) {
			continue
		}
		for one := range strings.SplitSeq(means, " | ") {
			found = append(found, meaning(one))
		}
	}
	return found
}

func meaning(text string) (f foreign) {
	whose, answer, _ := strings.Cut(text, ": ")
	for name := range strings.FieldsSeq(strings.ReplaceAll(whose, ",", "")) {
		switch {
		case name == strings.ToUpper(name):
			f.value = name
		case name != "any":
			f.programs = append(f.programs, name)
		}
	}
	write, _, _ := strings.Cut(answer, " (")
	switch write {
	case "no":
		f.none, f.answer = true, strings.Replace(answer, "no", "nothing does that here", 1)
	case "drop":
		f.answer = strings.Replace(answer, "drop", "leave it out", 1)
	default:
		f.write, f.answer = strings.Fields(write), "write "+answer
	}
	return f
}

// of returns what program means by the flag; of several programs' flags none is that of program "".
func of(program string, found []foreign) (foreign, bool) {
	i := slices.IndexFunc(found, func(f foreign) bool { return f.programs == nil || slices.Contains(f.programs, program) })
	if i < 0 {
		return foreign{}, false
	}
	return found[i], true
}

// because says, after the text before, what to write for a flag, to the users of each program that has it.
func because(before string, found []foreign) string {
	text := ""
	for _, f := range found {
		if text += before; f.programs != nil {
			text += "for " + strings.Join(f.programs, "'s and ") + "'s "
		}
		text, before = text+f.answer, "; "
	}
	return text
}

// numberFor reports whether text is a number that one of the flags may have.
func numberFor(found []foreign, text string) bool {
	return number().MatchString(text) && slices.ContainsFunc(found, func(f foreign) bool { return f.value != "" && fits(f.value, text) })
}

// fits reports whether text may be the value that stands for placeholder.
func fits(placeholder, text string) bool {
	digits := text != "" && text[0] >= '0' && text[0] <= '9'
	switch placeholder {
	case "N", "TIME", "RATE", "SIZE":
		return digits || text == "-" || text == "inf"
	case "RANGE":
		return digits || strings.HasPrefix(text, "-")
	case "FILE", "DIR":
		return !digits && (text != "-" || placeholder == "FILE")
	case "URL", "ADDR":
		return strings.ContainsAny(text, ":.") || text == "-"
	}
	return true
}

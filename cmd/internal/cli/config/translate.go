package config

import (
	"os"
	"slices"
	"strings"

	"example.com/ftpfetch/internal/lazy"
)

func (h *habit) has(spelling string) bool {
	return slices.Contains(strings.Fields(h.spelling), spelling)
}

// isHabit reports whether a program has a flag or a command that is spelled so.
func isHabit(spelling string) bool {
	return slices.ContainsFunc(habits, func(h habit) bool { return h.has(spelling) })
}

// takesNumber reports whether a program has a flag that is spelled so, and the value is a number for it.
func takesNumber(spelling, value string) bool {
	return number().MatchString(value) && slices.ContainsFunc(habits, func(h habit) bool {
		return h.has(spelling) && h.value != "" && fits(h.value, value)
	})
}

// habitsOf returns the rows of a flag for the program that the line is read for, its own before those for all.
func (l *line) habitsOf(spelling string) []habit {
	var own, common []habit
	for _, h := range habits {
		switch {
		case !h.has(spelling):
		case h.program == "", h.program == "any" && l.program != "":
			common = append(common, h)
		case h.program == l.program:
			own = append(own, h)
		}
	}
	return append(own, common...)
}

// translate replaces a flag of the program by ours, if what follows the flag fits. value is what follows it in the same
// argument, if it is given there.
func (l *line) translate(spelling, value string, given bool) bool {
	for _, h := range l.habitsOf(spelling) {
		switch {
		case h.value == "" && (!given || value == "true" && l.program != "curl") && l.mayLackValue(spelling):
			return l.apply(h, spelling, "")
		case h.value != "" && given && fits(h.value, value):
			return l.apply(h, spelling, value)
		case h.value != "" && !given && l.hasValue(h):
			return l.apply(h, spelling, l.next())
		}
	}
	return false
}

// meaning says what is written here for a flag of other programs whose value is missing or does not fit, if all of them
// mean the same by it.
func (l *line) meaning(spelling, value string, given bool) string {
	var rows []habit
	for _, h := range habits {
		if h.has(spelling) {
			rows = append(rows, h)
		}
	}
	if len(rows) != 1 || rows[0].value == "" || rows[0].write == "" {
		return ""
	}
	if !given && !l.ends() {
		value = l.peek()
	}
	if fits(rows[0].value, value) && (given || !l.ends()) {
		return ""
	}
	return ": perhaps " + rows[0].write
}

// translateLetter does the same for a letter. Letters that follow it are its value or further flags.
func (l *line) translateLetter(spelling, rest string) bool {
	if rest == "" {
		return l.translate(spelling, "", false)
	}
	value := strings.TrimPrefix(rest, "=")
	for _, h := range l.habitsOf(spelling) {
		// not flags
		long := len(value) > 2 || amount().MatchString(value) && l.program != "" || value == "-"
		switch {
		case h.value != "" && long && fits(h.value, value):
			return l.apply(h, spelling, value)
		case h.value == "" && !takesNumber(spelling, value) && (l.program != "" || !takesValue(spelling)):
			l.args = slices.Insert(l.args, 0, "-"+rest)
			return l.apply(h, spelling, "")
		}
	}
	return false
}

// mayLackValue reports whether a flag has no value here: because no program gives it one, or because none can follow.
func (l *line) mayLackValue(spelling string) bool {
	return l.program != "" || l.ends() || !takesValue(spelling)
}

// takesValue reports whether some program gives the flag a value.
func takesValue(spelling string) bool {
	return slices.ContainsFunc(habits, func(h habit) bool { return h.value != "" && h.has(spelling) })
}

// hasValue reports whether the next argument is the value of the flag, and not the only URL of a command without lists.
func (l *line) hasValue(h habit) bool {
	isURL := urlStart().MatchString(l.peek())
	free := !l.ends() || h.value == "URL" && isURL
	return free && (l.hasList() || len(l.args)+len(l.operands) > 1) && fits(h.value, l.peek())
}

// apply sets our flags in place of the program's.
func (l *line) apply(h habit, spelling, value string) bool {
	if here := values[h.value].here; here != nil {
		value = here(value)
	}
	words := strings.Fields(h.write)
	for i, word := range words {
		before, ends := strings.CutSuffix(word, h.value)
		if h.value != "" && ends {
			words[i] = before + value
		}
	}
	for i := 0; i < len(words); i++ {
		name, text, given := strings.Cut(words[i], "=")
		f := l.lookup(name)
		if !f.bare() {
			i++
			text = words[i]
			given = true
		}
		l.setFlag(f, text, given)
	}
	if loss := lossOf(h, spelling); loss != "" {
		l.losses = append(l.losses, loss)
	}
	l.compares = l.compares || h.write == "--check"
	l.specific = l.specific || h.program == l.program && h.program != ""
	return true
}

// isCommand reports whether a word in place of the first URL may be meant as a command: a program has it, or the line
// begins with it, it names no file, and a URL follows.
func (l *line) isCommand(word string) bool {
	switch {
	case isHabit(word):
		return true
	case l.right != nil || l.wrong != nil || !plainWord().MatchString(word):
		return false
	}
	_, err := os.Stat(word)
	return err != nil && slices.ContainsFunc(l.args, urlStart().MatchString)
}

var plainWord = lazy.Regexp(`^[a-z][a-z0-9]{2,}$`)

// command reads a word that is a command of other programs, where a URL should stand.
func (l *line) command(word string) {
	l.complain("%s is not a command: write flags and URLs", word)
	l.unknown = true
	l.verb = word
	if l.program == "" || !l.translate(word, "", false) {
		l.incomplete = true
	}
}

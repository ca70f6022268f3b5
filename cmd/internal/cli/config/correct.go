package config

import (
	_ "embed"
	"os"
	"regexp"
	"slices"
	"strings"

	"example.com/ftpfetch/internal/lazy"
)

// correct says what is wrong with args and what to write instead. It assumes the program whose flags they most likely
// are. Among equals it prefers the first that yields a whole command, or else the first in the list.
func correct(args []string) error {
	var best *Error
	most := -1
	programs := []string{"wget", "curl", "aria2", "lftp", "rsync", "rclone", "ncftp"}
	for _, one := range [][2]string{{"-l", "ls"}, {"-R", "ncftp"}} {
		if slices.Contains(args, one[0]) {
			programs = slices.Insert(programs, 0, one[1])
		}
	}
	for _, program := range programs {
		r := read(args, program)
		command, refused := r.whole()
		e := &Error{Lines: append(slices.Compact(r.wrong), refused...), Whole: command != ""}
		if e.Whole {
			e.Lines = append(e.Lines, "as one command: "+command)
		}
		if r.known > most || r.known == most && !best.Whole && e.Whole {
			best = e
			most = r.known
		}
	}
	return best
}

// whole returns the corrected command, or "" if it is not known, and what still contradicts itself in it.
func (r *reader) whole() (text string, refused []string) {
	r.settle()
	refused = r.refused()
	if r.lost {
		return "", refused
	}
	switch {
	case !slices.ContainsFunc(r.Targets, func(t Target) bool { return t.Err != nil }):
	case r.command || r.program == "rsync": // rsync's users name a place at the end
		return "", []string{
			"not every argument is a URL: write -d DIR before a directory, and -o FILE before a new name",
		}
	default:
		return "", nil // the mistakes follow from a wrong guess
	}
	if refused != nil {
		return "", refused
	}
	return "ftpfetch" + r.written(), nil
}

// written returns the words of the corrected command, quoted for a shell, each after a space. It shows no password.
func (r *reader) written() (text string) {
	for i, word := range r.right {
		if i > 0 && r.right[i-1] == "-u" { // no password is shown
			word, _, _ = strings.Cut(word, ":")
		}
		u, err := r.parseURL(word)
		switch {
		case err == nil:
			word = u.Redacted()
		case strings.Contains(word, "@"):
			word = "URL"
		}
		if !plain().MatchString(word) {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		text += " " + word
	}
	return text
}

var (
	urlStart = lazy.Regexp(`(?i)^["'<]*(url:)?(ftp|ftps|ftpes|https?|sftp)://`)
	number   = lazy.Regexp(`^(-?[0-9][0-9-]*|inf)$`)                // the value of another program's flag, or a range
	aPath    = lazy.Regexp(`^([^:@/]*/?|[.]{0,2}/.*|[^:@/.]+/.*)$`) // rather than a host with a path
	plain    = lazy.Regexp(`^[A-Za-z0-9_%+=:,./@-]+$`)              // what needs no quotes in a shell
)

// badValue returns the message about a flag's bad value. It does not show a value that may hold a password.
func badValue(flag, value string, why error) string {
	text := why.Error()
	if slices.Contains([]string{"base", "proxy", "user"}, flag) {
		return "--" + flag + ": " + text
	}
	if strings.HasPrefix(text, "strconv.") {
		text = "write --" + flag + " or --" + flag + "=false" // the library's words are for programmers
	}
	return "--" + flag + " " + shown(value) + ": " + text
}

// shown returns what a message shows in place of a value. A value that looks like a URL may hold a password.
func shown(value string) string {
	switch {
	case value == "":
		return `""`
	case strings.Contains(value, "//"), strings.Contains(value, "@"):
		return "URL"
	}
	return value
}

// closest returns the flag that name most likely misspells or abbreviates, or nil. One letter in four may be missing,
// extra or out of place.
func closest(name string) (best *flag) {
	if len(name) < 3 {
		return nil
	}
	var begin []*flag
	least := max(1, len(name)/4) + 1
	for _, f := range flags() {
		if strings.HasPrefix(name, "no-") && !strings.HasPrefix(f.name, "no-") { // a prefix that reverses the meaning
			continue
		}
		for ; within(least-1, name, f.name); least-- {
			best = f
		}
		if len(name) > 3 && strings.HasPrefix(f.name, name) {
			begin = append(begin, f)
		}
	}
	if best == nil && len(begin) == 1 {
		return begin[0]
	}
	return best
}

// within reports whether at most n changes turn a into b. A change adds or drops a letter, or swaps two neighbours. A
// changed letter counts as two changes, because it makes another word: --retort is not --report.
func within(n int, a, b string) bool {
	for a != "" && b != "" && a[0] == b[0] {
		a = a[1:]
		b = b[1:]
	}
	if n == 0 || a == "" || b == "" {
		return len(a)+len(b) <= n
	}
	return within(n-1, a[1:], b) || within(n-1, a, b[1:]) ||
		len(a) > 1 && len(b) > 1 && a[0] == b[1] && a[1] == b[0] && within(n-1, a[2:], b[2:])
}

// habits is the table of other programs' flags.
//
//go:embed habits.txt
var habits string

// foreign is a meaning that some programs give a flag.
type foreign struct {
	programs []string // none for "any"
	value    string   // a placeholder for the flag's value, or ""
	answer   string   // what to write, as shown to people
	write    []string // the words to write
	none     bool     // there is no counterpart here
	sure     bool     // the flag may be taken if what follows fits
}

// abroad returns what other programs mean by a flag. name includes the dashes.
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
	whose, f.sure = strings.CutSuffix(whose, "!")
	for name := range strings.FieldsSeq(strings.ReplaceAll(whose, ",", "")) {
		switch {
		case name == strings.ToUpper(name):
			f.value = name
		case name != "any":
			f.programs = append(f.programs, name)
		}
	}
	switch write, _, _ := strings.Cut(answer, " ("); write {
	case "no":
		f.none = true
		f.answer = strings.Replace(answer, "no", "there is no counterpart", 1)
	case "drop":
		f.answer = strings.Replace(answer, "drop", "leave it out", 1)
	default:
		f.write = strings.Fields(write)
		f.answer = "write " + answer
	}
	return f
}

// of returns what the program means by the flag before the text next. Program "" has no flags.
func of(program string, found []foreign, next string) (meant foreign, known bool) {
	for _, f := range found {
		if f.programs != nil && !slices.Contains(f.programs, program) {
			continue
		}
		if f.value == "" || fits(f.value, next) {
			return f, true
		}
		if !known {
			meant = f
			known = true
		}
	}
	return meant, known
}

// because says, after the text before, what users of each program that has the flag should write instead.
func because(before string, found []foreign) string {
	text := ""
	for _, f := range found {
		text += before
		if f.programs != nil {
			text += "for " + strings.Join(f.programs, "'s and ") + "'s "
		}
		text += f.answer
		before = "; "
	}
	return text
}

func numberFor(found []foreign, text string) bool {
	takes := func(f foreign) bool { return f.value != "" && fits(f.value, text) }
	return number().MatchString(text) && slices.ContainsFunc(found, takes)
}

func fits(placeholder, text string) bool {
	if placeholder == "HERE" { // stands for a file
		_, err := os.Stat(text)
		return err == nil
	}
	return regexp.MustCompile(values[placeholder]).MatchString(text)
}

// values are patterns for what a placeholder may stand for. A placeholder without a pattern may stand for anything.
var values = map[string]string{
	"N":       `^([0-9]|inf$)`,
	"FEW":     `^(1?[0-9]|20)$`, // a larger number is rather a port
	"-":       `^-$`,
	"LEVELS":  `^([0-9]|inf$)`,
	"TRIES":   `^[1-9][0-9]{0,6}$`,
	"KRATE":   `^[0-9]`,
	"FALSE":   `^false$`,
	"PATTERN": `^[^/]*[*?[][^/]*$`, // no slash: here the path of a directory starts elsewhere
	"GLOB":    `^(/.*|[^/]*/?)$`,   // elsewhere, a slash has another meaning here
	"TIME":    `^[0-9.]*[1-9]`,
	"HOST":    `[a-z][.][a-z]`,
	"RATE":    `^[0-9]`,
	"SIZE":    `^[0-9]`,
	"FILE":    `^([^0-9]|$)`,
	"DIR":     `^([^0-9-]|-.|$)`,
	"SETTING": `=`, // as in wgetrc
	"SHELL":   `^[rs]sh`,
	"URL":     `[:.]|^-$`,
	"ADDR":    `[:.]|^-$`,
}

package cli

import (
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"example.com/ftpfetch/internal/pattern"
)

// habit says what to write here for a flag of another program.
type habit struct {
	flags string // spellings, such as "-P DIR, --directory-prefix=DIR", of one flag or of several with the same answer
	write string // what to write instead; or needless, or lacking
	note  string // more about that, or ""
}

// The values of habit.write for flags that have no counterpart.
const (
	needless = ""  // it can be left out
	lacking  = "-" // nothing does the same
)

// program is another program and its flags. docs/coming-from.md is made from them.
type program struct {
	name   string // "" for flags that belong to no program in particular
	habits []habit
}

var programs = []program{
	{"wget", wgetHabits}, {"curl", curlHabits}, {"aria2", aria2Habits}, {"lftp", lftpHabits}, {"", otherHabits},
}

// spelling is one spelling of a flag: its name with its dashes, and what stands
// for its value, or "".
type spelling struct{ name, value string }

func (h habit) spellings() (all []spelling) {
	for text := range strings.SplitSeq(h.flags, ", ") {
		name, value, _ := strings.Cut(text, "=")
		if !strings.HasPrefix(name, "--") {
			name, value, _ = strings.Cut(text, " ")
		}
		all = append(all, spelling{name, value})
	}
	return all
}

// foreign is a flag as one program has it.
type foreign struct {
	program, value string
	habit
}

// abroad returns what a flag means in the programs that have it. name has its
// dashes.
func abroad(name string) (found []foreign) {
	for _, p := range programs {
		if f, ok := p.lookup(name); ok {
			found = append(found, f)
		}
	}
	return found
}

func (p program) lookup(name string) (foreign, bool) {
	for _, h := range p.habits {
		for _, s := range h.spellings() {
			if s.name == name {
				return foreign{p.name, s.value, h}, true
			}
		}
	}
	return foreign{}, false
}

// offTopic reports whether the flag is about something that ftpfetch does not do
// at all.
func (f foreign) offTopic() bool { return strings.HasPrefix(f.note, "it is about ") }

// answer says what to write, as a part of a sentence.
func (h habit) answer() string {
	text := "write " + h.write
	sep, end := " (", ")"
	switch h.write {
	case needless:
		text, sep, end = "leave it out", ": ", ""
	case lacking:
		text, sep, end = "nothing does that here", ": ", ""
	}
	if h.note == "" {
		return text
	}
	return text + sep + h.note + end
}

// answers joins what each program's flag becomes here. If the programs agree,
// they are not named.
func answers(found []foreign) string {
	if slices.ContainsFunc(found, func(f foreign) bool { return f.write != lacking && !f.offTopic() }) {
		found = slices.DeleteFunc(slices.Clone(found), func(f foreign) bool { return f.write == lacking || f.offTopic() })
	}
	var texts []string
	named := make(map[string]string)
	for _, f := range found {
		text := f.answer()
		if named[text] == "" {
			texts = append(texts, text)
		} else if f.program != "" {
			named[text] += " and "
		}
		if f.program != "" {
			named[text] += f.program + "'s"
		}
	}
	if len(texts) == 1 {
		return texts[0]
	}
	for i, text := range texts {
		texts[i] = "for " + named[text] + " " + text
	}
	return strings.Join(texts, "; ")
}

// owners returns whose flags they are.
func owners(found []foreign) string {
	if len(found) == 1 && found[0].program != "" {
		return found[0].program + "'s"
	}
	return "another program's"
}

// otherwise says what programs mean by a flag that means something else here. The
// result begins with "; " or is "".
func otherwise(flag *pflag.Flag, fits func(foreign) bool) string {
	var texts []string
	for _, name := range []string{"-" + flag.Shorthand, "--" + flag.Name} {
		for _, f := range abroad(name) {
			if text := "for " + f.program + "'s " + f.answer(); !f.isFor(flag) && !f.offTopic() && fits(f) && !slices.Contains(texts, text) {
				texts = append(texts, text)
			}
		}
	}
	if texts == nil {
		return ""
	}
	return "; " + strings.Join(texts, "; ")
}

// isFor reports whether h says to write flag itself, with any value.
func (h habit) isFor(flag *pflag.Flag) bool {
	name, value, _ := strings.Cut(h.write, " ")
	return (name == "-"+flag.Shorthand || name == "--"+flag.Name) && value == strings.ToUpper(value)
}

// anyFlag accepts every flag, for otherwise.
func anyFlag(foreign) bool { return true }

// bundle reads letters that stand together, such as fsSLO, as the flags of p. The
// last one may have a value, which is not part of read. ok is false unless p reads
// all letters.
func (p program) bundle(letters string) (flags []foreign, read string, ok bool) {
	for read != letters {
		rest := letters[len(read):]
		n := min(2, len(rest)) // -nd is one flag of wget
		f, ok := p.lookup("-" + rest[:n])
		if read != "" && rest[0] <= '9' { // a number is a value, not -4
			return nil, "", false
		}
		if !ok && n == 2 {
			n = 1
			f, ok = p.lookup("-" + rest[:n])
		}
		if !ok {
			return nil, "", false
		}
		flags, read = append(flags, f), read+rest[:n]
		if value := rest[n:]; f.value != "" && value != "" {
			form, text := forms[f.value], f.value == "FILE" || forms[f.value] == nil
			return flags, read, value == "-" || form != nil && form.MatchString(value) || text && len(flags) == 1
		}
	}
	return flags, read, !repeats(read)
}

// asOne returns one flag that stands for all flags of a bundle.
func asOne(flags []foreign) foreign {
	if len(flags) == 1 {
		return flags[0]
	}
	whole := foreign{program: flags[0].program}
	var writes []string
	for _, f := range flags {
		switch f.write {
		case needless:
		case lacking:
			return f
		default:
			if !slices.Contains(writes, f.write) {
				writes = append(writes, f.write)
			}
		}
	}
	whole.write = strings.Join(writes, " ")
	if whole.write == "" {
		whole.note = flags[0].note
	}
	return whole
}

// pair matches letters of which two are one flag of wget.
var pair = pattern.New(`^[a-zA-Z]*n[cdvHp]`)

// unbundled returns what letters mean as the flags of each program, and the part
// of them that is certainly not a value. Programs for which all letters are flags
// go before those for which some are a value.
func unbundled(letters string) (found []foreign, read string) {
	for _, p := range programs {
		flags, part, ok := p.bundle(letters)
		switch {
		case !ok, pair.MatchString(letters) && p.name != "wget", read == letters && part != letters:
			continue
		case read == "", part == letters && read != letters:
			found, read = nil, part
		case len(part) < len(read):
			read = part
		}
		found = append(found, asOne(flags))
	}
	return found, read
}

// repeats reports whether a letter occurs twice: then the text may be a password
// and not flags.
func repeats(s string) bool {
	for i := range s {
		if strings.IndexByte(s[i+1:], s[i]) >= 0 && s[i] != 'n' {
			return true
		}
	}
	return false
}

// forms are what values look like, which tells what a flag was meant to be.
var forms = map[string]*pattern.Pattern{
	"N":     pattern.New(`^([0-9]+|inf)$`),
	"RANGE": pattern.New(`^[0-9]*-?[0-9]+(,[0-9-]+)*$|^[0-9]+-$`),
	"TIME":  pattern.New(`^[0-9]`),
	"LIST":  pattern.New(`^/|\*|,`),
	"URL":   pattern.New(`[:.]`),
	"GLOB":  pattern.New(`\*`),
	"FILE":  pattern.New(`^(-|log|[^/]*\.log)$`),
}

// meantFor returns a function that reports whether a flag of another program
// takes value.
func meantFor(value string) func(foreign) bool {
	return func(f foreign) bool {
		form := forms[f.value]
		return form != nil && form.MatchString(value)
	}
}

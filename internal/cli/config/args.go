package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// reader reads a command line. It goes on behind what is wrong, so that everything
// is told at once, and gathers the command as it should be.
type reader struct {
	*line
	all      *pflag.FlagSet
	program  string // whose flags those are that are not ours
	args     []string
	operands []string
	wrong    []string
	right    []string // the command as it should be
	lost     bool     // something has no counterpart in it
	known    int      // how well the wrong flags are known as the program's
}

// read reads args, which exclude the program's name.
func read(args []string, program string) *reader {
	r := &reader{line: new(line), all: pflag.NewFlagSet("", pflag.ContinueOnError), program: program, args: args}
	for _, g := range r.groups() {
		r.all.AddFlagSet(g.FlagSet)
	}
	for len(r.args) > 0 {
		arg, command := r.next(), []foreign(nil)
		if len(r.operands) == 0 && !strings.HasPrefix(arg, "-") {
			command = abroad(arg)
		}
		switch {
		case arg == "--":
			r.right = append(append(r.right, arg), r.args...)
			r.operands, r.args = append(r.operands, r.args...), nil
		case strings.HasPrefix(arg, "--"):
			r.long(arg[2:])
		case isFlag(arg):
			r.letters(arg[1:])
		case command != nil:
			r.complain("%s is lftp's: %s", arg, command[0].answer)
			r.swap(command, "", false)
		default:
			r.operands, r.right = append(r.operands, arg), append(r.right, arg)
		}
	}
	return r
}

// next takes the next argument.
func (r *reader) next() string {
	arg := r.args[0]
	r.args = r.args[1:]
	return arg
}

func (r *reader) complain(format string, args ...any) {
	r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
}

// long reads a flag with two dashes.
func (r *reader) long(text string) {
	name, value, given := strings.Cut(text, "=")
	f, found := r.all.Lookup(name), abroad("--"+name)
	if f == nil && found == nil {
		if f = closest(name, r.all); f != nil {
			r.complain("unknown flag --%s: perhaps --%s", name, f.Name)
		}
	}
	switch {
	case f != nil:
		r.own(f, value, given)
	case found != nil:
		r.complain("unknown flag --%s: %s", name, answers(found))
		r.swap(found, value, given)
	default:
		r.complain("unknown flag --%s", name)
		r.lost = true
	}
}

// letters reads flags with one dash.
func (r *reader) letters(text string) {
	name, value, given := strings.Cut(text, "=")
	var long *pflag.Flag // without its inner dashes
	r.all.VisitAll(func(f *pflag.Flag) {
		if strings.ReplaceAll(f.Name, "-", "") == strings.ReplaceAll(name, "-", "") {
			long = f
		}
	})
	if long != nil {
		r.complain("-%s has one dash: write --%s", name, long.Name)
		r.own(long, value, given)
		return
	}
	flags, value, ok := ours(text, r.all)
	if !ok {
		r.bundle(text)
		return
	}
	for i, f := range flags {
		last := i == len(flags)-1 && value != ""
		r.own(f, strings.TrimPrefix(value, "="), last)
	}
}

// ours reads letters as flags of this program, of which the last may have a value,
// with "=" or without. Those of another program are not ours: -nc would write into
// the very file that wget's -nc leaves alone.
func ours(letters string, all *pflag.FlagSet) (flags []*pflag.Flag, value string, ok bool) {
	for i := range len(letters) {
		f, rest := shorthand(letters[i], all), letters[i+1:]
		if f == nil || letters[i] == 'n' && rest != "" && abroad("-n"+rest[:1]) != nil {
			return nil, "", false
		}
		flags = append(flags, f)
		if f.NoOptDefVal == "" || strings.HasPrefix(rest, "=") {
			return flags, rest, rest == "" || !numeric[f.Name] || wholeNumber().MatchString(rest)
		}
	}
	return flags, "", true
}

// bundle reads letters of which some are not ours as the program's. What follows a
// letter that it does not know may be a password.
func (r *reader) bundle(text string) {
	before, read, start := len(r.right), "", len(r.wrong)
	for rest := text; rest != ""; {
		n := 1
		if len(rest) > 1 && rest[0] == 'n' && abroad("-"+rest[:2]) != nil {
			n = 2
		}
		found := abroad("-" + rest[:n])
		f, ok := of(r.program, found)
		own, value := shorthand(rest[0], r.all), ""
		ok = ok && (read == "" || rest[0] > '9') // a number is a value, not -4
		if !ok && own == nil || strings.ContainsAny(read, rest[:1]) {
			r.lost = true
			r.complain("unknown flag -%s%s", rest[:n], because(": ", found))
			return
		}
		if read, rest = read+rest[:n], rest[n:]; ok && f.value != "" || !ok && own.NoOptDefVal == "" {
			value, rest = rest, ""
		}
		if ok {
			r.swap(found, value, value != "")
		} else {
			r.own(own, value, value != "")
		}
		switch {
		case rest != "" || len(r.wrong) > start:
		case len(read) == 1 && own != nil:
			r.complain("-%s with a value is another program's: %s", read, answers(found))
		case len(read) == 1:
			r.complain("unknown flag -%s: %s", read, answers(found))
		case len(r.right) == before:
			r.complain("-%s is %s's: leave it out", read, r.program)
		default:
			r.complain("-%s is %s's: write %s", read, r.program, strings.Join(masked(r.right[before:]), " "))
		}
	}
}

// own sets a flag of ours. value is what follows it in the same argument.
func (r *reader) own(f *pflag.Flag, value string, given bool) {
	name, _ := pflag.UnquoteUsage(f)
	next := ""
	if len(r.args) > 0 {
		next = r.args[0]
	}
	meant := append(abroad("-"+f.Shorthand), abroad("--"+f.Name)...)
	follows := isFlag(next) && meant != nil
	switch {
	case given:
	case f.NoOptDefVal != "" && valueLike().MatchString(next) && takesValue(meant, next):
		r.complain("-%s takes no value here; %s", f.Shorthand, answers(meant))
		r.swap(meant, "", false)
		return
	case f.NoOptDefVal != "":
		value = f.NoOptDefVal
	case len(r.args) == 0, follows, urlStart().MatchString(next) && takesURL["--"+f.Name] == "":
		why := ""
		switch {
		case follows:
			why = ", but a flag follows"
		case next != "":
			name += " before the URL"
		}
		r.complain("%s needs a value%s: write %s %s%s", dashed(f), why, dashed(f), name, because("; ", meant))
		r.swap(meant, "", false)
		return
	default:
		value, given = r.next(), true
	}
	var bad *pflag.InvalidValueError
	if err := r.all.Set(f.Name, value); errors.As(err, &bad) {
		if value == "" {
			meant = nil
		}
		r.complain("%s%s", badValue(f.Name, value, bad.Unwrap()), because("; ", meant))
		r.lost = true
		return
	}
	words := []string{dashed(f)}
	switch {
	case given && f.NoOptDefVal != "":
		words[0] = "--" + f.Name + "=" + value
	case given:
		words = append(words, value)
	}
	r.add(words)
}

// swap puts what the program's flag is here into the command as it should be. value
// is what follows the flag in the same argument.
func (r *reader) swap(found []foreign, value string, given bool) {
	f, ok := of(r.program, found)
	if ok && f.value != "" && !given && len(r.args) > 0 && !isFlag(r.args[0]) && !urlStart().MatchString(r.args[0]) && fits(f.value, r.args[0]) {
		value, given = r.next(), true
	}
	switch {
	case !ok, given && value != "true" && (f.value == "" || !fits(f.value, value)):
		r.lost = true
		return
	case f.none:
		r.known++
		r.lost = true
		return
	}
	r.known += 2
	words := slices.Clone(f.write)
	for i, word := range words {
		before, ends := strings.CutSuffix(word, f.value)
		switch {
		case word == "GLOB" && f.value == "LIST" && strings.Contains(value, ","):
			words[i] = "{" + value + "}"
		case word == "GLOB" && f.value == "LIST":
			words[i] = value
		case f.value != "" && ends:
			words[i] = before + value
		case word[0] >= 'A' && word == strings.ToUpper(word):
			r.lost = true
		}
		r.lost = r.lost || words[i] == ""
	}
	if !r.lost {
		r.add(words)
	}
}

// add adds flags with their values to the command as it should be, if they are not
// there already.
func (r *reader) add(words []string) {
	for len(words) > 0 {
		n := 1
		for n < len(words) && !isFlag(words[n]) {
			n++
		}
		if !strings.Contains(" "+strings.Join(r.right, " ")+" ", " "+strings.Join(words[:n], " ")+" ") {
			r.right = append(r.right, words[:n]...)
		}
		words = words[n:]
	}
}

// correct says what is wrong with args, and what the whole command should be: for
// each of the programs whose flags they may be, if these differ.
func correct(args []string) error {
	var best *reader
	var whose, commands, refused []string
	for _, program := range []string{"wget", "curl", "aria2", "lftp"} {
		r := read(args, program)
		command, texts := r.command()
		switch {
		case best == nil, r.known > best.known, r.known == best.known && commands == nil && command != "":
			best, refused, whose, commands = r, texts, nil, nil
		case r.known < best.known:
			continue
		}
		if command != "" && !slices.Contains(commands, command) {
			whose, commands = append(whose, program+"'s "), append(commands, command)
		}
	}
	e := &Error{Lines: append(slices.Compact(best.wrong), refused...), Whole: commands != nil}
	for i, command := range commands {
		if len(commands) == 1 {
			whose[i] = ""
		}
		e.Lines = append(e.Lines, "as "+whose[i]+"one command: "+command)
	}
	return e
}

// command returns the command as it should be, or "" if that is not known, and what
// would still contradict itself in it.
func (r *reader) command() (text string, refused []string) {
	right := read(r.right, "")
	right.settle()
	refused = right.refused()
	if r.lost || right.wrong != nil || refused != nil || slices.ContainsFunc(right.Targets, func(t Target) bool { return t.Err != nil }) {
		return "", refused
	}
	text = "ftpfetch"
	for _, word := range masked(r.right) {
		text += " " + quoted(word)
	}
	return text, nil
}

// masked returns words without what may be a password.
func masked(words []string) []string {
	words = slices.Clone(words)
	for i, word := range words {
		if strings.Contains(word, "@") {
			words[i] = "URL"
		}
		if i > 0 && takesURL[words[i-1]] != "" {
			words[i] = takesURL[words[i-1]]
		}
	}
	return words
}

// isFlag reports whether an argument is one or more flags.
func isFlag(arg string) bool { return len(arg) > 1 && arg[0] == '-' }

// quoted returns word as a shell reads it.
func quoted(word string) string {
	if plain().MatchString(word) {
		return word
	}
	return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
}

package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// reader reads a command line. It goes on behind what is wrong, so that everything is told at once, and gathers the
// command as it should be.
type reader struct {
	*line
	all      *pflag.FlagSet
	program  string // whose flags those are that are not ours
	args     []string
	operands []string
	wrong    []string
	right    []string // the command as it should be
	command  bool     // a command of lftp is the first word
	lost     bool     // something has no counterpart in it
	known    int      // how well the wrong flags are known as the program's
}

// read reads args, which exclude the program's name.
func read(args []string, program string) *reader {
	r := &reader{line: new(line), program: program, args: args}
	r.all = r.flags()
	for len(r.args) > 0 {
		arg := r.next()
		command := abroad(arg) // of lftp
		switch {
		case arg == "--":
			r.right = append(append(r.right, arg), r.args...)
			r.operands, r.args = append(r.operands, r.args...), nil
		case strings.HasPrefix(arg, "--"):
			r.long(arg[2:])
		case isFlag(arg):
			r.letters(arg[1:])
		case len(r.operands) == 0 && (arg == "help" || arg == "version"):
			r.args = append([]string{"--" + arg}, r.args...)
		case command != nil && len(r.operands) == 0:
			r.command = true
			r.complain("%s is no command: %s", arg, command[0].answer)
			r.swap(command, "", false)
		default:
			r.operands, r.right = append(r.operands, arg), append(r.right, arg)
		}
	}
	return r
}

func (r *reader) next() string {
	arg := r.args[0]
	r.args = r.args[1:]
	return arg
}

func isFlag(arg string) bool { return len(arg) > 1 && arg[0] == '-' }

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
	if f != nil {
		r.own(f, value, given)
		return
	}
	if r.take(found, value) {
		return
	}
	r.complain("unknown flag --%s%s", name, because(": ", found))
	r.swap(found, value, given)
}

// letters reads flags with one dash. Those of another program are not ours: -nc would write into the very file that
// wget's -nc leaves alone. What follows a letter that nobody knows may be a password, and is not shown.
func (r *reader) letters(text string) {
	name, value, given := strings.Cut(text, "=")
	var long *pflag.Flag // with or without its inner dashes: -dryrun is no -d
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
	for text != "" {
		n := 1
		if len(text) > 1 && text[0] == 'n' && abroad("-"+text[:2]) != nil {
			n = 2
		}
		letters, found, own := text[:n], abroad("-"+text[:n]), r.all.ShorthandLookup(text[:1])
		text = text[n:]
		value := strings.TrimPrefix(text, "=")
		if own != nil && n == 1 && (found == nil || placeholder(own) != "N" || value == "" || value == "auto" || fits("N", value)) {
			given := text != "" && (own.NoOptDefVal == "" || text != value || numberFor(found, text))
			if given {
				text = ""
			}
			r.own(own, value, given)
			continue
		}
		if own == nil && r.take(found, text) {
			return
		}
		what := "unknown flag -" + letters
		if own != nil && n == 1 {
			what = "-" + letters + " takes a number here"
		}
		r.complain("%s%s", what, because(": ", found))
		f, known := of(r.program, found)
		given := text != "" && (f.value != "" || fits("N", text)) // a number is a value, not -4
		if given || !known {
			text = ""
		}
		r.swap(found, value, given)
	}
}

// take obeys a flag of other programs if what follows leaves no doubt of what it means: text in the same argument, or the
// next one. The table marks the meanings that it may take.
func (r *reader) take(found []foreign, text string) bool {
	next := ""
	if len(r.args) > 0 {
		next = r.args[0]
	}
	ends := next == "" || isFlag(next) || urlStart().MatchString(next)
	for _, f := range found {
		switch {
		case !f.sure || r.command:
		case f.value == "" && text == "" && ends:
			r.args = slices.Concat(f.write, r.args)
			return true
		case f.value != "" && (len(text) > 2 || text == "-") && fits(f.value, text):
			r.args = slices.Concat(f.write[:1], []string{text}, r.args)
			return true
		case f.value != "" && text == "" && !ends && fits(f.value, next) && len(r.args)+len(r.operands) > 1: // it is not the URL
			r.args = slices.Concat(f.write[:1], r.args)
			return true
		}
	}
	return false
}

// own sets a flag of ours. value is what follows it in the same argument.
func (r *reader) own(f *pflag.Flag, value string, given bool) {
	meant, next := abroad("-"+f.Shorthand), ""
	if len(r.args) > 0 {
		next = r.args[0]
	}
	switch {
	case f.NoOptDefVal != "" && (given && numberFor(meant, value) || !given && numberFor(meant, next)):
		r.complain("-%s takes no value here; %s", f.Shorthand, because("", meant))
		r.swap(meant, value, given)
		return
	case given:
	case f.NoOptDefVal != "":
		value = f.NoOptDefVal
	case len(r.args) == 0, isFlag(next) && meant != nil, urlStart().MatchString(next) && takesURL["--"+f.Name] == "" && f.Name != "input" && f.Name != "manifest":
		r.complain("%s needs a value: write %s %s%s", dashed(f), dashed(f), placeholder(f), because("; ", meant))
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
	switch {
	case !given:
		r.add(dashed(f))
	case f.NoOptDefVal != "":
		r.add("--" + f.Name + "=" + value)
	default:
		r.add(dashed(f), value)
	}
}

// add adds flags with their values to the command as it should be, if they are not there.
func (r *reader) add(words ...string) {
	if !strings.Contains(" "+strings.Join(r.right, " ")+" ", " "+strings.Join(words, " ")+" ") {
		r.right = append(r.right, words...)
	}
}

// swap puts what the program's flag is here into the command as it should be. value is what follows the flag in the
// same argument.
func (r *reader) swap(found []foreign, value string, given bool) {
	f, ok := of(r.program, found)
	if ok && f.value != "" && !given && len(r.args) > 0 && !isFlag(r.args[0]) && !urlStart().MatchString(r.args[0]) && fits(f.value, r.args[0]) {
		value, given = r.next(), true
	}
	if !ok || given && value != "true" && (f.value == "" || !fits(f.value, value)) {
		r.lost = true
		return
	}
	if r.known++; f.none {
		r.lost = true
		return
	}
	r.known++
	if f.value == "GLOB" && strings.Contains(value, ",") {
		value = "{" + value + "}"
	}
	words := slices.Clone(f.write)
	for i, word := range words {
		before, ends := strings.CutSuffix(word, f.value)
		switch {
		case f.value != "" && ends:
			words[i] = before + value
		case word[0] >= 'A' && word == strings.ToUpper(word): // what stands there cannot be known
			words[i] = ""
		}
		r.lost = r.lost || words[i] == ""
	}
	if !r.lost {
		r.add(words...)
	}
}

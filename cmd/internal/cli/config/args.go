package config

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// reader reads a command line. It continues after a mistake, so that one message can report them all.
type reader struct {
	*line
	all      *pflag.FlagSet
	program  string // the program that the user most likely took the unknown flags from
	args     []string
	operands []string
	wrong    []string
	right    []string // the command as it should be
	command  bool     // a command of lftp is the first word
	short    bool     // the flag being read is a single letter
	lost     bool     // some part of the command line has no counterpart here
	known    int      // how well the wrong flags fit the program
}

func read(args []string, program string) *reader {
	r := &reader{line: new(line), program: program, args: args}
	r.all = r.declare()
	r.environment()
	for len(r.args) > 0 {
		arg := r.next()
		command := abroad(arg) // of lftp
		switch {
		case r.asksForHelp(arg):
		case arg == "--human-readable": // of ls, du and rsync
			r.Human = true
			r.add(arg)
		case arg == "--":
			r.right = append(append(r.right, arg), r.args...)
			r.operands = append(r.operands, r.args...)
			r.args = nil
		case strings.HasPrefix(arg, "--"):
			r.long(arg[2:])
		case isFlag(arg):
			r.letters(arg[1:])
		case strings.HasPrefix(arg, "–") || strings.HasPrefix(arg, "—"): // a dash as typeset documents print it
			r.complain(`a flag begins with "-", not with "%.1s"`, arg)
			r.args = slices.Insert(r.args, 0, "-"+arg[len("–"):])
		case command != nil && len(r.operands) == 0:
			r.command = true
			r.complain("%s is not a command: %s", arg, command[0].answer)
			r.swap(command, "", false)
		default:
			r.operands = append(r.operands, arg)
			r.right = append(r.right, arg)
		}
	}
	return r
}

// asksForHelp reads the flags and words with which people ask for the help, the man page, a completion or the version,
// here and in other programs.
func (r *reader) asksForHelp(arg string) bool {
	help := lookup("-h")
	name := strings.TrimLeft(arg, "-")
	if name == arg && len(r.operands) > 0 {
		return false
	}
	pages := strings.Split(help.value, "|")
	switch {
	case slices.Contains(pages, r.peek()) && slices.Contains([]string{"h", "help", "completion"}, name):
		r.own(help, r.next(), true)
	case name == "man":
		r.own(help, name, true)
	case arg == "-?", arg == "help":
		r.own(help, "", false)
	case arg == "version":
		r.own(lookup("--version"), "", false)
	default:
		return false
	}
	return true
}

// environment reads the environment variables that stand for flags.
func (r *reader) environment() {
	off := map[string]*bool{
		"forwardsecrecy": &r.NoForwardSecrecy,
		"pipelining":     &r.Client.NoPipelining,
		"portcheck":      &r.Client.AllowPort,
		"sandbox":        &r.NoSandbox,
	}
	for _, name := range strings.Fields(strings.ReplaceAll(os.Getenv("FTPFETCH_WITHOUT"), ",", " ")) {
		if off[name] != nil {
			*off[name] = true
			continue
		}
		text := "FTPFETCH_WITHOUT=%s: write forwardsecrecy, pipelining, portcheck or sandbox, or several with commas"
		r.complain(text, shown(name))
		r.lost = true
	}
	most := os.Getenv("FTPFETCH_PER_HOST")
	if most == "" {
		return
	}
	r.Shared = true
	if r.all.Set("per-host", most) != nil {
		r.complain("FTPFETCH_PER_HOST=%s: write a whole number from 1 to %d", shown(most), MostJobs)
		r.lost = true
	}
}

func (r *reader) peek() string { return strings.Join(r.args[:min(1, len(r.args))], "") }

func (r *reader) next() string {
	arg := r.peek()
	r.args = r.args[min(1, len(r.args)):]
	return arg
}

func isFlag(arg string) bool { return len(arg) > 1 && arg[0] == '-' }

func (r *reader) complain(format string, args ...any) {
	r.wrong = append(r.wrong, fmt.Sprintf(format, args...))
}

func (r *reader) long(text string) {
	r.short = false
	name, value, given := strings.Cut(text, "=")
	f := lookup("--" + name)
	found := abroad("--" + name)
	if f == nil && found == nil {
		f = closest(name)
		if f != nil {
			r.complain("unknown flag --%s: perhaps --%s", name, f.name)
		}
	}
	switch {
	case f != nil:
		r.own(f, value, given)
	case !r.take(found, value):
		r.complain("unknown flag --%s%s", name, because(": ", found))
		r.swap(found, value, given)
	}
}

// take accepts a flag of other programs if its value, in the same argument or the next one, leaves no doubt about its
// meaning. The table marks the meanings that take may accept.
func (r *reader) take(found []foreign, text string) bool {
	if r.command {
		return false
	}
	next := r.peek()
	ends := r.ends()
	for _, f := range found {
		switch {
		case !f.sure:
		case f.value == "":
			if text == "" && (ends || same(found)) {
				return r.put(f, "")
			}
		case len(text) > 2, text == "-":
			if fits(f.value, text) {
				return r.put(f, text)
			}
		case text == "" && !ends && fits(f.value, next) && len(r.args)+len(r.operands) > 1: // next is not the only URL
			return r.put(f, r.next())
		}
	}
	return false
}

// ends reports whether the next argument cannot be a value: it is missing, a flag or a URL.
func (r *reader) ends() bool {
	next := r.peek()
	return next == "" || isFlag(next) || urlStart().MatchString(next)
}

// own sets one of our own flags. value is what follows it in the same argument.
func (r *reader) own(f *flag, value string, given bool) {
	var meant []foreign
	if r.short {
		meant = abroad("-" + f.letter)
	}
	next := r.peek()
	switch {
	case f.bare && numberFor(meant, cmp.Or(value, next)):
		r.complain("-%s takes no value here; %s", f.letter, because("", meant))
		r.swap(meant, value, given)
		return
	case given:
	case f.name == "netrc" && r.aFile():
		r.complain("%s takes a file only after =: write --netrc=%s", f, next)
		value = r.next()
		given = true
	case f.bare:
		value = r.all.Lookup(f.name).NoOptDefVal
	case len(r.args) == 0, isFlag(next) && meant != nil, urlStart().MatchString(next) && !f.takesURL():
		r.complain("%s needs a value: write %s %s%s", f, f, f.value, because("; ", meant))
		r.swap(meant, "", false)
		return
	default:
		value = r.next()
	}
	if err := r.all.Set(f.name, value); err != nil {
		r.refuse(f, value, errors.Unwrap(err), meant)
		return
	}
	switch {
	case !f.bare:
		r.add(f.String(), value)
	case given:
		r.add("--" + f.name + "=" + value)
	default:
		r.add(f.String())
	}
}

// refuse reports what is wrong with the value of a flag, and what other programs mean by the flag.
func (r *reader) refuse(f *flag, value string, why error, meant []foreign) {
	if value == "" || fits("N", value) {
		meant = nil
	}
	r.complain("%s%s", badValue(f.name, value, why), because("; ", meant))
	r.lost = true
	if f.name == "help" { // then a missing URL is no mistake
		r.Print = "help"
	}
}

// aFile reports whether the next argument looks like the name of a file, and holds no password.
func (r *reader) aFile() bool {
	return !r.ends() && aPath().MatchString(r.peek()) && shown(r.peek()) == r.peek()
}

// takesURL reports whether a URL may follow the flag as its value.
func (f *flag) takesURL() bool {
	return slices.Contains([]string{"base", "proxy", "input", "manifest"}, f.name)
}

// add adds flags with their values to the corrected command, unless it has them already.
func (r *reader) add(words ...string) {
	if !strings.Contains(" "+strings.Join(r.right, " ")+" ", " "+strings.Join(words, " ")+" ") {
		r.right = append(r.right, words...)
	}
}

// swap replaces the program's flag by its counterpart here. value is what follows the flag in the same argument.
func (r *reader) swap(found []foreign, value string, given bool) {
	f, ok := of(r.program, found, cmp.Or(value, r.peek()))
	free := !r.ends() || f.value == "URL" && urlStart().MatchString(r.peek()) && len(r.args)+len(r.operands) > 1
	if f.value != "" && !given && free && fits(f.value, r.peek()) {
		value = r.next()
		given = true
	}
	switch {
	case !ok, given && !f.takes(value):
		r.lost = true
	case f.none, f.value != "" && f.programs != nil && value == "" && !given:
		r.known++
		r.lost = true
	default:
		r.known += 2
		if !r.put(f, value) {
			r.lost = true
		}
	}
}

// takes reports whether a value may follow the flag in the same argument.
func (f *foreign) takes(value string) bool {
	if f.value == "" {
		return value == "true"
	}
	return fits(f.value, value)
}

// globOf returns the pattern that stands for a program's list of patterns. wget's list may be one of suffixes.
func globOf(program, list string) string {
	if program == "wget" && list != "" && !strings.ContainsAny(list, "*?[") {
		list = "*" + strings.ReplaceAll(list, ",", ",*")
	}
	if strings.Contains(list, ",") {
		return "{" + list + "}"
	}
	return list
}

// translate converts the value of a program's flag to its counterpart here.
func (f *foreign) translate(program, value string) string {
	switch f.value {
	case "GLOB":
		return globOf(program, value)
	case "TRIES": // the first try is no retry
		tries, _ := strconv.Atoi(value)
		return strconv.Itoa(tries - 1)
	case "KRATE":
		if number().MatchString(value) { // a plain number counts K
			return value + "K"
		}
	}
	return value
}

// put puts the counterpart of a flag in front of the remaining arguments. It returns false if a part of the counterpart
// is unknown.
func (r *reader) put(f foreign, value string) bool {
	value = f.translate(r.program, value)
	words := slices.Clone(f.write)
	if f.value == "LEVELS" && (value == "0" || value == "inf") { // all levels, as without the flag
		words = nil
	}
	for i, word := range words {
		before, ends := strings.CutSuffix(word, f.value)
		switch {
		case f.value != "" && ends && value != "":
			words[i] = before + value
		case f.value != "" && ends, word[0] >= 'A' && word == strings.ToUpper(word):
			words[i] = ""
		}
		if words[i] == "" {
			return false
		}
	}
	r.args = slices.Concat(words, r.args)
	return true
}

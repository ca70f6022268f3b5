package config

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/pflag"
)

// line is a command line while it is read: the Config, and what only its checks need. Reading continues after a
// mistake, so that one message can report them all.
type line struct {
	Config
	base, mode                          string // the values of the flags with these names
	newer, resume, overwrite, noClobber bool   // -N, -c, --overwrite and --no-clobber; see existing

	flags  []*flag
	parser *pflag.FlagSet

	program  string   // if not "", flags are read as this program means them: see habits
	args     []string // what is still to be read
	operands []string
	right    []string // the command as it should be
	wrong    []string // what is wrong, for people

	unknown    bool              // some word is no flag here, or has a value as in other programs
	incomplete bool              // right lacks some part of the line
	compares   bool              // a flag of other programs means --check
	specific   bool              // the program alone gives some flag its meaning
	followed   map[string]string // what follows an unknown flag
	losses     []string          // what a user loses whose flags are left out of right
	verb       string            // the first word, if it is a command, as lftp and rclone have them; or ""
}

// read reads a command line as a user of the program means it. With program "" it reads the line as it is.
func read(args []string, program string) *line {
	l := &line{program: program, args: slices.Clip(args)}
	l.declare()
	l.environment()
	for len(l.args) > 0 {
		arg := l.next()
		switch {
		case l.asksForHelp(arg):
		case arg == "--human-readable", arg == "--human": // of ls, du and rsync
			l.Human = true
			l.add("--human-readable")
		case arg == "--":
			l.right = append(append(l.right, arg), l.args...)
			l.operands = append(l.operands, l.args...)
			l.args = nil
		case strings.HasPrefix(arg, "--"):
			l.long(arg[2:])
		case isFlag(arg):
			l.letters(arg[1:])
		case strings.HasPrefix(arg, "–") || strings.HasPrefix(arg, "—"): // a dash as typeset documents print it
			l.complain(`a flag begins with "-", not with "%.1s"`, arg)
			l.args = slices.Insert(l.args, 0, "-"+arg[len("–"):])
		case len(l.operands) == 0 && l.isCommand(arg):
			l.command(arg)
		default:
			l.operands = append(l.operands, arg)
			l.right = append(l.right, arg)
		}
	}
	l.addUnsaid(args)
	return l
}

// asksForHelp reads the flags and words with which people ask for the help, the man page, a completion or the version,
// here and in other programs.
func (l *line) asksForHelp(arg string) bool {
	help := l.lookup("--help")
	name := strings.TrimLeft(arg, "-")
	if name == arg && len(l.operands) > 0 {
		return false
	}
	switch {
	case slices.Contains(help.words(), l.peek()) && slices.Contains([]string{"h", "help", "completion"}, name):
		l.setFlag(help, l.next(), true)
	case name == "man":
		l.setFlag(help, name, true)
	case arg == "-?", arg == "help":
		l.setFlag(help, "", false)
	case arg == "version":
		l.setFlag(l.lookup("--version"), "", false)
	default:
		return false
	}
	return true
}

// environment reads the environment variables that stand for flags.
func (l *line) environment() {
	without := map[string]*bool{
		"forwardsecrecy": &l.NoForwardSecrecy,
		"pipelining":     &l.Client.NoPipelining,
		"portcheck":      &l.Client.AllowPort,
		"sandbox":        &l.NoSandbox,
	}
	for _, name := range strings.Fields(strings.ReplaceAll(os.Getenv("FTPFETCH_WITHOUT"), ",", " ")) {
		if off := without[name]; off != nil {
			*off = true
			continue
		}
		l.complain("FTPFETCH_WITHOUT=%s: "+
			"write forwardsecrecy, pipelining, portcheck or sandbox, or several with commas", shown(name))
		l.incomplete = true
	}
	most := os.Getenv("FTPFETCH_PER_HOST")
	if most == "" {
		return
	}
	l.Shared = true
	if err := l.parser.Set("per-host", most); err != nil {
		l.complain("FTPFETCH_PER_HOST=%s: %s", shown(most), errors.Unwrap(err))
		l.incomplete = true
	}
}

// peek returns the next argument, or "" if there is none.
func (l *line) peek() string {
	if len(l.args) == 0 {
		return ""
	}
	return l.args[0]
}

func (l *line) next() string {
	arg := l.args[0]
	l.args = l.args[1:]
	return arg
}

func isFlag(arg string) bool { return len(arg) > 1 && arg[0] == '-' }

// ends reports whether the next argument cannot be a value: it is missing, a flag or a URL.
func (l *line) ends() bool {
	next := l.peek()
	return next == "" || isFlag(next) || urlStart().MatchString(next)
}

func (l *line) complain(format string, args ...any) {
	l.wrong = append(l.wrong, fmt.Sprintf(format, args...))
}

// complainUnknown complains about a flag that ftpfetch does not have.
func (l *line) complainUnknown(spelling string) {
	l.complain("unknown flag %s", spelling)
	if l.followed == nil {
		l.followed = make(map[string]string)
	}
	l.followed[spelling] = l.peek()
	l.unknown = true
	l.incomplete = true
}

// long reads a flag with two dashes; text is what follows them.
func (l *line) long(text string) {
	name, value, given := strings.Cut(text, "=")
	spelling := "--" + name
	if l.translate(spelling, value, given) {
		return
	}
	f := l.lookup(spelling)
	if f == nil && !isHabit(spelling) && !slices.Contains(notMisspelt, spelling) {
		f = l.closest(name)
		if f != nil {
			l.complain("unknown flag %s: perhaps --%s", spelling, f.name)
		}
	}
	if f == nil {
		l.complainUnknown(spelling + l.meaning(spelling, value, given))
		if given {
			l.followed[spelling] = value
		}
		return
	}
	l.setTyped(f, value, given)
}

// setTyped sets one of our own flags, as it was typed. The value of a flag that need not have one follows only after "=":
// setTyped takes another one, and says what to write.
func (l *line) setTyped(f *flag, value string, given bool) {
	kind := ""
	if !given {
		kind = l.apart(f)
	}
	noURL := !slices.ContainsFunc(l.args, urlStart().MatchString)
	if kind == "file" && noURL && aHost().MatchString(l.peek()) { // ftp -n HOST PORT
		kind = ""
	}
	if kind != "" {
		value = l.next()
		given = true
		l.complain("%s takes a %s only after =: write --%s=%s", f, kind, f.name, value)
	}
	l.setFlag(f, value, given)
}

// setFlag sets one of our own flags. value is what follows it in the same argument, if it is given there.
func (l *line) setFlag(f *flag, value string, given bool) {
	next := l.peek()
	switch {
	case given:
	case f.on != nil:
		value = "true"
	case f.implied != "":
		value = f.implied
	case len(l.args) == 0, urlStart().MatchString(next) && !f.takesURL(), f.name == "segments" && isFlag(next):
		l.complain("%s needs a value: write %s %s", f, f, f.value)
		l.incomplete = true
		return
	default:
		value = l.next()
	}
	if err := l.parser.Set(f.name, value); err != nil {
		l.complain("%s", f.badValue(value, errors.Unwrap(err)))
		l.incomplete = true
		if f.name == "help" { // then a missing URL is no mistake
			l.Print = "help"
		}
		return
	}
	l.noteTwice(f, value)
	switch {
	case !f.bare():
		l.add(f.String(), value)
	case given:
		l.add("--" + f.name + "=" + value)
	default:
		l.add(f.String())
	}
}

// noteTwice notes that a flag was given before with another value, which does not count.
func (l *line) noteTwice(f *flag, value string) {
	before := f.before
	f.before = value
	switch {
	case before == "", before == value, f.repeats():
	case f.mayHoldPassword():
		l.Notes = append(l.Notes, fmt.Sprintf("%s is given twice: the last one counts", f))
	default:
		l.Notes = append(l.Notes, fmt.Sprintf("%s is given twice: %s counts, not %s", f, shown(value), shown(before)))
	}
}

// repeats reports whether each value of the flag counts. Its help says so.
func (f *flag) repeats() bool { return strings.Contains(f.help, "may be repeated") }

func (f *flag) mayHoldPassword() bool {
	return slices.Contains([]string{"base", "proxy", "user"}, f.name)
}

// apart returns what the next argument is, a file or a number, if it must be meant as the value of a flag that takes it
// only after "=". Otherwise it returns "".
func (l *line) apart(f *flag) string {
	switch {
	case f.name == "netrc" && l.aFile() && len(l.args)+len(l.operands) > 1: // a lone word is in place of the URL
		return "file"
	case f.name == "keep-dirs" && number().MatchString(l.peek()):
		return "number"
	}
	return ""
}

// badValue returns the message about a bad value. It does not show a value that may hold a password.
func (f *flag) badValue(value string, why error) string {
	if f.mayHoldPassword() {
		return "--" + f.name + ": " + why.Error()
	}
	text := "--" + f.name + " " + shown(value) + ": " + why.Error()
	if f.name == "speed-limit" { // some expect it to be what --limit-rate is
		text += "; it is the least rate, --limit-rate the greatest"
	}
	return text
}

// aFile reports whether the next argument looks like the name of a file, and holds no password.
func (l *line) aFile() bool {
	return !l.ends() && aPath().MatchString(l.peek()) && shown(l.peek()) == l.peek()
}

// takesURL reports whether a URL may follow the flag as its value.
func (f *flag) takesURL() bool {
	return slices.Contains([]string{"base", "proxy", "input", "manifest"}, f.name)
}

// add adds flags with their values to the corrected command, unless it has them already.
func (l *line) add(words ...string) {
	if !strings.Contains(" "+strings.Join(l.right, " ")+" ", " "+strings.Join(words, " ")+" ") {
		l.right = append(l.right, words...)
	}
}

package cli

import (
	"strings"

	"github.com/spf13/pflag"

	"example.com/ftpfetch/internal/pattern"
)

// checkDashes refuses what pflag would read otherwise than it is meant: a long
// flag with a single dash, letters that are another program's flags (-nc would
// write into the very file that wget's -nc leaves alone), a URL or a flag where
// a value should be, and a value after a flag that takes none. It skips the
// values of flags, and everything after "--".
func checkDashes(args []string, all *pflag.FlagSet) error {
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		if err := checkDash(args[i], all); err != nil {
			return err
		}
		last, takes := lastFlag(args[i], all)
		if last == nil || i+1 == len(args) {
			continue
		}
		if err := checkNext(last, takes, args[i+1]); err != nil {
			return err
		}
		if takes {
			i++
		}
	}
	return nil
}

func checkDash(arg string, all *pflag.FlagSet) error {
	name, ok := strings.CutPrefix(arg, "-")
	if !ok || name == "" || strings.HasPrefix(name, "-") {
		return nil
	}
	letters := name
	name, _, _ = strings.Cut(name, "=") // what follows may be a password
	if long := undashed(name, all); len(name) > 1 && long != "" {
		return usage("-%s has one dash: write --%s", name, long)
	}
	if isOurs(letters, all) {
		return nil
	}
	found, read := unbundled(letters)
	switch short := shorthand(letters[0], all); {
	case found == nil:
		return nil // pflag says which letter is unknown
	case len(read) == 1 && short != nil:
		return usage("-%s with a value is %s: %s", read, owners(found), answers(found))
	case len(read) == 1, len(read) == 2 && read[0] == 'n' && !known(read, all):
		return usage("unknown flag -%s: %s", read, answers(found))
	case len(read) == 2 && read[0] == 'n':
		return usage("-%s is not -%s -%s here: %s; write -%s -%s for the two flags", read, read[:1], read[1:], answers(found), read[:1], read[1:])
	}
	return usage("-%s is %s: %s", read, owners(found), answers(found))
}

// numeric are the flags with letters whose values are numbers.
var numeric = map[string]bool{"segments": true, "jobs": true}

// wholeNumber matches their values.
var wholeNumber = pattern.New(`^(=?[0-9]|=?auto$|=|ftps?:|-)`)

// isOurs reports whether the letters are meant as flags of this program.
func isOurs(letters string, all *pflag.FlagSet) bool {
	for i := range len(letters) {
		f, rest := shorthand(letters[i], all), letters[i+1:]
		switch {
		case f == nil, i+1 < len(letters) && letters[i] == 'n' && strings.IndexByte("cdvHp", rest[0]) >= 0:
			return false
		case f.NoOptDefVal == "":
			return rest == "" || !numeric[f.Name] || wholeNumber.MatchString(rest)
		case strings.HasPrefix(rest, "="):
			return true
		}
	}
	return true
}

func known(letters string, all *pflag.FlagSet) bool {
	return shorthand(letters[0], all) != nil && shorthand(letters[1], all) != nil
}

// undashed returns the long flag whose name is name, with or without its inner
// dashes, or "".
func undashed(name string, all *pflag.FlagSet) (found string) {
	all.VisitAll(func(f *pflag.Flag) {
		if f.Name == name || strings.ReplaceAll(f.Name, "-", "") == name {
			found = f.Name
		}
	})
	return found
}

// lastFlag returns the last flag in arg, or nil, and whether pflag reads the
// argument after arg as its value.
func lastFlag(arg string, all *pflag.FlagSet) (last *pflag.Flag, takes bool) {
	if name, ok := strings.CutPrefix(arg, "--"); ok {
		f := all.Lookup(name)
		return f, f != nil && f.NoOptDefVal == ""
	}
	letters, ok := strings.CutPrefix(arg, "-")
	for i := 0; ok && i < len(letters); i++ {
		if last = shorthand(letters[i], all); last == nil {
			return nil, false
		}
		if last.NoOptDefVal == "" {
			if i < len(letters)-1 {
				return nil, false
			}
			return last, true
		}
	}
	return last, false
}

// shorthand returns the flag for a letter, or nil. pflag's own lookup panics on
// a byte that is not ASCII.
func shorthand(letter byte, all *pflag.FlagSet) *pflag.Flag {
	if letter >= 0x80 {
		return nil
	}
	return all.ShorthandLookup(string(rune(letter)))
}

// urlStart matches the beginning of a URL.
var urlStart = pattern.New(`(?i)^["'<]*(url:)?(ftp|ftps|ftpes|https?|sftp)://`)

// takesURL are the flags whose value is a URL, or may be any text.
var takesURL = map[string]bool{"base": true, "proxy": true, "user": true, "email": true, "account": true}

// checkNext checks the argument after a flag, which is the flag's value or, if
// the flag takes none, a URL.
func checkNext(f *pflag.Flag, takes bool, next string) error {
	value, _ := pflag.UnquoteUsage(f)
	isURL := urlStart.MatchString(next)
	isFlag := len(next) > 1 && next[0] == '-' && (numeric[f.Name] || f.Name == "dir" || f.Name == "input")
	switch {
	case !takes && f.Shorthand != "" && !isURL && otherwise(f, meantFor(next)) != "":
		return usage("-%s takes no value here%s", f.Shorthand, otherwise(f, meantFor(next)))
	case takes && isURL && !takesURL[f.Name]:
		return usage("%s needs a value: write %s %s before the URL%s", dashed(f), dashed(f), value, otherwise(f, anyFlag))
	case takes && isFlag:
		return usage("%s needs a value, but a flag follows: write %s %s%s", dashed(f), dashed(f), value, otherwise(f, anyFlag))
	}
	return nil
}

// dashed returns the shorter spelling of a flag.
func dashed(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand
	}
	return "--" + f.Name
}

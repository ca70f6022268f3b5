package cli

import (
	"strings"

	"github.com/spf13/pflag"
)

// checkDashes refuses a long flag with a single dash. pflag would read it as
// several letters: -nc would write into the very file that wget's -nc leaves
// alone. It skips the values of flags, and everything after "--".
func checkDashes(args []string, all *pflag.FlagSet) error {
	for i := 0; i < len(args) && args[i] != "--"; i++ {
		if err := checkDash(args[i], all); err != nil {
			return err
		}
		if takesNext(args[i], all) {
			i++
		}
	}
	return nil
}

func checkDash(arg string, all *pflag.FlagSet) error {
	name, ok := strings.CutPrefix(arg, "-")
	if !ok || strings.HasPrefix(name, "-") {
		return nil
	}
	name, _, _ = strings.Cut(name, "=") // what follows may be a password
	if name == "nc" {
		return usage("-nc is not -n -c here: write --no-clobber, or -n -c for the two flags")
	}
	if long := undashed(name, all); len(name) > 1 && long != "" {
		return usage("-%s has one dash: write --%s", name, long)
	}
	return nil
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

// takesNext reports whether pflag reads the argument after arg as the value of a
// flag in arg.
func takesNext(arg string, all *pflag.FlagSet) bool {
	if name, ok := strings.CutPrefix(arg, "--"); ok {
		f := all.Lookup(name)
		return f != nil && f.NoOptDefVal == ""
	}
	letters, ok := strings.CutPrefix(arg, "-")
	for i := 0; ok && i < len(letters); i++ {
		f := shorthand(letters[i], all)
		if f == nil {
			return false
		}
		if f.NoOptDefVal == "" {
			return i == len(letters)-1
		}
	}
	return false
}

// shorthand returns the flag for a letter, or nil. pflag's own lookup panics on
// a byte that is not ASCII.
func shorthand(letter byte, all *pflag.FlagSet) *pflag.Flag {
	if letter >= 0x80 {
		return nil
	}
	return all.ShorthandLookup(string(rune(letter)))
}

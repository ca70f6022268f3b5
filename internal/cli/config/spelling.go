package config

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/spf13/pflag"
)

// numeric are the flags with letters whose values are numbers.
var numeric = map[string]bool{"segments": true, "jobs": true}

// takesURL has the flags whose value may hold a password, and what is shown for it.
var takesURL = map[string]string{"--base": "URL", "--proxy": "URL", "--user": "NAME", "-u": "NAME"}

var (
	wholeNumber = compiled(`^(=?[0-9]|=?auto$|=|ftps?:|-)`)
	urlStart    = compiled(`(?i)^["'<]*(url:)?(ftp|ftps|ftpes|https?|sftp)://`)
	valueLike   = compiled(`^-?[0-9][0-9-]*$|\.log$`) // what is no URL, but may be the value of another program's flag
	plain       = compiled(`^[A-Za-z0-9_%+=:,./-]+$`) // what needs no quotes in a shell
)

// shorthand returns the flag for a letter, or nil. pflag's own lookup panics on
// a byte that is not ASCII.
func shorthand(letter byte, all *pflag.FlagSet) *pflag.Flag {
	if letter >= 0x80 {
		return nil
	}
	return all.ShorthandLookup(string(rune(letter)))
}

// dashed returns the shorter spelling of a flag.
func dashed(f *pflag.Flag) string {
	if f.Shorthand != "" {
		return "-" + f.Shorthand
	}
	return "--" + f.Name
}

// badValue returns the error for a flag's bad value. It does not show a value that
// may hold a password.
func badValue(flag, value string, why error) string {
	text := why.Error()
	switch {
	case takesURL["--"+flag] != "":
		return "--" + flag + ": " + text
	case value == "":
		value = `""`
	case strings.Contains(value, "://"):
		value = "URL"
	}
	if strings.HasPrefix(text, "strconv.") {
		text = "write --" + flag + " or --" + flag + "=false" // the library's words are for programmers
	}
	return "--" + flag + " " + value + ": " + text
}

// closest returns the long flag that name is most likely a misspelling of, or nil.
// One letter in four may be missing, too many or out of place. A letter changed
// counts as two, because it makes another word: --retort is not --report.
func closest(name string, all *pflag.FlagSet) (best *pflag.Flag) {
	if len(name) < 3 {
		return nil
	}
	least := max(1, len(name)/4) + 1
	var begin []*pflag.Flag
	all.VisitAll(func(f *pflag.Flag) {
		if len(name) > 3 && strings.HasPrefix(f.Name, name) {
			begin = append(begin, f)
		}
		if d := distance(name, f.Name); d < least {
			best, least = f, d
		}
	})
	if best == nil && len(begin) == 1 {
		return begin[0]
	}
	return best
}

// distance returns how many changes turn a into b: letters added or dropped,
// neighbours swapped, and letters changed, which count as two.
func distance(a, b string) int {
	var before []int // the row above the one above
	above := make([]int, len(b)+1)
	for j := range above {
		above[j] = j
	}
	for i := range len(a) {
		row := make([]int, len(b)+1)
		row[0] = i + 1
		for j := range len(b) {
			row[j+1] = 1 + min(row[j], above[j+1])
			if a[i] == b[j] {
				row[j+1] = above[j]
			}
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				row[j+1] = min(row[j+1], before[j-1]+1)
			}
		}
		before, above = above, row
	}
	return above[len(b)]
}

// takesValue reports whether one of the flags may have the value.
func takesValue(found []foreign, value string) bool {
	return slices.ContainsFunc(found, func(f foreign) bool { return f.value != "" && fits(f.value, value) })
}

// because says what programs mean by a flag, after the text before.
func because(before string, found []foreign) string {
	if found == nil {
		return ""
	}
	return before + answers(found)
}

// compiled compiles a regular expression when it is first used: dozens of them, of which a run needs few, take milliseconds.
func compiled(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

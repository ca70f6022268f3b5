package cli

import (
	"errors"
	"strings"

	"github.com/spf13/pflag"
)

// explain turns an error from pflag into one helpful line. It names an unknown
// short flag by its letter only: a password may follow.
func explain(err error, all *pflag.FlagSet) error {
	var unknown *pflag.NotExistError
	var missing *pflag.ValueRequiredError
	var invalid *pflag.InvalidValueError
	switch {
	case errors.As(err, &unknown):
		name := unknown.GetSpecifiedName()
		dashes := "--"
		if unknown.GetSpecifiedShortnames() != "" {
			dashes = "-"
		}
		return usage("unknown flag %s%s%s", dashes, name, instead(dashes, name, all))
	case errors.As(err, &missing):
		value, _ := pflag.UnquoteUsage(missing.GetFlag())
		name := missing.GetFlag().Name
		return usage("--%s needs a value: write --%s %s%s", name, name, value, otherwise(missing.GetFlag(), anyFlag))
	case errors.As(err, &invalid):
		return usage("%s%s", badValue(invalid.GetFlag().Name, invalid.GetValue(), invalid.Unwrap()), otherwise(invalid.GetFlag(), anyFlag))
	}
	return &usageError{err.Error()}
}

// badValue returns the error for a flag's bad value. It does not show a value
// that looks like a URL: it may hold a password.
func badValue(flag, value string, why error) error {
	if value == "" {
		value = `""`
	}
	if strings.Contains(value, "://") {
		value = "URL"
	}
	text := why.Error()
	if strings.HasPrefix(text, "strconv.") {
		text = "write --" + flag + " or --" + flag + "=false" // the library's words are for programmers
	}
	return usage("--%s %s: %s", flag, value, text)
}

// instead says what to write for another program's flag or a misspelt one. name
// has no dashes.
func instead(dashes, name string, all *pflag.FlagSet) string {
	if found := abroad(dashes + name); found != nil {
		return ": " + answers(found)
	}
	if best := closest(name, all); best != "" {
		return ": perhaps --" + best
	}
	return ""
}

// closest returns the long flag that name is most likely a misspelling of, or "".
// One letter in four may be missing, too many or out of place. A letter changed
// counts as two, because it makes another word: --retort is not --report.
func closest(name string, all *pflag.FlagSet) (best string) {
	least := max(1, len(name)/4)
	if len(name) < 3 {
		return ""
	}
	var begin []string
	all.VisitAll(func(f *pflag.Flag) {
		if len(name) > 3 && strings.HasPrefix(f.Name, name) {
			begin = append(begin, f.Name)
		}
		if d := distance(name, f.Name); d < least || d == least && best == "" {
			best, least = f.Name, d
		}
	})
	if best == "" && len(begin) == 1 {
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

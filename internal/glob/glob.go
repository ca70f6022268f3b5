// Package glob matches names with patterns of a shell, and finds what a pattern that matches nothing was meant to be.
package glob

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/bmatcuk/doublestar/v4"
)

// Check returns an error if a pattern is malformed.
func Check(p string) error {
	if !doublestar.ValidatePattern(p) {
		return errors.New(`close the bracket or brace, or write "\" before it if it stands for itself`)
	}
	return nil
}

// Match reports whether one of the patterns matches a path. One without "/" is compared with the name, one with "/" with the
// whole path, in which "**" stands for any number of directories.
func Match(patterns []string, file string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		name := file
		if !strings.Contains(p, "/") {
			name = path.Base(file)
		}
		ok, _ := doublestar.Match(strings.TrimPrefix(p, "/"), name)
		return ok
	})
}

// Guesses are patterns that somebody may have meant by others, the likeliest first.
type Guesses []guess

// guess is a pattern and how many files it matches.
type guess struct {
	pattern []string
	files   int64
}

// Guess returns what other programs may mean by patterns: the end of a name or a part of one, a path from the server's
// root, a regular expression, or letters of any case.
func Guess(patterns []string) Guesses {
	all := Guesses{}
	for _, p := range patterns {
		plain := strings.NewReplacer(".*", "*", `\.`, ".", "^", "", "$", "").Replace(p)
		likely := []string{path.Base(p), plain, "*" + plain, p}
		if !strings.ContainsAny(p, `*?[{\/`) {
			likely = []string{p, "*." + strings.TrimPrefix(p, "."), "*" + p, "*" + p + "*"}
		}
		for _, change := range []func(string) string{strings.Clone, strings.ToLower, strings.ToUpper} {
			for _, q := range likely {
				if q = change(q); q != p && !strings.Contains(q, "'") && Check(q) == nil {
					all = append(all, guess{pattern: []string{q}})
				}
			}
		}
	}
	return all
}

// Add tries the guesses with one more file.
func (g Guesses) Add(file string) {
	for i := range g {
		if Match(g[i].pattern, file) {
			g[i].files++
		}
	}
}

// Advice says what to write instead, in parentheses, or returns "".
func (g Guesses) Advice() string {
	for _, q := range g {
		if q.files > 0 {
			return fmt.Sprintf(" (write '%s', which matches %d)", q.pattern[0], q.files)
		}
	}
	return ""
}

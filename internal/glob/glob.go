// Package glob matches names with patterns of a shell, and finds what a pattern that matches nothing was meant to be.
package glob

import (
	"cmp"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"example.com/ftpfetch/internal/lazy"
)

// Check returns an error if a pattern is malformed.
func Check(p string) error {
	if !doublestar.ValidatePattern(p) {
		return errors.New(
			`close the bracket or brace, or write "\" before it if it stands for itself`)
	}
	return nil
}

// Match reports whether one of the patterns matches a path below the top of a tree, which is a directory's if dir is true.
// A pattern without "/" is compared with the name. One that has "/" at its beginning or within is compared with the path, in
// which "**" stands for any number of directories. One that ends in "/" matches directories, and all that is in them.
func Match(patterns []string, file string, dir bool) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		of, within := strings.CutSuffix(p, "/")
		if !within {
			return matches(p, file)
		}
		found := dir && matches(of, file)
		for up := path.Dir(file); up != "." && up != "/" && !found; up = path.Dir(up) {
			found = matches(of, up)
		}
		return found
	})
}

func matches(pattern, file string) bool {
	if !strings.Contains(pattern, "/") {
		file = path.Base(file)
	}
	ok, _ := doublestar.Match(strings.TrimPrefix(pattern, "/"), file)
	return ok
}

// Level returns the part of a pattern for what is so many directories down, or "", and whether it is the last one.
func Level(pattern string, depth int) (part string, last bool) {
	rest, more := pattern, pattern != ""
	for ; more && depth >= 0; depth-- {
		part, rest, more = strings.Cut(rest, "/")
	}
	if depth >= 0 {
		return "", false
	}
	return part, !more
}

// Guesses are patterns that somebody may have meant by others, the likeliest first.
type Guesses []guess

// guess is a pattern, and how many files it matches.
type guess struct {
	pattern string
	files   int64
}

// Guess returns what a pattern may mean elsewhere: the end or a part of a name, a directory, a path from the root or from
// further down, a regexp, or any case.
func Guess(p string) Guesses {
	all := Guesses{}
	plain := strings.NewReplacer(".*", "*", `\.`, ".", "^", "", "$", "").Replace(p)
	likely := append(elsewhere(p), path.Base(p), plain, "*"+plain, p)
	if !strings.ContainsAny(p, `*?[{\/`) {
		likely = []string{p, p + "/", "*." + strings.TrimPrefix(p, "."), "*" + p, "*" + p + "*"}
	}
	for _, change := range []func(string) string{strings.Clone, strings.ToLower, strings.ToUpper} {
		for _, q := range likely {
			if q = change(q); q != p && !strings.Contains(q, "'") && Check(q) == nil {
				all = append(all, guess{pattern: q})
			}
		}
	}
	return all
}

// elsewhere returns what a path means further down in a tree, or from a directory on that it names.
func elsewhere(p string) (paths []string) {
	if strings.Contains(strings.Trim(p, "/"), "/") {
		paths = []string{"**/" + strings.TrimPrefix(p, "/")}
	}
	for _, rest, ok := strings.Cut(p, "/"); ok && rest != ""; _, rest, ok = strings.Cut(rest, "/") {
		if p[0] == '/' {
			paths = append(paths, "/"+rest)
		}
		paths = append(paths, rest)
	}
	return append(paths, strings.TrimSuffix(p, "/"))
}

// Add tries the guesses with one more file, or directory if dir is true.
func (g Guesses) Add(file string, dir bool) {
	for i := range g {
		if Match([]string{g[i].pattern}, file, dir) {
			g[i].files++
		}
	}
}

// Advice says what to write instead, in parentheses, or returns "".
func (g Guesses) Advice() string {
	for _, q := range g {
		if q.files > 0 {
			return fmt.Sprintf(" (write '%s', which matches %d)", q.pattern, q.files)
		}
	}
	return ""
}

// Choice is something that a URL with patterns in its path stands for.
type Choice struct {
	URL string // of a file; or of the directory in which Pattern chooses
	// of a path below the directory, decoded: each of its segments is a pattern of names; "" for the URL itself
	Pattern string
	Dirs    int // how many of the last directories of URL are the work of patterns
}

const mostChoices = 100_000

// Choices returns what a URL stands for. A list, which is {a,b}, [1-20] or [01-09:2], is written out as curl does it: all
// that it names must exist. From the first segment on that has *, ? or a set such as [a-z], the path is a Pattern, in which
// lists are alternatives: the servers tell what matches it. What is percent-encoded stands for itself.
func Choices(text string) (choices []Choice, err error) {
	scheme, rest, _ := strings.Cut(text, "://")
	host, rest, found := strings.Cut(rest, "/")
	if !found {
		return []Choice{{URL: text}}, nil
	}
	segments, pattern := strings.Split(rest, "/"), ""
	last := len(segments) - 1
	dirs := last
	if n := slices.IndexFunc(segments, wild); n >= 0 {
		if pattern, err = decoded(segments[n:]); err != nil {
			return nil, err
		}
		segments = append(segments[:n], "")
		dirs = n
	} else if segments[last] == "" { // the end of a directory's URL
		dirs--
	}
	paths, err := written(strings.Join(segments, "/"))
	chosen := slices.IndexFunc(segments, func(s string) bool { names, err := written(s); return err == nil && len(names) > 1 })
	if chosen < 0 {
		chosen = dirs
	}
	for _, path := range paths {
		choices = append(choices,
			Choice{scheme + "://" + host + "/" + path, pattern, max(0, dirs-chosen)})
	}
	return choices, err
}

var list = lazy.Regexp(`\{([^{}/]*)\}|\[(\d+)-(\d+)(?::(\d+))?\]`)
var percent = lazy.Regexp(`%([0-9A-Fa-f]{2})?`)

// wild reports whether servers must be asked what a segment names.
func wild(segment string) bool {
	return strings.ContainsAny(segment, "*?[{") &&
		strings.ContainsAny(list().ReplaceAllString(segment, ""), "*?[{")
}

func written(text string) ([]string, error) {
	at := list().FindStringSubmatchIndex(text)
	if at == nil {
		return []string{text}, nil
	}
	members, err := members(text[at[0]:at[1]])
	rest, rerr := written(text[at[1]:])
	if err = cmp.Or(err, rerr); err != nil || len(members)*len(rest) > mostChoices {
		return nil, cmp.Or(err, tooMany(text))
	}
	var all []string
	for _, m := range members {
		for _, r := range rest {
			all = append(all, text[:at[0]]+m+r)
		}
	}
	return all, nil
}

func tooMany(s string) error {
	return fmt.Errorf("%s stands for more than %d names: write -i with a list of URLs", s,
		mostChoices)
}

// members returns what a list stands for. The numbers of a range have as many digits as its first one.
func members(text string) (all []string, err error) {
	part := list().FindStringSubmatch(text)
	if from, to, dots := strings.Cut(part[1], ".."); dots && !strings.Contains(part[1], ",") {
		return nil, fmt.Errorf("%s is no list: write [%s-%s]", text, from, to)
	}
	if part[2] == "" {
		return strings.Split(part[1], ","), nil
	}
	first, err := strconv.Atoi(part[2])
	last, lerr := strconv.Atoi(part[3])
	step, _ := strconv.Atoi(cmp.Or(part[4], "1"))
	switch {
	case err != nil || lerr != nil || step == 0 || last < first:
		return nil, fmt.Errorf("the range %s is none: write [1-20], [01-20] or [1-20:2]", text)
	case (last-first)/step >= mostChoices:
		return nil, tooMany(text)
	}
	for n := first; n <= last; n += step {
		all = append(all, fmt.Sprintf("%0*d", len(part[2]), n))
	}
	return all, nil
}

// decoded returns the pattern of segments of a URL. A range of more than single digits becomes alternatives.
func decoded(segments []string) (string, error) {
	if last := len(segments) - 1; last > 0 && segments[last] == "" { // the directories that match
		segments = segments[:last]
	}
	for i, segment := range segments {
		var err error
		segment = list().ReplaceAllStringFunc(segment, func(text string) string {
			all, bad := members(text)
			err = errors.Join(err, bad)
			if len(text) == len("[1-9]") && text[0] == '[' || bad != nil {
				return text
			}
			return "{" + strings.Join(all, ",") + "}"
		})
		segments[i] = percent().ReplaceAllStringFunc(segment, func(code string) string {
			b, _ := hex.DecodeString(code[1:])
			switch {
			case len(b) == 0:
				err = fmt.Errorf(
					`the pattern %s has a "%%" that is not followed by two hexadecimal digits: write %%25 for a "%%" itself`, segment)
			case b[0] == '/':
				err = fmt.Errorf(
					"the pattern %s has %%2F: write it as a segment of its own, as in ftp://host/%%2F/*.gz", segment)
			case strings.IndexByte(`*?[]{}\!-^,`, b[0]) >= 0: // what was encoded stands for itself
				return `\` + string(b)
			}
			return string(b)
		})
		switch bad := Check(segments[i]); {
		case err != nil:
			return "", err
		case segment == "**":
			return "", errors.New(
				"** means nothing in a URL: leave out --glob, and write -r with --accept")
		case strings.Contains(segment, ";type="):
			return "", errors.New("a pattern has no ;type=: write --type a, i or guess")
		case bad != nil:
			return "", fmt.Errorf("the pattern %s is malformed: %w", segment, bad)
		}
	}
	return strings.Join(segments, "/"), nil
}

// Package glob matches names against shell patterns, and guesses the intended pattern when one matches nothing.
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

// Match reports whether one of the patterns matches a path, relative to the top of a tree. dir means that it is the
// path of a directory. A pattern without "/" is compared with the name. A pattern that begins with "/" or has one
// inside is compared with the path; "**" in it matches any number of directories. A pattern that ends in "/" matches
// directories and all that they contain.
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

// Level returns the part of a pattern for entries that are depth directories down, or "", and whether it is the last
// part.
func Level(pattern string, depth int) (part string, last bool) {
	rest := pattern
	more := pattern != ""
	for ; more && depth >= 0; depth-- {
		part, rest, more = strings.Cut(rest, "/")
	}
	if depth >= 0 {
		return "", false
	}
	return part, !more
}

// Guesses are patterns that a user may have meant by another pattern, likeliest first.
type Guesses []guess

// guess is a pattern and the number of files that it matches.
type guess struct {
	pattern string
	files   int64
}

// Guess returns what a pattern might mean in another program: the end or a part of a name, a directory, a path from the
// root or from further down, a regular expression, or a pattern that ignores case.
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

// elsewhere returns patterns for the path p further down in the tree, and for the path below each directory in p.
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

// Add counts the guesses that match a file, or a directory if dir is true.
func (g Guesses) Add(file string, dir bool) {
	for i := range g {
		if Match([]string{g[i].pattern}, file, dir) {
			g[i].files++
		}
	}
}

// From returns a note about what the path in a pattern is relative to, or "" for a pattern without a path.
func From(p string) string {
	if !strings.Contains(strings.TrimSuffix(p, "/"), "/") {
		return ""
	}
	return ": its path counts from the directory of the URL"
}

// Advice returns what to write instead, in parentheses, or "".
func (g Guesses) Advice() string {
	for _, q := range g {
		if q.files > 0 {
			return fmt.Sprintf(" (write '%s', which matches %d)", q.pattern, q.files)
		}
	}
	return ""
}

// Choice is one of the results of expanding a URL with patterns in its path.
type Choice struct {
	URL string // of a file, or of the directory that Pattern is relative to
	// Pattern is a pattern for paths below the directory, decoded, with a pattern for names in each segment; "" means
	// URL itself.
	Pattern string
	Dirs    int // how many of the last directories of URL come from lists
}

const mostChoices = 100_000

// Choices expands a URL. A list, such as {a,b}, [1-20] or [01-09:2], is expanded as curl does it, into URLs that must
// all exist, and so is a range of dates, such as {2026-11-01..2026-11-26} or {20261101..20261126..7}. From the first
// segment with *, ? or a set such as [a-z] on, the path becomes Pattern, in which lists are alternatives; the server's
// listings show what matches. Percent-encoded characters stand for themselves.
func Choices(text string) (choices []Choice, err error) { return expand(text, wild) }

// Pattern expands a URL into one choice, in which lists are alternatives of names too: not all of the files must exist.
func Pattern(text string) (Choice, error) {
	choices, err := expand(text, func(segment string) bool { return wild(segment) || list().MatchString(segment) })
	if err != nil {
		return Choice{URL: text}, err
	}
	return choices[0], nil
}

// acrossSegments matches a list that has a "/" in it.
var acrossSegments = lazy.Regexp(`\{[^{}]*/[^{}]*\}`)

// expand expands a URL, whose path becomes a pattern from the first segment on for which begins returns true.
func expand(text string, begins func(segment string) bool) (choices []Choice, err error) {
	scheme, rest, _ := strings.Cut(text, "://")
	host, rest, found := strings.Cut(rest, "/")
	if !found {
		return []Choice{{URL: text}}, nil
	}
	if wide := acrossSegments().FindString(rest); wide != "" {
		return nil, fmt.Errorf("the list %s has a / in it: write a list for each directory, as in 2026/11/{26,27}",
			wide)
	}
	segments := strings.Split(rest, "/")
	last := len(segments) - 1
	dirs := last
	pattern := ""
	if n := slices.IndexFunc(segments, begins); n >= 0 {
		pattern, err = decoded(segments[n:])
		if err != nil {
			return nil, err
		}
		segments = append(segments[:n], "")
		dirs = n
	} else if segments[last] == "" { // the URL of a directory ends in "/"
		dirs--
	}
	paths, err := written(strings.Join(segments, "/"))
	chosen := slices.IndexFunc(segments, list().MatchString)
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

// wild reports whether only a listing shows what a segment matches.
func wild(segment string) bool {
	return strings.ContainsAny(segment, "*?[{") &&
		strings.ContainsAny(list().ReplaceAllString(segment, ""), "*?[{")
}

// written returns the expansions of a text with lists.
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

// members returns the members of a list. The numbers of a range have as many digits as the first one.
func members(text string) (all []string, err error) {
	part := list().FindStringSubmatch(text)
	if strings.Contains(part[1], "..") && !strings.Contains(part[1], ",") {
		return dotted(text, part[1])
	}
	if part[2] == "" {
		return strings.Split(part[1], ","), nil
	}
	return numbers(text, part[2], part[3], cmp.Or(part[4], "1"))
}

// numbers returns the numbers of a range. text is the range for messages.
func numbers(text, from, to, by string) (all []string, err error) {
	first, err := strconv.Atoi(from)
	last, lerr := strconv.Atoi(to)
	step, _ := strconv.Atoi(by)
	switch {
	case err != nil || lerr != nil || step == 0 || last < first:
		return nil, fmt.Errorf("the range %s is none: write [1-20], [01-20] or [1-20:2]", text)
	case (last-first)/step >= mostChoices:
		return nil, tooMany(text)
	}
	for n := first; n <= last; n += step {
		all = append(all, fmt.Sprintf("%0*d", len(from), n))
	}
	return all, nil
}

// decoded returns the pattern for segments of a URL.
func decoded(segments []string) (string, error) {
	// Without the last slash, the pattern matches the directories too.
	if last := len(segments) - 1; last > 0 && segments[last] == "" {
		segments = segments[:last]
	}
	patterns := make([]string, len(segments))
	for i, segment := range segments {
		var err error
		patterns[i], err = decodedSegment(segment)
		if err != nil {
			return "", err
		}
	}
	return strings.Join(patterns, "/"), nil
}

// decodedSegment returns the pattern for a segment of a URL.
func decodedSegment(segment string) (string, error) {
	if r := dateRange().FindStringSubmatch(segment); r != nil {
		return "", fmt.Errorf("%s is a set of characters: write {%s..%s} for the days", r[0], r[1], r[3])
	}
	segment, wrong := alternatives(segment)
	pattern, err := unescape(segment)
	switch {
	case err != nil || wrong != nil:
		return "", cmp.Or(err, wrong)
	case segment == "**":
		return "", errors.New(
			"** means nothing in a URL: write its directory alone, with -r and --accept in place of --glob")
	case strings.Contains(segment, ";type="):
		return "", errors.New("a pattern has no ;type=: write --type a, i or guess")
	}
	if err := Check(pattern); err != nil {
		return "", fmt.Errorf("the pattern %s is malformed: %w", segment, err)
	}
	return pattern, nil
}

// alternatives rewrites the ranges in a segment as alternatives, except ranges of single digits.
func alternatives(segment string) (_ string, err error) {
	segment = list().ReplaceAllStringFunc(segment, func(text string) string {
		all, bad := members(text)
		err = cmp.Or(err, bad)
		if len(text) == len("[1-9]") && text[0] == '[' || bad != nil {
			return text
		}
		return "{" + strings.Join(all, ",") + "}"
	})
	return segment, err
}

// unescape decodes the percent-encoded characters in a segment, and escapes them so that they stand for themselves in a
// pattern.
func unescape(segment string) (_ string, err error) {
	pattern := percent().ReplaceAllStringFunc(segment, func(code string) string {
		b, _ := hex.DecodeString(code[1:])
		switch {
		case len(b) == 0:
			err = fmt.Errorf(`the pattern %s has a "%%" that is not followed by `+
				`two hexadecimal digits: write %%25 for a "%%" itself`, segment)
		case b[0] == '/':
			err = fmt.Errorf("the pattern %s has %%2F: "+
				"write it as a segment of its own, as in ftp://host/%%2F/*.gz", segment)
		case strings.IndexByte(`*?[]{}\!-^,`, b[0]) >= 0:
			return `\` + string(b)
		}
		return string(b)
	})
	return pattern, err
}

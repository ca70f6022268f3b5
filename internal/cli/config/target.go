package config

import (
	"encoding/hex"
	"errors"
	"os"
	"path"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"example.com/ftpfetch/urlparse"
)

func (l *line) targets(texts []string) []Target {
	targets := make([]Target, len(texts))
	for i, text := range texts {
		t, rest := &targets[i], text
		if l.Glob {
			rest, t.Pattern, t.Err = patternIn(text)
		}
		if t.Err == nil {
			t.URL, t.Err = l.parseURL(rest)
			l.hint(rest, t.Err)
		}
	}
	return targets
}

// hint lets the refusal of a URL say what the text may have been meant to be: a list, or a pattern of names.
func (l *line) hint(text string, err error) {
	var bad *urlparse.Error
	if !errors.As(err, &bad) {
		return
	}
	list, marked := strings.CutPrefix(text, "@")
	info, serr := os.Stat(list)
	dir, pattern, perr := patternIn(text)
	_, derr := urlparse.Parse(dir)
	switch {
	case !strings.Contains(text, "://") && (marked || serr == nil && info.Mode().IsRegular()):
		bad.Hint = "-i " + list + " fetches the URLs in that file"
	case l.Glob || perr != nil || pattern == "":
	case numbers().MatchString(text):
		bad.Hint = "for a range of numbers, write {1..20} without quotes: the shell makes a URL of each"
	case derr == nil:
		bad.Hint = "--glob takes it as a pattern of names"
	}
}

// numbers matches a range of numbers, as curl reads it.
var numbers = compiled(`\[([0-9]*[0-9]{2}-[0-9]+|[0-9]+-[0-9]{2,})\]`)

// wild are the characters that make a segment a pattern.
const wild = "*?[{"

// patternIn splits a URL whose last segment is a pattern: dir is the URL of the directory, and pattern the segment,
// decoded. The pattern is "" if there is none.
func patternIn(text string) (dir, pattern string, err error) {
	_, rest, _ := strings.Cut(text, "://")
	_, rest, _ = strings.Cut(rest, "/")
	dirs, name := path.Split(rest)
	switch {
	case strings.ContainsAny(dirs, wild):
		return text, "", Usage("a pattern works only in the last segment, not in %s: write %%2A for a \"*\" itself, and %%3F, %%5B and %%7B for ?, [ and {", dirs)
	case !strings.ContainsAny(name, wild):
		return text, "", nil
	case strings.Contains(name, ";type="):
		return text, "", Usage("a pattern has no ;type=: write --type a, i or guess")
	}
	pattern = percent().ReplaceAllStringFunc(name, func(code string) string {
		b, _ := hex.DecodeString(code[1:])
		switch {
		case len(b) == 0:
			err = Usage(`the pattern %s has a "%%" that is not followed by two hexadecimal digits: write %%25 for a "%%" itself`, name)
		case strings.IndexByte(`*?[]{}\!-^,`, b[0]) >= 0: // what was encoded stands for itself
			return `\` + string(b)
		}
		return string(b)
	})
	if bad := checkPattern(pattern); err == nil && bad != nil {
		err = Usage("the pattern %s is malformed: %v", name, bad)
	}
	return strings.TrimSuffix(text, name), pattern, err
}

var percent = compiled(`%([0-9A-Fa-f]{2})?`)

// checkPattern refuses a malformed pattern.
func checkPattern(p string) error {
	if !doublestar.ValidatePattern(p) {
		return errors.New(`close the bracket or brace, or write "\" before it if it stands for itself`)
	}
	return nil
}

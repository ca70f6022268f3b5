package config

import (
	"errors"
	"fmt"
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
			if t.URL, t.Err = urlparse.Parse(rest); t.Err == nil && !l.allowPort {
				if t.Err = t.URL.BadPort(); t.Err != nil {
					t.URL = nil
				}
			}
			l.hint(rest, t.Err)
		}
	}
	return targets
}

// hint lets the refusal of a URL say what the text may have been meant to be: a list,
// or a pattern of names.
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

// patternIn splits a URL whose last segment is a pattern: dir is the URL of the
// directory, and pattern the segment, decoded. The pattern is "" if there is none.
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
	if pattern, err = decodePattern(name); err == nil {
		if bad := checkPattern(pattern); bad != nil {
			err = Usage("the pattern %s is malformed: %v", name, bad)
		}
	}
	return strings.TrimSuffix(text, name), pattern, err
}

// decodePattern decodes %XX in a pattern. What was encoded stands for itself.
func decodePattern(s string) (string, error) {
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '%' {
			b.WriteByte(s[i])
			continue
		}
		var c byte
		if n, _ := fmt.Sscanf(s[i+1:min(i+3, len(s))], "%02x", &c); n == 0 || len(s) < i+3 {
			return "", Usage(`the pattern %s has a "%%" that is not followed by two hexadecimal digits: write %%25 for a "%%" itself`, s)
		}
		if strings.IndexByte(`*?[]{}\!-^,`, c) >= 0 {
			b.WriteByte('\\')
		}
		b.WriteByte(c)
		i += 2
	}
	return b.String(), nil
}

// checkPattern refuses a malformed pattern.
func checkPattern(p string) error {
	if !doublestar.ValidatePattern(p) {
		return errors.New(`close the bracket or brace, or write "\" before it if it stands for itself`)
	}
	return nil
}

package config

import (
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"path"
	"slices"
	"strings"

	"example.com/ftpfetch/internal/glob"
	"example.com/ftpfetch/urlparse"
)

// Parse reads a command line, which excludes the program's name. It returns an [*Error] if something is wrong with
// it, and in any case what it could read.
func Parse(args []string) (*Config, error) {
	r := read(args, "")
	r.settle()
	if r.Print == "help" && !slices.Contains(args, "--help") { // -h
		r.Print = "short"
	}
	switch {
	case r.wrong != nil:
		return &r.Config, correct(args)
	case r.Print != "":
		return &r.Config, nil
	}
	if texts := r.refused(); texts != nil {
		return &r.Config, &Error{Lines: texts}
	}
	if r.base != "" {
		text, bare := strings.TrimSuffix(r.base, "/"), strings.HasSuffix(r.base, "://")
		if bare {
			text = r.base + "any"
		}
		base, err := r.parseURL(text + "/")
		if err != nil {
			return &r.Config, fmt.Errorf("--base: %w", err)
		}
		if bare {
			base = &urlparse.URL{Scheme: base.Scheme}
		}
		r.Reading.Base = base
	}
	return &r.Config, nil
}

// Error says what is wrong with a command line and what to write instead, a line for each thing.
type Error struct {
	Lines []string
	Whole bool // the last one is the command as it should be
}

func (e *Error) Error() string { return strings.Join(e.Lines, "\n") }

// Usage returns an [*Error] of one line.
func Usage(format string, args ...any) error {
	return &Error{Lines: []string{fmt.Sprintf(format, args...)}}
}

// line is a command line while it is read: the Config, and what only its checks need.
type line struct {
	Config
	mode, base string
}

func (l *line) lists() bool { return l.Input != "" || l.Manifest != "" }

// settle sets what follows from the flags and the URLs together.
func (r *reader) settle() {
	l := r.line
	l.Targets = l.targets(r.operands)
	together := r.all.Changed("jobs")
	l.Many = l.lists() || l.Recursive || l.Glob || together && len(l.Targets) > 1
	l.Client.Active, l.Client.NoEPSV, l.Client.TryTLS = l.mode == "active", l.mode == "pasv", l.TLS == "try"
	l.Reading.AllowPort = l.Client.AllowPort
	switch {
	case l.PerHost != 0 || l.Jobs == 0:
	case together:
		l.PerHost = l.Jobs
	default:
		l.PerHost = 2 // as many as servers bear that nobody knows
	}
	l.StdinUser = l.User.Username()
	if len(l.Targets) == 1 && l.User == nil && l.Targets[0].Err == nil {
		l.StdinUser, l.StdinHost = l.Targets[0].URL.User.Username(), l.Targets[0].URL.Host
	}
}

// parseURL parses text, with the ports that are allowed.
func (l *line) parseURL(text string) (*urlparse.URL, error) {
	u, err := urlparse.Parse(text)
	if err == nil && !l.Client.AllowPort {
		err = u.BadPort()
	}
	if err != nil {
		return nil, err
	}
	return u, nil
}

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
	case derr == nil:
		bad.Hint = "--glob takes it as a pattern of names"
	}
}

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
	if bad := glob.Check(pattern); err == nil && bad != nil {
		err = Usage("the pattern %s is malformed: %v", name, bad)
	}
	return strings.TrimSuffix(text, name), pattern, err
}

var percent = compiled(`%([0-9A-Fa-f]{2})?`)

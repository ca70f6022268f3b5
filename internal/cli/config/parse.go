package config

import (
	"fmt"
	"strings"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/urlparse"
)

// Parse reads a command line, which excludes the program's name. It returns an [*Error] if something is wrong with
// it, and in any case what it could read.
func Parse(args []string) (*Config, error) {
	r := read(args, "")
	r.settle()
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
		base, err := r.parseURL(strings.TrimSuffix(r.base, "/") + "/")
		if err != nil {
			return &r.Config, fmt.Errorf("--base: %w", err)
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
	overwrite, noClobber bool
	mode, base           string
}

// lists reports whether the line names a list.
func (l *line) lists() bool { return l.Input != "" || l.Manifest != "" }

// settle sets what follows from the flags and the URLs together.
func (r *reader) settle() {
	l := r.line
	l.Targets = l.targets(r.operands)
	together := r.all.Changed("jobs")
	l.Many = l.lists() || l.Recursive || l.Glob || together && len(l.Targets) > 1
	switch {
	case l.overwrite:
		l.File.Existing = download.Overwrite
	case l.noClobber:
		l.File.Existing = download.Skip
	}
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

package config

import (
	"fmt"
	"net/url"
	"strings"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/urlparse"
)

// Parse reads a command line, which excludes the program's name. It returns an
// [*Error] if something is wrong with it, and in any case what it could read.
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
	return &r.Config, r.readBase()
}

// Error says what is wrong with a command line and what to write instead, a line for
// each thing.
type Error struct {
	Lines []string
	Whole bool // the last one is the command as it should be
}

func (e *Error) Error() string { return strings.Join(e.Lines, "\n") }

// Usage returns an [*Error] of one line.
func Usage(format string, args ...any) error {
	return &Error{Lines: []string{fmt.Sprintf(format, args...)}}
}

// line is a command line while it is read: the Config, and what only its checks
// need.
type line struct {
	Config
	overwrite, noClobber, together bool
	help, version                  bool
	login, mode, base              string
	loginGiven, allowPort          bool
}

// lists reports whether the line names a list.
func (l *line) lists() bool { return l.Input != "" || l.Manifest != "" }

// settle sets what follows from the flags and the URLs together.
func (r *reader) settle() {
	l := r.line
	l.Targets = l.targets(r.operands)
	l.Many = l.lists() || l.Recursive || l.Glob || l.together && len(l.Targets) > 1
	switch {
	case l.overwrite:
		l.File.Existing = download.Overwrite
	case l.noClobber:
		l.File.Existing = download.Skip
	}
	switch {
	case l.help:
		l.Print = "help"
	case l.version:
		l.Print = "version"
	}
	l.Client.Active, l.Client.NoEPSV = l.mode == "active", l.mode == "pasv"
	l.Client.TryTLS = l.TLS == "try"
	l.Reading.AllowPort, l.Client.AllowPort = l.allowPort, l.allowPort
	switch {
	case l.PerHost != 0 || l.Jobs == 0:
	case l.together:
		l.PerHost = l.Jobs
	default:
		l.PerHost = defaultPerHost
	}
	if l.loginGiven {
		name, password, ok := strings.Cut(l.login, ":")
		if l.User = url.User(name); ok {
			l.User = url.UserPassword(name, password)
		}
	}
	l.StdinUser = l.User.Username()
	if len(l.Targets) == 1 && l.User == nil && l.Targets[0].Err == nil {
		l.StdinUser, l.StdinHost = l.Targets[0].URL.User.Username(), l.Targets[0].URL.Host
	}
}

// readBase reads the value of --base, whose ports --allow-port frees.
func (l *line) readBase() error {
	if l.base == "" {
		return nil
	}
	base, err := urlparse.Parse(strings.TrimSuffix(l.base, "/") + "/")
	if err == nil && !l.allowPort {
		err = base.BadPort()
	}
	if err != nil {
		return fmt.Errorf("--base: %w", err)
	}
	l.Reading.Base = base
	return nil
}

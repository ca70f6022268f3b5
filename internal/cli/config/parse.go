package config

import (
	"errors"
	"fmt"
	"os"
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
	switch {
	case r.wrong != nil:
		return &r.Config, correct(args)
	case r.Print == "help" && !slices.Contains(args, "--help"):
		r.Print = "short"
		if r.Long || r.Info { // -h is that of ls and du
			r.Print, r.Human = "", true
		}
	}
	if r.Print != "" {
		return &r.Config, nil
	}
	if texts := r.refused(); texts != nil {
		return &r.Config, &Error{Lines: texts}
	}
	var err error
	if scheme, bare := strings.CutSuffix(r.base, "://"); bare {
		_, err = r.parseURL(r.base + "any/")
		r.Reading.Base = &urlparse.URL{Scheme: strings.ToLower(scheme)}
	} else if r.base != "" {
		r.Reading.Base, err = r.parseURL(strings.TrimSuffix(r.base, "/") + "/")
	}
	if err != nil {
		err = fmt.Errorf("--base: %w", err)
	}
	return &r.Config, err
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
	l.Targets, l.File.RetryConnect = l.targets(r.operands), r.given["retries"]
	together := r.given["jobs"]
	l.Many = l.lists() || l.Recursive || l.Glob || together && len(l.Targets) > 1
	l.Long = l.Long || !l.Many && (l.JSON && !l.Info || r.given["sort"])
	l.Client.Active, l.Client.NoEPSV, l.Client.TryTLS = l.mode == "active", l.mode == "pasv", l.TLS == "try"
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

// without switches off what hardly anybody has to.
func (r *reader) without(names string) {
	for name := range strings.FieldsFuncSeq(names, func(c rune) bool { return c == ',' || c == ' ' }) {
		if off := map[string]*bool{"pipelining": &r.Client.NoPipelining, "portcheck": &r.Client.AllowPort, "sandbox": &r.NoSandbox}[name]; off != nil {
			*off = true
			continue
		}
		r.complain("FTPFETCH_WITHOUT=%s: write pipelining, portcheck or sandbox, or several with commas", name)
		r.lost = true
	}
	r.Reading.AllowPort = r.Client.AllowPort
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

// targets returns what the URLs of the command line stand for.
func (l *line) targets(texts []string) (targets []Target) {
	for i, text := range texts {
		choices, err := []glob.Choice{{URL: text}}, error(nil)
		if l.Glob {
			choices, err = glob.Choices(text)
		}
		if err != nil {
			targets = append(targets, Target{Err: Usage("%v", err)})
		}
		for _, c := range choices {
			t := Target{Pattern: c.Pattern}
			if t.URL, t.Err = l.parseURL(c.URL); t.Err == nil {
				t.Under = slices.Clone(t.URL.Dirs[len(t.URL.Dirs)-c.Dirs:])
			}
			l.hint(c.URL, t.Err, i > 0 && i == len(texts)-1)
			targets = append(targets, t)
		}
	}
	return targets
}

// hint lets the refusal of a URL say what the text may have been meant to be: a list, a pattern, or, as the last, a place.
func (l *line) hint(text string, err error, last bool) {
	var bad *urlparse.Error
	if !errors.As(err, &bad) {
		return
	}
	list, marked := strings.CutPrefix(text, "@")
	info, serr := os.Stat(list)
	choices, gerr := glob.Choices(text)
	switch {
	case !strings.Contains(text, "://") && (marked || serr == nil && info.Mode().IsRegular()):
		bad.Hint = "-i " + list + " fetches the URLs in that file"
	case last && aPath().MatchString(text):
		bad.Hint = "-d DIR and -o FILE say where to save"
	case l.Glob || gerr != nil || choices[0].URL == text:
	default:
		if _, err := urlparse.Parse(choices[0].URL); err == nil {
			bad.Hint = "--glob takes it as a pattern of names"
		}
	}
}

// Package config reads the command line of ftpfetch: [Parse] returns a [Config], or everything that is wrong and the
// corrected command.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/ftpfetch/cmd/internal/mirror"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/glob"
	"example.com/ftpfetch/internal/lazy"
	"example.com/ftpfetch/internal/network/proxy"
	"example.com/ftpfetch/urlparse"
)

// Config is what a command line asks for, parsed and checked. It is a plain value.
type Config struct {
	Print   string        // in place of a run: help, short (help), version, man, bash, zsh or fish; "" for a run
	Written func() string // returns the words of the command line, for a shell, each after a space, without a password

	// What to retrieve.
	Targets         []Target
	Input, Manifest string           // lists; "-" is standard input
	Reading         manifest.Options // of lists
	Recursive, Glob bool
	Tree            download.Tree // which entries of a directory are wanted
	Charset         string        // of names on servers; "" for none
	Type            string        // a, i, d or guess, for URLs without a typecode

	// What to do with it.
	Info, Long, JSON, DryRun    bool
	Human                       bool   // sizes for people
	Sort                        string // name, time, size or none; "" is name for -l
	Reverse                     bool   // reverses Sort
	Output, Dir, Report         string
	Range                       *Range           // a part of the file; nil: all of it
	File                        download.Options // of each file
	Many                        bool             // several files at once
	Jobs, PerHost               int              // connections, in all and to one server; 0 Jobs: auto
	MaxTime                     time.Duration    // for a URL with its retries; 0: no limit
	LimitRate                   int64            // bytes a second; 0: no limit
	NoLedger, NoSandbox, Shared bool             // Shared: PerHost limits all runs that set Shared, together

	Newer, Continue bool // File.Existing says the same
	// About trees.
	Delete, Backup bool          // delete what the server no longer has; do so by moving it
	Excluded       bool          // Delete applies to what filters leave out too
	MaxAge         time.Duration // replaces NewerThan: the age of files at each look
	MaxDelete      int           // 0: 100; negative: none; math.MaxInt: all
	Watch          time.Duration // between two runs; 0: one run
	mirror.Filter                // which files

	// How to connect. The run sets Credentials, Dial, Proxy, Trace and TLSConfig.
	Client       ftpexec.Client
	IP           string // 4, 6, or an address of this machine to connect from; "" for any
	TLS          string // for ftp URLs: try, explicit, implicit or ""; the URLs with other schemes use TLS anyway
	CACert, Cert string // files
	Insecure     bool
	// RSA key exchange too, which reveals the past to whoever gets the server's key
	NoForwardSecrecy bool
	Proxy            *proxy.Proxy // from --proxy, for all hosts; nil if it names none
	ProxyGet         bool         // the proxy fetches files itself
	NoProxy          bool         // --proxy none: no proxy, not even one that the environment names

	// Who logs in.
	User                 *url.Userinfo // of -u
	PasswordStdin        bool
	StdinUser, StdinHost string // whom the password on standard input is for; no host means every host
	Netrc                string // a file, [UsualNetrc], [NoNetrc], or "": the usual one, for passwords only

	// What is shown.
	Verbose, Quiet bool
	Progress       string // bar, plain, json, none, or "": bar on a terminal, else plain
}

// MostJobs is the largest number of connections that makes sense.
const MostJobs = 64

// UsualNetrc and NoNetrc are values of Netrc that are not file names.
const UsualNetrc, NoNetrc = "~/.netrc", "none"

// Target is a URL of the command line.
type Target struct {
	URL     *urlparse.URL // unless Err is set
	Pattern string        // of paths below the directory URL; "" if there is none
	Under   []string      // the directories of URL that patterns matched; the file is saved under them
	Err     error         // why the text is not a URL
}

// Parse reads a command line without the program's name. It returns an [*Error] if something is wrong with it, and
// always what it could read.
func Parse(args []string) (*Config, error) {
	r := read(args, "")
	r.Written = r.written
	r.settle()
	switch {
	case r.wrong != nil:
		return &r.Config, correct(args)
	case r.Print == "help" && !slices.Contains(args, "--help"):
		r.Print = "short"
		if r.Long || r.Info { // as in ls and du, -h asks for readable sizes
			r.Print = ""
			r.Human = true
		}
	}
	if r.Print != "" {
		return &r.Config, nil
	}
	if texts := r.refused(); texts != nil {
		return &r.Config, &Error{Lines: texts}
	}
	if r.Base == "" {
		return &r.Config, nil
	}
	var err error
	r.Reading.Base, err = r.parseBase(r.Base)
	if err != nil {
		err = fmt.Errorf("--base: %w", err)
	}
	return &r.Config, err
}

// parseBase parses the value of --base: the URL of a directory, or a scheme alone, such as ftp://.
func (l *line) parseBase(text string) (*urlparse.URL, error) {
	scheme, bare := strings.CutSuffix(text, "://")
	if !bare {
		return l.parseURL(strings.TrimSuffix(text, "/") + "/")
	}
	_, err := l.parseURL(text + "any/")
	return &urlparse.URL{Scheme: strings.ToLower(scheme)}, err
}

// Error says what is wrong with a command line and what to write instead, one line for each mistake.
type Error struct {
	Lines []string
	Whole bool // the last line is the corrected command
}

func (e *Error) Error() string { return strings.Join(e.Lines, "\n") }

// Usage returns an [*Error] of one line.
func Usage(format string, args ...any) error {
	return &Error{Lines: []string{fmt.Sprintf(format, args...)}}
}

// line is a command line while it is read: the Config, and what only its checks need.
type line struct {
	Config
	Mode, Base string

	Overwrite, NoClobber bool // see existing
}

// settle sets what follows from several flags together.
func (r *reader) settle() {
	l := r.line
	l.Targets = l.targets(r.operands)
	together := r.all.Changed("jobs")
	l.Many = l.several(together)
	if !l.Many && l.Reading.KeepDirs {
		l.Many = true
		l.Jobs = 1
	}
	if !l.Many && (l.JSON && !l.Info || r.all.Changed("sort")) {
		l.Long = true
	}
	l.File.Existing = l.existing()
	l.Client.Active = l.Mode == "active"
	l.Client.NoEPSV = l.Mode == "pasv"
	l.Client.PassiveHost = l.Mode == "pasv-host"
	l.Client.TryTLS = l.TLS == "try"
	l.share()
	l.StdinUser = l.User.Username()
	if len(l.Targets) == 1 && l.User == nil && l.Targets[0].Err == nil {
		u := l.Targets[0].URL
		l.StdinUser = u.User.Username()
		l.StdinHost = u.Host
	}
}

// existing returns what to do with a file that exists. -N takes precedence over --overwrite.
func (l *line) existing() download.Existing {
	switch {
	case l.Newer && l.Continue:
		return download.NewerOrContinue
	case l.Newer:
		return download.Newer
	case l.Continue:
		return download.Continue
	case l.Overwrite:
		return download.Overwrite
	case l.NoClobber:
		return download.Skip
	}
	return ""
}

// several reports whether the command fetches many files, or depends on a server as such a command does: the dry run of
// -N. together says whether -j is given.
func (l *line) several(together bool) bool {
	lists := l.Input != "" || l.Manifest != ""
	compares := l.DryRun && l.Newer && l.Output == "" && l.File.Sum.Algorithm == ""
	return lists || compares || l.Recursive || l.Glob || together && len(l.Targets) > 1
}

// defaultJobs is how many connections lists and trees use if -j does not say it.
const defaultJobs = 4

// share sets how many connections one server gets.
func (l *line) share() {
	switch {
	case l.PerHost != 0:
		l.Client.MaxConns = l.PerHost
	case l.Shared:
		l.PerHost = cmp.Or(l.Jobs, defaultJobs)
	}
}

func (l *line) parseURL(text string) (*urlparse.URL, error) {
	u, err := urlparse.Parse(text)
	if err == nil && !l.Client.AllowPort {
		err = u.BadPort()
	}
	return u, err
}

func (l *line) targets(texts []string) (targets []Target) {
	for i, text := range texts {
		choices := []glob.Choice{{URL: text}}
		if l.Glob {
			var err error
			choices, err = glob.Choices(text)
			if err != nil {
				targets = append(targets, Target{Err: Usage("%v", err)})
			}
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

// hint lets the refusal of a URL say what the text may mean: a list, a pattern or, if it comes last, a place for the
// files.
func (l *line) hint(text string, err error, last bool) {
	var bad *urlparse.Error
	if !errors.As(err, &bad) {
		return
	}
	list, marked := strings.CutPrefix(text, "@")
	info, serr := os.Stat(list)
	regular := serr == nil && info.Mode().IsRegular()
	switch {
	case !strings.Contains(text, "://") && (marked && shown(list) == list || regular):
		bad.Hint = "-i " + list + " fetches the URLs in that file"
	case last && aPath().MatchString(text) && shown(text) == text:
		bad.Hint = l.place(text)
	case !l.Glob && isPattern(text):
		bad.Hint = "--glob takes it as a pattern of names"
	default:
		bad.Hint = cmp.Or(l.encoding(text), bad.Hint)
	}
}

// place returns the hint for a text that may name the place where files are to be saved.
func (l *line) place(text string) string {
	info, err := os.Stat(text)
	if l.Recursive || os.IsPathSeparator(text[len(text)-1]) || err == nil && info.IsDir() {
		return "-d " + text + " saves in that directory"
	}
	return "-o " + text + " saves under that name, -d " + text + " in that directory"
}

// encoding returns the hint for a URL that is valid once its path is percent-encoded.
func (l *line) encoding(text string) string {
	u, err := l.parseURL(encoded(text))
	if err != nil {
		return ""
	}
	return "write " + u.Redacted()
}

// encoded returns the text of a URL, with everything that may not stand in its path percent-encoded.
func encoded(text string) string {
	scheme, rest, _ := strings.Cut(text, "://")
	host, path, found := strings.Cut(rest, "/")
	if !found {
		return text
	}
	kind := strings.LastIndex(path, ";type=")
	text = scheme + "://" + host + "/"
	for i := range len(path) {
		stands := path[i] > ' ' && path[i] <= '~' && strings.IndexByte("#\"<>[]^`{|}\\", path[i]) < 0
		switch path[i] {
		case '%':
			stands = octet().MatchString(path[i:])
		case ';':
			stands = i == kind
		}
		if stands {
			text += path[i : i+1]
		} else {
			text += fmt.Sprintf("%%%02X", path[i])
		}
	}
	return text
}

var octet = lazy.Regexp(`^%[0-9A-Fa-f]{2}`)

// isPattern reports whether the text is no URL, but becomes one with --glob.
func isPattern(text string) bool {
	choices, err := glob.Choices(text)
	if err != nil || choices[0].URL == text {
		return false
	}
	_, err = urlparse.Parse(choices[0].URL)
	return err == nil
}

// readDelete reads the value that --delete may have.
func (l *line) readDelete(s string) error {
	on, err := strconv.ParseBool(s)
	l.Excluded = s == "excluded"
	l.Delete = on || l.Excluded
	if err != nil && !l.Excluded {
		return errors.New("write --delete or --delete=excluded")
	}
	return nil
}

// readNewer reads how old files may be, or since when they have changed.
func (l *line) readNewer(s string) (err error) {
	l.NewerThan = time.Time{}
	l.MaxAge, err = readTime(s)
	if err != nil {
		l.NewerThan, err = readMoment(s)
	}
	return err
}

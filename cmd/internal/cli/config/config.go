// Package config reads the command line of ftpfetch: [Parse] returns a [Config], or everything that is wrong and the
// corrected command.
package config

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"example.com/ftpfetch/cmd/internal/cli/show"
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

	Notes []string // what of the command line does not count

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
	Check                       bool   // compare the files here with the server's; implies DryRun
	Matches                     bool   // Long lists what the patterns of URLs match
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
	Once                        bool             // leave out what the ledger has, even if it is gone here
	Exec                        string           // a command for the shell, for each file; "" for none

	// About trees.
	Delete, Backup bool          // delete what the server no longer has; do so by moving it
	Excluded       bool          // Delete applies to what filters leave out too
	MaxAge         time.Duration // replaces NewerThan: the age of files at each look
	Since, Before  string        // replace NewerThan and OlderThan: today or yesterday, at each look
	MaxDelete      int           // files
	Watch          time.Duration // between two runs; 0: one run
	mirror.Filter                // which files

	// How to connect. The run sets Credentials, Dial, Proxy, Trace and TLSConfig.
	Client       ftpexec.Client
	IP           string // 4, 6, or an address of this machine to connect from; "" for any
	TLS          string // for ftp URLs: try, explicit, implicit or ""; the URLs with other schemes use TLS anyway
	CACert, Cert string // files
	Key          string // the file with the key of Cert; "" if that of Cert has it
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

	show.Flags // what is shown
}

// Compares reports whether an existing file is compared with the server's: -N and -c ask for that.
func (c *Config) Compares() bool { return c.Updates() || c.File.Existing == download.Continue }

// FindsFirst reports whether the files of trees and patterns are found first, and then retrieved one by one as single
// files are: all of them to standard output, or the newest of each URL under the name of -o.
func (c *Config) FindsFirst() bool {
	prints := c.Info || c.Long || c.JSON
	chosen := c.Output == "-" || c.Output != "" && c.Tree.Newest == 1
	return chosen && (c.Recursive || c.Glob) && !prints && !c.Check && !c.Reading.KeepDirs && !c.hasList()
}

// listsNewest reports whether -l lists the newest files of directories or patterns.
func (l *line) listsNewest() bool { return l.Tree.Newest > 0 && l.Long && !l.Recursive && !l.hasList() }

// OnlyShows reports whether the command shows something and fetches no file.
func (c *Config) OnlyShows() bool { return c.Long || c.JSON || c.Info || c.DryRun || c.Check }

// Updates reports whether an existing file is replaced if the server's is newer (-N).
func (c *Config) Updates() bool {
	return c.File.Existing == download.Newer || c.File.Existing == download.NewerOrContinue
}

// MostJobs is the largest number of connections that makes sense.
const MostJobs = 64

// defaultJobs is how many connections lists and trees use if -j does not say it.
const defaultJobs = 6

// UsualNetrc and NoNetrc are values of Netrc that are not file names.
const UsualNetrc, NoNetrc = "~/.netrc", "none"

// Target is a URL of the command line.
type Target struct {
	URL     *urlparse.URL // unless Err is set
	Pattern string        // of paths below the directory URL; "" if there is none
	Choice  bool          // URL is one of those that {a,b} or a range stands for
	Dirs    bool          // only directories match Pattern
	Under   []string      // the directories above it from the first list on; the file is saved under them
	Err     error         // why the text is not a URL
}

// Parse reads a command line without the program's name. It returns an [*Error] if something is wrong with it, and
// always what it could read.
func Parse(args []string) (*Config, error) {
	l := read(args, "")
	l.combine()
	l.Written = l.written
	if l.wrong == nil && scripted(args) != nil { // lftp -c 'get URL': here -c is another flag
		l.complain("there are no commands to send")
	}
	switch {
	case l.wrong != nil:
		return &l.Config, l.correct(args)
	case l.Print == "help" && !slices.Contains(args, "--help"):
		l.Print = "short"
		if l.Long || l.Info { // as in ls and du, -h asks for readable sizes
			l.Print = ""
			l.Human = true
		}
	}
	if l.Print != "" {
		return &l.Config, nil
	}
	if texts := l.refused(); texts != nil {
		return &l.Config, &Error{Lines: texts}
	}
	if l.listsNewest() { // a listing of files that must be chosen first
		l.Info = true
	}
	l.DryRun = l.DryRun || l.Check
	l.noteLog()
	if l.base == "" {
		return &l.Config, nil
	}
	var err error
	l.Reading.Base, err = l.parseBase(l.base)
	if err != nil {
		err = fmt.Errorf("--base: %w", err)
	}
	return &l.Config, err
}

// noteLog notes that -o names no log, as it does for wget.
func (l *line) noteLog() {
	if strings.HasSuffix(l.Output, ".log") && len(l.operands) == 1 && !strings.HasSuffix(l.operands[0], ".log") {
		l.Notes = append(l.Notes, "-o names the file that is fetched: 2>>"+l.Output+" at the end keeps what is said")
	}
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

// combine sets what follows from several flags together.
func (l *line) combine() {
	l.Matches = l.matches()
	l.Long = l.Long || l.Matches
	l.Glob = l.Glob || l.Matches || l.listsNewest() && slices.ContainsFunc(l.operands, hasPattern)
	l.Targets = l.targets(l.operands)
	l.File.Existing = l.existing()
	l.Many = l.several()
	if !l.Many && (l.Reading.KeepDirs || l.remembers()) {
		l.Many = true
		l.Jobs = 1
	}
	if !l.Many && (l.JSON && !l.Info || l.Sort != "") {
		l.Long = true
	}
	switch {
	case l.FindsFirst():
		l.Many = false
	case l.listsNewest():
		l.Many = true
	}
	l.combineLogin()
}

// combineLogin sets the connections and the login that follow from several flags together.
func (l *line) combineLogin() {
	l.Client.Active = l.mode == "active"
	l.Client.NoEPSV = l.mode == "pasv"
	l.Client.PassiveHost = l.mode == "pasv-host"
	l.Client.TryTLS = l.TLS == "try"
	switch {
	case l.PerHost != 0:
		l.Client.MaxConns = l.PerHost
	case l.Shared:
		l.PerHost = cmp.Or(l.Jobs, defaultJobs)
	}
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
	case l.newer && l.resume:
		return download.NewerOrContinue
	case l.newer:
		return download.Newer
	case l.resume:
		return download.Continue
	case l.overwrite:
		return download.Overwrite
	case l.noClobber:
		return download.Skip
	}
	return ""
}

// several reports whether the command fetches many files, or depends on a server as such a command does: the dry run of
// -N.
func (l *line) several() bool {
	together := len(l.Targets) > 1 && l.given("jobs")
	compares := l.DryRun && l.newer && l.Output == "" && l.File.Sum.Algorithm == ""
	globs := l.Glob && !l.Matches
	return l.hasList() || compares || l.Recursive || globs || together && !l.Matches || l.Check
}

// matches reports whether the command lists what patterns match. -l needs no --glob for that, and with a pattern
// --json and --sort mean -l as they do without.
func (l *line) matches() bool {
	lists := l.Long || !l.Glob && !l.DryRun && (l.JSON || l.Sort != "")
	others := l.Recursive || l.hasList() || l.Info || l.Check || l.Reading.KeepDirs || l.Tree.Newest > 0
	return lists && !others && (l.Glob || slices.ContainsFunc(l.operands, hasPattern))
}

// hasPattern reports whether a listing takes the text as a URL with a pattern. A name with "=" is more likely the query
// of a web URL.
func hasPattern(text string) bool {
	c, err := glob.Pattern(text)
	return err == nil && c.Pattern != "" && !strings.Contains(c.Pattern, "=")
}

// remembers reports whether the run depends on what the ledger says of each file.
func (l *line) remembers() bool { return l.Once || l.Exec != "" }

// hasList reports whether the files are those of a list.
func (c *Config) hasList() bool { return c.Input != "" || c.Manifest != "" }

func (l *line) parseURL(text string) (*urlparse.URL, error) {
	u, err := urlparse.Parse(text)
	if err == nil && !l.Client.AllowPort {
		err = u.BadPort()
	}
	return u, err
}

func (l *line) targets(texts []string) (targets []Target) {
	if err := l.toHost(texts); err != nil {
		return []Target{{Err: err}}
	}
	if url := unquoted(texts); url != "" && !l.Matches && !l.Glob {
		if u, err := l.parseURL(url); err == nil {
			return []Target{{Err: Usage("blanks cannot stand in a URL: write '%s'", u.Redacted())}}
		}
	}
	for i, text := range texts {
		choices, err := l.choices(text)
		if err != nil {
			targets = append(targets, Target{Err: Usage("%v", err)})
		}
		for _, c := range choices {
			t := Target{Pattern: c.Pattern, Choice: c.URL != text}
			t.Dirs = c.Pattern != "" && strings.HasSuffix(text, "/")
			if t.URL, t.Err = l.parseURL(c.URL); t.Err == nil {
				t.Under = slices.Clone(t.URL.Dirs[len(t.URL.Dirs)-c.Dirs:])
			}
			l.hint(c.URL, t.Err, i > 0 && i == len(texts)-1)
			targets = append(targets, t)
		}
	}
	return targets
}

// choices returns what a text with patterns stands for, if it may have some.
func (l *line) choices(text string) ([]glob.Choice, error) {
	switch {
	case l.Matches, l.Glob && l.Tree.Newest > 0:
		c, err := glob.Pattern(text)
		if err != nil {
			return nil, err
		}
		return []glob.Choice{c}, nil
	case l.Glob:
		return glob.Choices(text)
	}
	return []glob.Choice{{URL: text}}, nil
}

// hint lets the refusal of a URL say what the text may mean: a list, a pattern or, if it comes last, a place for the
// files.
func (l *line) hint(text string, err error, last bool) {
	var bad *urlparse.Error
	if !errors.As(err, &bad) {
		return
	}
	if word := l.ofWord(text); word != "" {
		bad.Hint = word
		return
	}
	list, marked := strings.CutPrefix(text, "@")
	switch {
	case !strings.Contains(text, "://") && (marked && shown(list) == list || isFile(list)):
		bad.Hint = "-i " + list + " fetches the URLs in that file"
	case last && aPath().MatchString(text) && shown(text) == text:
		bad.Hint = l.place(text)
	case !l.Glob && isPattern(text):
		bad.Hint = "--glob takes it as a pattern of names" + afterLead("; for a file of that name, ", l.encoding(text))
	case hasRange().MatchString(text):
		if _, err := glob.Choices(text); err != nil {
			bad.Hint = "as a pattern, " + err.Error()
		}
	default:
		bad.Hint = cmp.Or(inPassword(text), ofDate(text), l.encoding(text), bad.Hint)
	}
}

// afterLead returns text after lead, or "" if it is empty.
func afterLead(lead, text string) string {
	if text == "" {
		return ""
	}
	return lead + text
}

func isDirectory(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.IsDir()
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// ofWord returns the hint for a word that other programs take: a command, a place of rsync, or a log.
func (l *line) ofWord(text string) string {
	switch {
	case l.File.Verify && ofDigests().MatchString(text):
		return "--verify finds the list beside the file; --manifest URL/" + text + " takes one"
	case text == "-" && len(l.operands) > 1:
		return "-o - writes to standard output"
	case text == "-":
		return "-i - reads URLs from standard input"
	case aCommand().MatchString(text),
		l.Netrc == UsualNetrc && len(l.operands) == 1 && aHost().MatchString(text): // ftp -n HOST
		return "there are no commands to send: write ftp://host/path/file"
	case ofDaemon().MatchString(text):
		host, path, _ := strings.Cut(text, "::")
		return "write ftp://" + host + "/" + path
	case strings.HasSuffix(text, ".log") && plain().MatchString(text) && !strings.ContainsAny(text, "/@:"):
		return "2>>" + text + " at the end keeps what is said"
	}
	return ""
}

// toHost returns an error for words that name a host and what to do there, as for ftp(1) and ncftpget.
func (l *line) toHost(texts []string) error {
	private := func(text string) bool { return strings.ContainsAny(text, "@:") }
	if slices.ContainsFunc(texts, private) {
		return nil
	}
	first := func(words ...string) bool { return len(texts) > 0 && slices.Contains(words, texts[0]) }
	switch {
	case first("put", "mput", "upload") && len(texts) > 1:
		return Usage("nothing can be uploaded: files are only fetched")
	case first("open", "ftp", "connect", "ncftp", "lftp", "sftp") && len(texts) == 2 && aName().MatchString(texts[1]):
		return Usage("there are no commands to send: write ftpfetch ftp://%s/, or a path after it", texts[1])
	case len(texts) == 3 && aHost().MatchString(texts[0]) && !isFile(texts[0]) &&
		!slices.ContainsFunc(texts, urlStart().MatchString):
		return l.ofNcftpget(texts[0], texts[1], texts[2])
	}
	return nil
}

// ofNcftpget returns the error for the words of ncftpget: a host, a directory here, and a file.
func (l *line) ofNcftpget(host, dir, file string) error {
	flags := ""
	if strings.ContainsAny(file, "*?[{") {
		flags = "--glob "
	}
	if name := l.User.Username(); name != "" {
		flags += "-u " + quoted(name) + " "
	}
	if dir != "." {
		flags += "-d " + quoted(dir) + " "
	}
	return Usage("write ftpfetch %s%s", flags, quoted("ftp://"+host+"/"+strings.TrimPrefix(file, "/")))
}

// aName matches a word that may be the name of a host.
var aName = lazy.Regexp(`^[A-Za-z0-9][A-Za-z0-9.-]*$`)

// unquoted returns the URL that a shell has split at its blanks, if it is likely that it has.
func unquoted(texts []string) string {
	odd := func(text string) bool { return strings.ContainsAny(text, "@:") || number().MatchString(text) }
	if len(texts) < 3 || !urlStart().MatchString(texts[0]) || slices.ContainsFunc(texts[1:], odd) {
		return ""
	}
	return encoded(strings.Join(texts, " "))
}

// ofDigests matches the usual names of lists of digests.
var ofDigests = lazy.Regexp(`^[A-Za-z0-9._-]*((SUMS|sums?)([.]txt)?|[.](md5|sha1|sha256|sha512))$`)

// aCommand matches a command with which clients are told what to do.
var aCommand = lazy.Regexp(`^(open|user|cd|lcd|get|mget|pget|mirror|ls|cat|set|binary|prompt) `)

// ofDaemon matches a place as rsync writes it.
var ofDaemon = lazy.Regexp(`^[A-Za-z0-9.-]+::[A-Za-z0-9_./-]*$`)

// inPassword returns the hint for a URL that may have a "/" and an "@" in its password.
func inPassword(text string) string {
	_, rest, _ := strings.Cut(text, "://")
	login, path, _ := strings.Cut(rest, "/")
	if !strings.Contains(login, "@") || !strings.Contains(path, "@") {
		return ""
	}
	return `if the password goes on after "/", write %40, %3A, %2F and %23 for "@", ":", "/" and "#" in it`
}

// ofDate returns the hint for a URL with the parts of a date, as date(1) writes them.
func ofDate(text string) string {
	rest := dateParts().ReplaceAllString(text, "")
	inShell := plain().MatchString(rest) && !strings.Contains(text, "@") // within double quotes
	if rest == text || !inShell || octet().MatchString(rest) || hexDay().MatchString(text) {
		return ""
	}
	return `the shell fills in the date: write "` + dateParts().ReplaceAllString(text, "$$(date +$0)") + `"`
}

// hexDay matches an encoded octet that looks like the day of a date: of %d0, say.
var hexDay = lazy.Regexp(`%d[0-9a-fA-F]`)

var dateParts = lazy.Regexp(`%[YmdHjy]([-_.]?%[YmdHMSjy])*`)

// hasRange matches a URL with a range in braces. As a pattern it is wrong: others are known by isPattern.
var hasRange = lazy.Regexp(`\{[^{}]*\.\.[^{}]*\}`)

// onHost returns the hint for a port or a path that follows a host as a word of its own.
func onHost(host, text string) string {
	if number().MatchString(text) {
		return "write ftp://" + host + ":" + text + "/ and the path"
	}
	return "write ftp://" + host + "/" + strings.TrimPrefix(text, "/")
}

// aHost matches a word that looks like the name or the address of a host.
var aHost = lazy.Regexp(`^[A-Za-z0-9-]+([.][A-Za-z0-9-]+)+$`)

// place returns the hint for a text that may name the place where files are to be saved.
func (l *line) place(text string) string {
	before := l.operands[len(l.operands)-2]
	if len(l.operands) == 2 && aHost().MatchString(before) && shown(text) == text {
		return onHost(before, text)
	}
	if strings.ContainsAny(text, "*?") && strings.HasSuffix(before, "/") && !strings.Contains(before, "@") {
		return "--glob '" + before + text + "' fetches what matches"
	}
	isDir := isDirectory(text)
	named := l.Recursive && !strings.HasSuffix(before, "/") // the name of the tree stays, as with cp -r
	switch {
	case named && filepath.Clean(text) == ".":
		return "leave it out: the tree is saved here, under its name"
	case named && isDir:
		return "-d " + text + " --keep-dirs=1 saves the tree in that directory, under its name"
	case l.Recursive || os.IsPathSeparator(text[len(text)-1]) || isDir:
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
	return "write " + quoted(u.Redacted())
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

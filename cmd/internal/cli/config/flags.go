package config

import (
	"cmp"
	_ "embed"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"os"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"

	"example.com/ftpfetch/docs"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/internal/glob"
	"example.com/ftpfetch/internal/lazy"
	"example.com/ftpfetch/internal/network/proxy"
)

// helpText is the help in three parts: the common beginning, the rest of -h, and the rest of --help, which is the one
// table of the flags. FORMS stands for the forms of lists, which package manifest knows.
//
//go:embed help.txt
var helpText string

// Text returns the text that [Config.Print] names.
func Text(print string) string {
	parts := strings.Split(helpText, "---\n")
	switch print {
	case "short":
		return parts[0] + parts[1]
	case "help":
		return withForms(parts[0] + parts[2])
	case "version":
		of := "" // version between releases includes the time and the commit
		if info, ok := debug.ReadBuildInfo(); ok {
			of = info.Main.Version
		}
		return "ftpfetch " + cmp.Or(release, of, "(devel)") +
			"\nbuilt by " + runtime.Version() + " for " + runtime.GOOS + "/" + runtime.GOARCH + "\n"
	case "man":
		return docs.Man
	}
	_, script, _ := strings.Cut(completions, "--- "+print+"\n")
	script, _, _ = strings.Cut(script, "--- ")
	return withForms(script)
}

func withForms(text string) string {
	return strings.ReplaceAll(text, "FORMS", strings.Join(manifest.Formats(), " "))
}

// completions are the scripts for shells, each after a line with the shell's name. TestCompletions makes them from the
// help.
//
//go:embed completions.txt
var completions string

// release is the version of a build from an archive, which has no version control data. Packagers set it:
//
//	go build -ldflags '-X example.com/ftpfetch/cmd/internal/cli/config.release=v1.2.3'
var release string

// flag is a flag that the help describes. A row of the help looks like this:
//
//	-n, --netrc[=FILE]          take the user too from ~/.netrc, or from FILE, if
type flag struct {
	name, letter, value string // value is a placeholder for the value, or ""
	bare                bool   // the flag works without a value
}

var flags = sync.OnceValue(func() (all []*flag) {
	for line := range strings.Lines(strings.Split(helpText, "---\n")[2]) {
		text := strings.TrimSpace(line)
		if indent := strings.Index(line, text); indent > 6 || !strings.HasPrefix(text, "-") {
			continue
		}
		row, _, _ := strings.Cut(text, "  ")
		letter, long, _ := strings.Cut(row, "--")
		name, value, takes := strings.Cut(long, " ")
		name, optional, _ := strings.Cut(name, "[=")
		all = append(all, &flag{
			name:   name,
			letter: strings.Trim(letter, "-, "),
			value:  value + strings.TrimSuffix(optional, "]"),
			bare:   !takes,
		})
	}
	return all
})

func lookup(spelling string) *flag {
	for _, f := range flags() {
		if spelling == "--"+f.name || f.letter != "" && spelling == "-"+f.letter {
			return f
		}
	}
	return nil
}

// String returns the shortest spelling of the flag.
func (f *flag) String() string {
	if f.letter != "" {
		return "-" + f.letter
	}
	return "--" + f.name
}

// readers returns the functions that read the values of flags whose field and help do not tell how; see field.
func (l *line) readers() map[string]func(string) error {
	return map[string]func(string) error{
		"input":       readList(&l.Input),
		"manifest":    readList(&l.Manifest),
		"format":      into(&l.Reading.Format, oneOf(manifest.Formats())),
		"shard":       into(&l.Reading.Shard, readShard),
		"depth":       into(&l.Tree.Depth, whole(1, 0)),
		"jobs":        into(&l.Jobs, or("auto", 0, whole(1, MostJobs))),
		"per-host":    into(&l.PerHost, whole(1, MostJobs)),
		"segments":    into(&l.File.Segments, or("auto", download.AutoSegments, whole(1, 64))),
		"retries":     into(&l.File.Retries, readRetries),
		"speed-limit": l.readPace,
		"checksum":    into(&l.File.Sum, digest.Parse),
		"max-delete":  into(&l.MaxDelete, or("all", math.MaxInt, readRetries)),
		"newer-than":  l.readNewer,
		"delete":      l.readDelete,
		"range":       into(&l.Range, readRange),
		"user":        into(&l.User, readLogin),
		"proxy":       into(&l.Proxy, l.readProxy),
		"ip":          into(&l.IP, readIP),
		"help":        into(&l.Print, readHelp),
		"version":     func(string) error { l.Print = "version"; return nil },
	}
}

// field returns the address of the field that has the flag's name: --dry-run sets DryRun.
func (l *line) field(flag string) any {
	name := strings.ReplaceAll(flag, "-", "")
	for _, all := range []any{l, &l.File, &l.Tree, &l.Reading, &l.Client} {
		is := func(field string) bool { return strings.EqualFold(field, name) }
		if field := reflect.ValueOf(all).Elem().FieldByNameFunc(is); field.IsValid() {
			return field.Addr().Interface()
		}
	}
	return nil
}

func (l *line) declare() *pflag.FlagSet {
	l.Jobs = defaultJobs
	l.File.Segments = 1
	l.Client.ConnectTimeout = 30 * time.Second
	l.Client.Timeout = time.Minute
	all := pflag.NewFlagSet("", pflag.ContinueOnError)
	readers := l.readers()
	for _, f := range flags() {
		set := readers[f.name]
		if set == nil {
			switch to := l.field(f.name).(type) {
			case *bool:
				all.BoolVarP(to, f.name, f.letter, false, "")
				continue
			case *string:
				set = into(to, f.read)
			case *time.Duration:
				set = into(to, readTime)
			case *int64:
				set = into(to, ReadSize)
			case *[]string: // may be given repeatedly
				set = into(to, func(s string) ([]string, error) { return append(*to, s), f.check(s) })
			}
		}
		if f.bare {
			all.BoolFuncP(f.name, f.letter, "", set)
		} else {
			all.FuncP(f.name, f.letter, "", set)
		}
	}
	all.Lookup("netrc").NoOptDefVal = UsualNetrc
	return all
}

func into[T any](to *T, read func(string) (T, error)) func(string) error {
	return func(text string) error {
		v, err := read(text)
		if err == nil {
			*to = v
		}
		return err
	}
}

// read reads a value that is kept as it is: one of the words that the help lists for the flag, or a name. It returns ""
// for a word that means the default.
func (f *flag) read(s string) (string, error) {
	words := strings.Split(f.value, "|")
	if len(words) == 1 {
		return readName(s)
	}
	word, err := oneOf(words)(s)
	if word == "off" || word == "auto" {
		word = ""
	}
	return word, err
}

// oneOf returns a function that reads one of the words.
func oneOf(words []string) func(string) (string, error) {
	return func(s string) (string, error) {
		last := len(words) - 1
		if !slices.Contains(words, s) {
			return "", fmt.Errorf("write %s or %s", strings.Join(words[:last], ", "), words[last])
		}
		return s, nil
	}
}

// readList returns a function that reads the name of a list. It refuses a second list, which would silently replace the
// first.
func readList(to *string) func(string) error {
	return into(to, func(s string) (string, error) {
		if *to != "" {
			return "", errors.New("is a second list: merge the two into one")
		}
		return readName(s)
	})
}

// or returns a function that reads a number, or the word that stands for the number means.
func or(word string, means int, read func(string) (int, error)) func(string) (int, error) {
	return func(s string) (n int, err error) {
		if s == word {
			return means, nil
		}
		if n, err = read(s); err != nil {
			err = fmt.Errorf("%w, or %s", err, word)
		}
		return n, err
	}
}

// readLogin reads NAME[:PASSWORD]. Nothing is decoded.
func readLogin(s string) (*url.Userinfo, error) {
	if strings.ContainsAny(s, "\r\n\x00") {
		return nil, errors.New("the value contains a line end or NUL")
	}
	if name, password, ok := strings.Cut(s, ":"); ok {
		return url.UserPassword(name, password), nil
	}
	if strings.Contains(s, ",") { // lftp's NAME,PASSWORD, which would be shown because it looks like a name
		return nil, errors.New("write NAME or NAME:PASSWORD, or a name with a comma in the URL")
	}
	return url.User(s), nil
}

// readPace reads the lowest acceptable rate, and the time over which it is averaged.
func (l *line) readPace(s string) (err error) {
	text, over, timed := strings.Cut(s, "/")
	l.Client.MinRate, err = ReadSize(text)
	if text == "0" {
		l.Client.MinRate = -1
		err = nil
	}
	l.Client.MinRateTime = 0
	if err == nil && timed {
		l.Client.MinRateTime, err = readTime(over)
	}
	return err
}

func (l *line) readProxy(s string) (*proxy.Proxy, error) {
	s, l.ProxyGet = strings.CutPrefix(s, "get+")
	if l.NoProxy = s == "" || s == "none"; l.NoProxy && !l.ProxyGet {
		return nil, nil
	}
	p, err := proxy.Parse(s)
	if l.ProxyGet && (l.NoProxy || err == nil && !p.HTTP()) {
		return nil, errors.New("only an HTTP proxy fetches files itself: write get+http://host:port")
	}
	return p, err
}

// check returns what is wrong with a value that is a pattern of names.
func (f *flag) check(s string) error {
	if f.value != "GLOB" {
		return nil
	}
	if strings.Contains(inBraces().ReplaceAllString(s, ""), ",") {
		return fmt.Errorf(`is one pattern: write --%s for each pattern, or {a,b}, or "\," for a comma in names`, f.name)
	}
	return glob.Check(s)
}

// inBraces matches the parts of a pattern in which a comma does not separate patterns, as it does in wget's --accept.
var inBraces = lazy.Regexp(`\\.|\{[^{}]*\}|\[[^\]]*\]`)

func readName(s string) (string, error) {
	if s == "" {
		return "", errors.New("write a name")
	}
	return s, nil
}

// whole returns a function that reads a whole number from least to most. If most is 0 there is no upper limit.
func whole(least, most int) func(string) (int, error) {
	return func(s string) (int, error) {
		n, err := strconv.Atoi(s)
		switch {
		case err == nil && n >= least && (most == 0 || n <= most):
			return n, nil
		case most == 0:
			return 0, fmt.Errorf("write a whole number from %d", least)
		}
		return 0, fmt.Errorf("write a whole number from %d to %d", least, most)
	}
}

func readRetries(s string) (int, error) {
	n, err := whole(0, 0)(s)
	return cmp.Or(n, -1), err
}

func readIP(s string) (string, error) {
	if _, err := netip.ParseAddr(s); err != nil && s != "4" && s != "6" {
		return "", errors.New("write 4, 6 or an IP address of this machine")
	}
	return s, nil
}

func readHelp(s string) (string, error) {
	if s == "true" {
		return "help", nil
	}
	return lookup("-h").read(s)
}

func readTime(s string) (time.Duration, error) {
	t, err := time.ParseDuration(s)
	number, days := strings.CutSuffix(s, "d")
	seconds, perr := strconv.ParseFloat(number, 64)
	if days {
		seconds *= 24 * 60 * 60
	}
	if perr == nil && math.Abs(seconds) < 1e9 {
		t = time.Duration(seconds * float64(time.Second))
		err = nil
	}
	if err != nil || t <= 0 {
		return 0, errors.New("write a time such as 90, 3s, 2m or 7d")
	}
	return t, nil
}

// readMoment reads a time, in UTC unless it names a zone. If s names a file, it takes the file's time.
func readMoment(s string) (time.Time, error) {
	for _, form := range []string{time.RFC3339, "2006-01-02T15:04", time.DateOnly} {
		if t, err := time.Parse(form, s); err == nil {
			return t, nil
		}
	}
	info, err := os.Stat(s)
	if err != nil {
		return time.Time{}, errors.New(
			"write a time such as 1h, 2006-01-02 or 2006-01-02T15:04:05Z, or the name of a file")
	}
	return info.ModTime(), nil
}

// ReadSize reads a number of bytes, plain or with a binary unit K, M or G: 4096, 500K, 1.5m.
func ReadSize(s string) (int64, error) {
	digits, unit := s, 1.0
	if i := len(s) - 1; i >= 0 {
		if power := strings.IndexByte("KMG", s[i]&^0x20); power >= 0 {
			digits = s[:i]
			unit = math.Pow(1024, float64(power+1))
		}
	}
	n, err := strconv.ParseFloat(digits, 64)
	n = math.Floor(n * unit)
	switch {
	case err != nil || strings.Trim(digits, "0123456789.") != "" || unit == 1 && strings.Contains(digits, "."):
		return 0, errors.New("write bytes such as 500K, 1.5M, 2G or 4096 (K, M and G are binary)")
	case n < 1 || n > 1<<53:
		return 0, errors.New("write at least 1 and at most 8388608G bytes; without the flag there is no limit")
	}
	return int64(n), nil
}

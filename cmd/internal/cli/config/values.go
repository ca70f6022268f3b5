package config

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/ftpfetch/internal/glob"
	"example.com/ftpfetch/internal/lazy"
	"example.com/ftpfetch/internal/network/proxy"
)

// into returns a function that reads a value into to.
func into[T any](to *T, read func(string) (T, error)) func(string) error {
	return func(text string) error {
		v, err := read(text)
		if err == nil {
			*to = v
		}
		return err
	}
}

// appendTo does the same for a flag that may be repeated.
func appendTo(to *[]string, read func(string) (string, error)) func(string) error {
	return func(text string) error {
		v, err := read(text)
		if err == nil {
			*to = append(*to, v)
		}
		return err
	}
}

func readAny(s string) (string, error) { return s, nil }

func readName(s string) (string, error) {
	if s == "" {
		return "", errors.New("write a name")
	}
	return s, nil
}

// readCommand reads the command of --exec. It refuses one that is not told which file: in double quotes, the shell that
// runs ftpfetch has replaced "$1" already.
func readCommand(s string) (string, error) {
	switch {
	case strings.TrimSpace(s) == "":
		return "", errors.New("write a command")
	case strings.Contains(s, "$"):
		return s, nil
	case strings.Contains(s, "{}"):
		return "", errors.New(`write "$1" in place of {}, and the command in single quotes`)
	}
	return "", errors.New(`the command is not told which file: write '... "$1"', in single quotes`)
}

// oneOf returns a function that reads one of the words. It returns "" for off and auto, which mean the default.
func oneOf(words []string) func(string) (string, error) {
	return func(s string) (string, error) {
		last := len(words) - 1
		switch {
		case !slices.Contains(words, s):
			return "", fmt.Errorf("write %s or %s", strings.Join(words[:last], ", "), words[last])
		case s == "off", s == "auto":
			return "", nil
		}
		return s, nil
	}
}

// readPage reads what --help prints: the help itself or another page.
func readPage(s string) (string, error) {
	if s == "help" || s == "true" {
		return "help", nil
	}
	return oneOf(strings.Split(pages, "|"))(s)
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

// readGlob returns a function that reads a pattern of names for the flag.
func readGlob(flag string) func(string) (string, error) {
	return func(s string) (string, error) {
		if strings.Contains(inBraces().ReplaceAllString(s, ""), ",") {
			return "", fmt.Errorf("is one pattern: "+
				`write --%s for each pattern, or {a,b}, or "\," for a comma in names`, flag)
		}
		return s, glob.Check(s)
	}
}

// inBraces matches the parts of a pattern in which a comma does not separate patterns, as it does in wget's --accept.
var inBraces = lazy.Regexp(`\\.|\{[^{}]*\}|\[[^\]]*\]`)

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

// readRetries reads a number of retries. Whoever gives one wants them also while the server cannot be reached.
func (l *line) readRetries(s string) error {
	n, err := whole(0, 0)(s)
	l.File.Retries = cmp.Or(n, -1) // 0 is the default
	l.File.RetryUnreached = true
	return err
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

// readKeepDirs reads how many directories of a URL are kept: all, without a number.
func (l *line) readKeepDirs(s string) (err error) {
	l.Reading.MostDirs = 0
	if l.Reading.KeepDirs, err = strconv.ParseBool(s); err == nil && s != "1" && s != "0" {
		return nil
	}
	l.Reading.MostDirs, err = strconv.Atoi(s)
	l.Reading.KeepDirs = err == nil && l.Reading.MostDirs > 0
	if !l.Reading.KeepDirs {
		err = errors.New("write --keep-dirs, or a whole number from 1, as in --keep-dirs=1")
	}
	return err
}

func readIP(s string) (string, error) {
	if _, err := netip.ParseAddr(s); err != nil && s != "4" && s != "6" {
		return "", errors.New("write 4, 6 or an IP address of this machine")
	}
	return s, nil
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

// brief writes a time as people do: 1m in place of 1m0s.
func brief(t time.Duration) string {
	text := t.String()
	if strings.HasSuffix(text, "m0s") {
		text = strings.TrimSuffix(text, "0s")
	}
	return text
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

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

	"github.com/spf13/pflag"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/glob"
	"example.com/ftpfetch/internal/proxy"
	"example.com/ftpfetch/internal/retry"
)

// flags declares every flag, with the letters that the help has.
func (l *line) flags() *pflag.FlagSet {
	fs := pflag.NewFlagSet("", pflag.ContinueOnError)
	for name, to := range map[string]*bool{
		"newer": &l.File.Newer, "continue": &l.File.Continue, "overwrite": &l.File.Overwrite,
		"no-clobber": &l.File.Skip, "no-sandbox": &l.NoSandbox, "long": &l.Long, "info": &l.Info, "json": &l.JSON,
		"dry-run": &l.DryRun, "keep-dirs": &l.Reading.KeepDirs, "no-ledger": &l.NoLedger, "recursive": &l.Recursive,
		"glob": &l.Glob, "follow-links": &l.Tree.FollowLinks, "no-pipelining": &l.Client.NoPipelining,
		"retry-connrefused": &l.File.RetryConnect, "verify": &l.File.Verify, "password-stdin": &l.PasswordStdin,
		"insecure": &l.Insecure, "allow-port": &l.Client.AllowPort, "verbose": &l.Verbose, "quiet": &l.Quiet,
	} {
		fs.BoolVarP(to, name, described()[name].letter, false, "")
	}

	into(fs, &l.Output, "output", readName)
	into(fs, &l.Dir, "dir", readName)
	word(fs, &l.Sort, "", "sort")

	into(fs, &l.Input, "input", readList(&l.Input))
	into(fs, &l.Manifest, "manifest", readList(&l.Manifest))
	word(fs, &l.Reading.Format, "", "format")
	fs.StringArrayVar(&l.Reading.Map, "map", nil, "")
	fs.StringVar(&l.base, "base", "", "")
	into(fs, &l.Reading.Shard, "shard", readShard)
	into(fs, &l.Report, "report", readName)

	patterns(fs, &l.Tree.Accept, "accept")
	patterns(fs, &l.Tree.Reject, "reject")
	into(fs, &l.Tree.Depth, "depth", whole(1, 0))

	l.Jobs, l.File.Segments = 4, 1
	into(fs, &l.Jobs, "jobs", readJobs)
	into(fs, &l.PerHost, "per-host", whole(1, MostJobs))
	into(fs, &l.File.Segments, "segments", whole(1, 64))
	into(fs, &l.LimitRate, "limit-rate", readSize)

	l.File.Retries = retry.Count(0)
	l.Client.ConnectTimeout, l.Client.Timeout = 30*time.Second, time.Minute
	into(fs, &l.File.Retries, "retries", readRetries)
	into(fs, &l.Client.ConnectTimeout, "connect-timeout", readTime)
	into(fs, &l.Client.Timeout, "timeout", readTime)
	into(fs, &l.MaxTime, "max-time", readTime)
	into(fs, &l.Client.MinRate, "speed-limit", readPace)
	into(fs, &l.File.Sum, "checksum", digest.Parse)

	into(fs, &l.User, "user", readLogin)
	into(fs, &l.Netrc, "netrc", readName)
	fs.Lookup("netrc").NoOptDefVal = UsualNetrc

	word(fs, &l.TLS, "off", "tls")
	fs.StringVar(&l.CACert, "cacert", "", "")
	fs.StringVar(&l.Cert, "cert", "", "")
	into(fs, &l.Proxy, "proxy", l.readProxy)
	word(fs, &l.mode, "passive", "mode")
	word(fs, &l.Type, "", "type")
	word(fs, &l.IP, "", "ip")
	into(fs, &l.Bind, "bind", readAddress)

	word(fs, &l.Progress, "auto", "progress")
	word(fs, &l.Print, "", "print")
	fs.BoolFunc("version", "", func(string) error { l.Print = "version"; return nil })
	fs.BoolFuncP("help", "h", "", func(string) error { l.Print = "help"; return nil })
	return fs
}

// readList returns what reads the name of a list. The second of two lists would silently replace the first.
func readList(to *string) func(string) (string, error) {
	return func(s string) (string, error) {
		if *to != "" {
			return "", errors.New("is a second list: join them into one")
		}
		return readName(s)
	}
}

// readJobs reads a number of connections; auto is 0.
func readJobs(s string) (n int, err error) {
	if s == "auto" {
		return 0, nil
	}
	if n, err = whole(1, MostJobs)(s); err != nil {
		err = fmt.Errorf("%w, or auto", err)
	}
	return n, err
}

// readLogin reads NAME[:PASSWORD]. Nothing is decoded.
func readLogin(s string) (*url.Userinfo, error) {
	if strings.ContainsAny(s, "\r\n\x00") {
		return nil, errors.New("the value holds a line end or NUL")
	}
	if name, password, ok := strings.Cut(s, ":"); ok {
		return url.UserPassword(name, password), nil
	}
	return url.User(s), nil
}

func readPace(s string) (pace ftpexec.Rate, err error) {
	text, over, timed := strings.Cut(s, "/")
	if pace.Bytes, err = readSize(text); err == nil && timed {
		pace.Over, err = readTime(over)
	}
	return pace, err
}

// readProxy reads the URL of a proxy; none means that there is no proxy.
func (l *line) readProxy(s string) (*proxy.Proxy, error) {
	s, l.ProxyGet = strings.CutPrefix(s, "get+")
	if l.NoProxy = s == "" || s == "none"; l.NoProxy && !l.ProxyGet {
		return nil, nil
	}
	p, err := proxy.Parse(s)
	if l.ProxyGet && (l.NoProxy || err == nil && !p.HTTP()) {
		return nil, errors.New("only an HTTP proxy fetches files itself: write get+http://host:port")
	}
	if bad, ok := errors.AsType[*proxy.Error](err); ok {
		err = errors.New(bad.Reason)
	}
	return p, err
}

// into declares a flag whose value read parses into *to.
func into[T any](fs *pflag.FlagSet, to *T, name string, read func(string) (T, error)) {
	fs.FuncP(name, described()[name].letter, "", func(text string) error {
		v, err := read(text)
		if err == nil {
			*to = v
		}
		return err
	})
}

// word declares a flag whose value is one of the words that the help names. unset is the one for the default; it reads as "".
func word(fs *pflag.FlagSet, to *string, unset, name string) {
	words := strings.Split(described()[name].value, "|")
	into(fs, to, name, func(s string) (string, error) {
		switch last := len(words) - 1; {
		case !slices.Contains(words, s):
			return "", fmt.Errorf("write %s or %s", strings.Join(words[:last], ", "), words[last])
		case s == unset:
			return "", nil
		}
		return s, nil
	})
}

// patterns declares a flag that may be repeated, whose value is a pattern of names.
func patterns(fs *pflag.FlagSet, to *[]string, name string) {
	into(fs, to, name, func(s string) ([]string, error) {
		if strings.Contains(inBraces().ReplaceAllString(s, ""), ",") {
			return nil, fmt.Errorf(`is one pattern: write --%s for each pattern, or {a,b}, or "\," for a comma in names`, name)
		}
		return append(*to, s), glob.Check(s)
	})
}

// inBraces matches where a comma in a pattern is no sign of a list, which wget's --accept takes.
var inBraces = compiled(`\\.|\{[^{}]*\}|\[[^\]]*\]`)

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

// readAddress reads an IP address; "" means none.
func readAddress(s string) (netip.Addr, error) {
	a, err := netip.ParseAddr(s)
	if err != nil && s != "" {
		return a, errors.New("write an IP address of this machine")
	}
	return a, nil
}

// readShard reads a share of a list.
func readShard(s string) ([2]int, error) {
	index, count, _ := strings.Cut(s, "/")
	i, err := strconv.Atoi(index)
	n, bad := strconv.Atoi(count)
	if err != nil || bad != nil || i < 1 || i > n {
		return [2]int{}, errors.New("write I/N, from 1/N to N/N: 3/10 is the third of ten shares")
	}
	return [2]int{i, n}, nil
}

// readTime reads a positive duration: 3s, 2m, or plain seconds.
func readTime(s string) (time.Duration, error) {
	t, err := time.ParseDuration(s)
	if seconds, perr := strconv.ParseFloat(s, 64); perr == nil && math.Abs(seconds) < 1e9 {
		t, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if err != nil || t <= 0 {
		return 0, errors.New("write a time such as 3s, 2m or 90")
	}
	return t, nil
}

// readSize reads a number of bytes, plain or with a binary unit K, M or G: 4096, 500K, 1.5m.
func readSize(s string) (int64, error) {
	digits, unit := s, 1.0
	if i := len(s) - 1; i >= 0 {
		if power := strings.IndexByte("KMG", s[i]&^0x20); power >= 0 {
			digits, unit = s[:i], math.Pow(1024, float64(power+1))
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

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
	"example.com/ftpfetch/internal/proxy"
	"example.com/ftpfetch/internal/retry"
)

// groups declares every flag. Their names are the titles in the help.
func (l *line) groups() (all []*pflag.FlagSet) {
	group := func(title string) *pflag.FlagSet {
		fs := pflag.NewFlagSet(title, pflag.ContinueOnError)
		fs.SortFlags = false
		all = append(all, fs)
		return fs
	}
	l.declareFiles(group)
	l.declareTransfers(group)
	return all
}

// declareFiles declares the flags about what is retrieved and where it goes.
func (l *line) declareFiles(group func(title string) *pflag.FlagSet) {
	fs := group("Output")
	into(fs, &l.Output, "output", "o", "save as `FILE`; \"-\" is standard output", readName)
	into(fs, &l.Dir, "dir", "d", "save in the directory `DIR`, which is made if it is missing", readName)
	fs.BoolVar(&l.File.Overwrite, "overwrite", false, "replace a file that exists")
	fs.BoolVar(&l.File.Skip, "no-clobber", false, "skip a file that exists, and count that as success")
	fs.BoolVarP(&l.File.Newer, "newer", "N", false, "replace a file only if the server's is newer or of another size")
	fs.BoolVarP(&l.File.Continue, "continue", "c", false, "resume a partial FILE that another program left")
	fs.BoolVar(&l.NoSandbox, "no-sandbox", false, "do not let Linux confine the process to the directories it saves in")

	fs = group("Listing")
	fs.BoolVarP(&l.Long, "long", "l", false, "list types, sizes, times and links too (MLSD, or LIST)")
	fs.BoolVar(&l.JSON, "json", false, "list one JSON object per line")

	fs = group("Selection")
	into(fs, &l.Input, "input", "i", "also fetch the URLs in `FILE`, one per line or as <URL:...> in text; \"-\" is standard input", readList(&l.Input))
	into(fs, &l.Manifest, "manifest", "", "also fetch the files in the table `FILE` (TSV, CSV, NDJSON, an ENA or NCBI report), and verify them", readList(&l.Manifest))
	word(fs, &l.Reading.Format, "", "format", "the form of the list (default: recognized by its beginning): `ncbi|tsv|csv|ndjson|json|list|sums|text`")
	fs.StringArrayVar(&l.Reading.Files, "columns", nil, "of an ENA report, fetch only the files of the columns `NAME`_ftp (may be repeated)")
	fs.StringArrayVar(&l.Reading.Files, "suffix", nil, "of an NCBI summary, fetch the files that end in `TEXT` (may be repeated)")
	fs.StringVar(&l.base, "base", "", "of a list of digests such as md5checksums.txt, fetch the files from the directory `URL`")
	fs.BoolVar(&l.Reading.KeepDirs, "keep-dirs", false, "save the files of a list under the directories of their URLs")
	into(fs, &l.Reading.Shard, "shard", "", "fetch only share `I/N` of a list, from 1/N to N/N", readShard)
	fs.BoolVarP(&l.Recursive, "recursive", "r", false, "fetch the directories that URLs name, with everything in them")
	into(fs, &l.Tree.Depth, "depth", "", "with -r, list only `N` levels of directories", whole(1, 0))
	patterns(fs, &l.Tree.Accept, "accept", "with -r or --glob, fetch only files that match `GLOB` (may be repeated)")
	patterns(fs, &l.Tree.Reject, "reject", "with -r or --glob, leave out files and directories that match `GLOB` (may be repeated)")
	fs.BoolVar(&l.Tree.FollowLinks, "follow-links", false, "with -r or --glob, fetch what symbolic links lead to inside the directory")
	fs.BoolVar(&l.Glob, "glob", false, "take *, ?, [a-z] and {a,b} in the last segment of a URL as a pattern of names")
	l.Jobs = 4
	into(fs, &l.Jobs, "jobs", "j", "use `N` connections at once (auto: find the number) for lists and trees, and for several URLs if given (default 4)", readJobs)
	into(fs, &l.PerHost, "per-host", "", "use at most `N` connections to one server (default: as many as -j says, 2 without -j)", whole(1, MostJobs))
	into(fs, &l.Report, "report", "", "write what happened to each file to `FILE`, one JSON object per line, or a table if it ends in .tsv", readName)
}

// declareTransfers declares the flags about how it comes.
func (l *line) declareTransfers(group func(title string) *pflag.FlagSet) {
	fs := group("Login")
	into(fs, &l.User, "user", "u", "log in as `NAME[:PASSWORD]` if the URL names no user", readLogin)
	fs.BoolVar(&l.NoPrompt, "no-prompt", false, "never ask for a password")
	fs.BoolVar(&l.PasswordStdin, "password-stdin", false, "read the password, one line, from standard input")
	into(fs, &l.Netrc, "netrc", "n", "take the user too from ~/.netrc, or from `FILE`, if the URL names none; =none ignores the netrc file", readName)
	fs.Lookup("netrc").NoOptDefVal = UsualNetrc

	fs = group("Transfer")
	word(fs, &l.Type, "", "type", "transfer type if the URL has no ;type=: `a|i|d|guess`")
	l.File.Segments = 1
	l.File.Retries = retry.Count(0)
	into(fs, &l.File.Retries, "retries", "", "retry a failure that may pass, up to `N` times without progress (default 5)", readRetries)
	fs.BoolVar(&l.File.RetryConnect, "retry-connrefused", false, "retry too if the server cannot be reached: it may be restarting")
	into(fs, &l.File.Segments, "segments", "s", "fetch a file over `N` connections at once, at most 64 (default 1)", whole(1, 64))
	into(fs, &l.File.Sum, "checksum", "", "fail unless the file has this digest, as `ALGO:HEX` (sha512, blake2b, sha256, sha1, md5, crc32)", digest.Parse)
	fs.BoolVar(&l.File.Verify, "verify", false, "fail unless the file has the digest in a list beside it, or that of the server")
	into(fs, &l.LimitRate, "limit-rate", "", "receive at most `RATE` bytes a second in total (500K, 2M, 1G are binary)", readSize)
	into(fs, &l.Client.MinRate, "speed-limit", "Y", "give up if a connection brings fewer than `RATE` bytes a second for 30 seconds, or for another time: 10K/2m", readPace)

	fs = group("Connection")
	word(fs, &l.IP, "", "ip", "use only IPv4 or IPv6: `4|6`")
	word(fs, &l.mode, "passive", "mode", "open data connections as `passive|pasv|active`: the client, without EPSV, or the server")
	into(fs, &l.Bind, "bind", "", "connect from the local IP address `ADDR`", readAddress)
	l.Client.ConnectTimeout, l.Client.Timeout = 30*time.Second, time.Minute
	into(fs, &l.Client.ConnectTimeout, "connect-timeout", "", "give up connecting after `TIME` (3s, 2m, or seconds) (default 30s)", readTime)
	into(fs, &l.Client.Timeout, "timeout", "", "give up after `TIME` without a reply or a byte of data (default 1m)", readTime)
	into(fs, &l.MaxTime, "max-time", "", "give up on a URL after `TIME`, with all its retries and their pauses", readTime)
	word(fs, &l.TLS, "off", "tls", "TLS for ftp:// URLs: `off|try|explicit|implicit`; try continues unencrypted if the server has none")
	fs.StringVar(&l.CACert, "cacert", "", "trust the authorities in the PEM `FILE` and no others")
	fs.StringVar(&l.Cert, "cert", "", "show the server the certificate in the PEM `FILE`, with its private key")
	fs.BoolVar(&l.Insecure, "insecure", false, "accept any certificate: anyone may be the server")
	into(fs, &l.Proxy, "proxy", "", "go through the proxy `URL`, socks5:// or http:// (if it has no scheme), for all hosts; get+http:// has it fetch files itself (GET), "+
		"and gives it the passwords for servers; \"none\" ignores the proxy variables", l.readProxy)
	fs.BoolVar(&l.Client.NoPipelining, "no-pipelining", false, "wait for every reply before the next command")
	fs.BoolVar(&l.Client.AllowPort, "allow-port", false, "allow ports of other well-known protocols")

	fs = group("Information")
	fs.BoolVarP(&l.Info, "info", "I", false, "print the size, time and URL of each file, and fetch nothing")
	fs.BoolVar(&l.DryRun, "dry-run", false, "print the FTP commands for each URL, as if it were the only one, and send nothing")
	fs.BoolVarP(&l.Verbose, "verbose", "v", false, "show the dialogue: > sent, >> sent in the same flight, < received")
	fs.BoolVarP(&l.Quiet, "quiet", "q", false, "show no progress, only errors and warnings")
	word(fs, &l.Progress, "auto", "progress", "show transfers as `auto|bar|plain|json|none`; auto: bar on a terminal, else plain")
	word(fs, &l.Print, "", "print", "print the man page, or the completion for a shell: `man|bash|zsh|fish`")
	print := func(what string) func(string) error {
		return func(string) error { l.Print = what; return nil }
	}
	fs.BoolFunc("version", "print the version", print("version"))
	fs.BoolFuncP("help", "h", "print this help", print("help"))
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
func into[T any](fs *pflag.FlagSet, to *T, name, short, usage string, read func(string) (T, error)) {
	fs.FuncP(name, short, usage, func(text string) error {
		v, err := read(text)
		if err == nil {
			*to = v
		}
		return err
	})
}

// word declares a flag whose value is one of the words between backquotes in usage. unset is the word for the
// default; it reads as "".
func word(fs *pflag.FlagSet, to *string, unset, name, usage string) {
	_, rest, _ := strings.Cut(usage, "`")
	words, _, _ := strings.Cut(rest, "`")
	into(fs, to, name, "", usage, oneOf(unset, strings.Split(words, "|")...))
}

// oneOf returns what reads one of these words. That for the default, if it is not "", reads as "".
func oneOf(unset string, words ...string) func(string) (string, error) {
	return func(s string) (string, error) {
		switch last := len(words) - 1; {
		case !slices.Contains(words, s):
			return "", fmt.Errorf("write %s or %s", strings.Join(words[:last], ", "), words[last])
		case s == unset:
			return "", nil
		}
		return s, nil
	}
}

// patterns declares a flag that may be repeated, whose value is a pattern of names.
func patterns(fs *pflag.FlagSet, to *[]string, name, usage string) {
	read := func(s string) ([]string, error) {
		if strings.Contains(inBraces().ReplaceAllString(s, ""), ",") {
			return nil, fmt.Errorf(`is one pattern: write --%s for each pattern, or {a,b}, or "\," for a comma in names`, name)
		}
		return append(*to, s), checkPattern(s)
	}
	into(fs, to, name, "", usage, read)
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

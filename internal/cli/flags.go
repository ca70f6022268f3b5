package cli

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/pflag"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

// options is a parsed command line. Flags about retrieving set the fields of
// client and file directly.
type options struct {
	client ftpexec.Client
	file   download.Options

	targets            []target
	output, dir        string
	dryRun, json, help bool
	noSandbox          bool
	long, info         bool
	user, ip, mode     string
	bind               netip.Addr // the local address; the zero Addr lets the system choose
	userSet, noPrompt  bool
	typecode           string
	allowPort          bool
	maxTime            time.Duration
	limitRate          int64 // bytes a second; 0: no limit
	display
	documents
	manyOptions
	loginOptions
	tlsOptions
	proxyOptions
}

// display holds the flags about what is shown.
type display struct {
	verbose, quiet bool
	progress       progressMode
}

// group is a group of flags in the help text.
type group struct {
	title string
	*pflag.FlagSet
}

// groups declares every flag.
func (o *options) groups() []group {
	return []group{o.outputFlags(), o.listingFlags(), o.selectionFlags(), o.loginFlags(), o.transferFlags(), o.connectionFlags(), o.informationFlags()}
}

func (o *options) outputFlags() group {
	fs := newGroup("Output")
	fs.StringVarP(&o.output, "output", "o", "", "save as `FILE`; \"-\" is standard output")
	fs.StringVarP(&o.dir, "dir", "d", "", "save in the directory `DIR`, which is made if it is missing")
	choice(fs, &o.file.Existing, download.Overwrite, "overwrite", "", "replace a file that exists")
	choice(fs, &o.file.Existing, download.Skip, "no-clobber", "", "skip a file that exists, and count that as success")
	fs.BoolVarP(&o.file.Newer, "newer", "N", false, "replace a file only if the server's is newer or of another size")
	fs.BoolVarP(&o.file.Continue, "continue", "c", false, "resume a partial FILE that another program left")
	fs.BoolVar(&o.noSandbox, "no-sandbox", false, "do not let Linux confine the process to the directories it saves in")
	return fs
}

func (o *options) listingFlags() group {
	fs := newGroup("Listing")
	fs.BoolVarP(&o.long, "long", "l", false, "list types, sizes, times and links too (MLSD, or LIST)")
	fs.BoolVar(&o.json, "json", false, "list one JSON object per line")
	return fs
}

func (o *options) transferFlags() group {
	fs := newGroup("Transfer")
	word(fs, &o.typecode, "", "type", "transfer type if the URL has no ;type=: `a|i|d|guess`")
	o.file.Retries, o.file.Segments = new(download.DefaultRetries), 1
	into(fs, o.file.Retries, "retries", "", "retry a failure that may pass, up to `N` times without progress", whole(0, 0), strconv.Itoa)
	fs.BoolVar(&o.file.RetryConnect, "retry-connrefused", false, "retry too if the server cannot be reached: it may be restarting")
	into(fs, &o.file.Segments, "segments", "s", "fetch a file over `N` connections at once, at most 64",
		whole(1, download.MaxSegments), strconv.Itoa)
	into(fs, &o.file.Sum, "checksum", "", "fail unless the file has this digest, as `ALGO:HEX` (sha512, blake2b, sha256, sha1, md5, crc32)",
		digest.Parse, digest.Sum.String)
	fs.BoolVar(&o.file.Verify, "verify", false, "fail unless the file has the digest in a list beside it, or that of the server")
	into(fs, &o.limitRate, "limit-rate", "", "receive at most `RATE` bytes a second in total (500K, 2M, 1G are binary)", readSize, showSize)
	o.client.MinRate.Over = ftpexec.DefaultRateTime
	fs.VarP(value{o.setPace, func() string { return showSize(o.client.MinRate.Bytes) }, "value"}, "speed-limit", "Y",
		"give up if a connection brings fewer than `RATE` bytes a second for 30 seconds, or for another time: 10K/2m")
	return fs
}

func (o *options) connectionFlags() group {
	fs := newGroup("Connection")
	word(fs, &o.ip, "", "ip", "use only IPv4 or IPv6: `4|6`")
	word(fs, &o.mode, "passive", "mode", "open data connections as `passive|pasv|active`: the client, without EPSV, or the server")
	into(fs, &o.bind, "bind", "", "connect from the local IP address `ADDR`", readAddress, showAddress)
	o.client.ConnectTimeout, o.client.Timeout = ftpexec.DefaultConnectTimeout, ftpexec.DefaultTimeout
	into(fs, &o.client.ConnectTimeout, "connect-timeout", "", "give up connecting after `TIME` (3s, 2m, or seconds)", readTime, showTime)
	into(fs, &o.client.Timeout, "timeout", "", "give up after `TIME` without a reply or a byte of data", readTime, showTime)
	into(fs, &o.maxTime, "max-time", "", "give up on a URL after `TIME`, with all its retries and their pauses", readTime, showTime)
	o.tlsFlags(fs)
	o.proxyFlags(fs)
	fs.BoolVar(&o.client.NoPipelining, "no-pipelining", false, "wait for every reply before the next command")
	fs.BoolVar(&o.allowPort, "allow-port", false, "allow ports of other well-known protocols")
	return fs
}

func (o *options) informationFlags() group {
	fs := newGroup("Information")
	fs.BoolVarP(&o.info, "info", "I", false, "print the size, time and URL of each file, and fetch nothing")
	fs.BoolVar(&o.dryRun, "dry-run", false, "print the FTP commands for each URL, as if it were the only one, and send nothing")
	fs.BoolVarP(&o.verbose, "verbose", "v", false, "show the dialogue: > sent, >> sent in the same flight, < received")
	fs.BoolVarP(&o.quiet, "quiet", "q", false, "show no progress, only errors and warnings")
	word(fs, &o.progress, "auto", "progress", "show transfers as `auto|bar|plain|json|none`; auto: bar on a terminal, else plain")
	o.documentFlags(fs)
	fs.BoolVarP(&o.help, "help", "h", false, "print this help")
	return fs
}

func newGroup(title string) group {
	fs := pflag.NewFlagSet(title, pflag.ContinueOnError)
	fs.SortFlags = false
	return group{title, fs}
}

// usageError is an error in the command line: what is wrong, with what to write
// instead if that is known, a line for each thing.
type usageError struct {
	lines []string
	whole bool // the last one is the command as it should be
}

func (e *usageError) Error() string { return strings.Join(e.lines, "\n") }

func usage(format string, args ...any) error {
	return &usageError{lines: []string{fmt.Sprintf(format, args...)}}
}

// parseArgs parses the command line, which excludes the program's name.
func parseArgs(args []string) (*options, error) {
	r := read(args, "")
	if r.wrong != nil {
		return r.options, correct(args)
	}
	return r.options, r.finish()
}

// target is a URL on the command line.
type target struct {
	url     *urlparse.URL // nil if err is set
	pattern string        // of names in the directory url, for --glob; "" if there is none
	err     error         // why the text is not a URL
}

func (o *options) targetsOf(texts []string) []target {
	targets := make([]target, len(texts))
	for i, text := range texts {
		t := &targets[i]
		if o.glob {
			text, t.pattern, t.err = patternIn(text)
		}
		if t.err == nil {
			t.url, t.err = urlparse.Parser{AllowPort: o.allowPort}.Parse(text)
			t.err = o.hintURL(text, t.err)
		}
	}
	return targets
}

// check refuses invalid combinations and sets what follows from the flags.
func (o *options) check(all *pflag.FlagSet) error {
	o.client.Active, o.client.NoEPSV = o.mode == "active", o.mode == "pasv"
	o.client.Dial, o.client.TryTLS = o.dial, o.tls == tlsTry
	for _, err := range []error{
		o.checkMany(all), o.checkOutput(all), o.checkValues(), o.checkLogin(all), o.checkProxy(all.Changed("proxy")),
		o.checkProxyGet(all.Changed("proxy")),
		inFlags(o.client.Check()), inFlags(o.file.Check()),
	} {
		if err != nil {
			return err
		}
	}
	return nil
}

// setPace reads the value of --speed-limit: a rate, and perhaps a time.
func (o *options) setPace(s string) error {
	text, time, timed := strings.Cut(s, "/")
	rate, err := readSize(text)
	least := ftpexec.DefaultRateTime
	if timed && err == nil {
		least, err = readTime(time)
	}
	if err == nil {
		o.client.MinRate = ftpexec.Rate{Bytes: rate, Over: least}
	}
	return err
}

// checkOutput refuses flags that contradict each other, or the URLs.
func (o *options) checkOutput(all *pflag.FlagSet) error {
	on := func(flag string) bool { return all.Lookup(flag).Value.String() == "true" }
	urls := len(o.targets)
	switch {
	case urls == 0 && o.input == "" && o.manifest == "":
		return usage("no URL given: write ftpfetch ftp://host/path/file")
	case all.Changed("output") && o.output == "":
		return usage(`-o names no file: write -o FILE, or -o - for standard output`)
	case all.Changed("dir") && o.dir == "":
		return usage("-d names no directory: write -d DIR")
	case o.output != "" && o.output != "-" && urls > 1:
		return usage("-o names one file for %d URLs: write -d DIR to choose the directory", urls)
	case o.output == "-" && o.dir != "", filepath.IsAbs(o.output) && o.dir != "":
		return usage("-o %s and -d contradict each other: leave out -d", o.output)
	case o.output == "-" && (o.file.Newer || o.file.Continue):
		return usage("-o - and -N or -c contradict each other: standard output has no file to compare with")
	case on("overwrite") && on("no-clobber"):
		return usage("--overwrite and --no-clobber contradict each other: leave one out")
	case o.file.Sum.Algorithm != "" && urls > 1:
		return usage("--checksum is for one file, but there are %d URLs: use --verify or several runs", urls)
	}
	return nil
}

// checkValues refuses values that cannot be sent, and limits that no server can
// meet.
func (o *options) checkValues() error {
	if o.bind.Is4() && o.ip == "6" || o.bind.Is6() && o.ip == "4" {
		return usage("--bind and --ip %s contradict each other: leave one out", o.ip)
	}
	if strings.ContainsAny(o.user, "\r\n\x00") {
		return usage("-u: the value holds a line end or NUL")
	}
	if least := o.client.MinRate.Bytes; o.limitRate != 0 && o.limitRate < least {
		return usage("--limit-rate %s is less than --speed-limit %s: no server could be fast enough; raise the first or lower the second",
			showSize(o.limitRate), showSize(least))
	}
	return nil
}

// flagOf maps the field that an [ftpexec.OptionError] names to its flag.
var flagOf = map[string]string{
	"Newer": "-N", "Continue": "-c", "Existing: Skip": "--no-clobber", "Existing: Overwrite": "--overwrite",
	"Accept": "--accept", "Reject": "--reject", "Depth": "--depth", "Names": "--glob",
}

// inFlags turns an [ftpexec.OptionError] into a usage error that names flags.
func inFlags(err error) error {
	var bad *ftpexec.OptionError
	if !errors.As(err, &bad) {
		return err
	}
	e := *bad
	e.Fields = nil
	for _, field := range bad.Fields {
		e.Fields = append(e.Fields, cmp.Or(flagOf[field], field))
	}
	return usage("%s", e.Error())
}

// login splits the value of -u, NAME[:PASSWORD]. Nothing is decoded.
func (o *options) login() (user, password urlparse.Text) {
	if !o.userSet {
		return urlparse.Text{}, urlparse.Text{}
	}
	name, pass, ok := strings.Cut(o.user, ":")
	return urlparse.Some(name), urlparse.Text{Value: pass, Set: ok}
}

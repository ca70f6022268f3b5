package cli

import (
	"errors"
	"fmt"
	"math"
	"net/netip"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
	"github.com/spf13/pflag"
)

// options is a parsed command line.
type options struct {
	urls []string

	output, dir                      string
	overwrite, noClobber             bool
	dryRun, verbose, quiet, json     bool
	user, email, account             string
	userSet, noPrompt                bool
	typecode                         string
	ipv4, ipv6, active, noEPSV       bool
	allowPort, noPipelining          bool
	bind                             string
	local                            netip.Addr // of bind
	connectTimeout, timeout, maxTime time.Duration
	help                             bool
	transferOptions
	fileOptions
	documents
	loginOptions
	tlsOptions
	proxyOptions
}

// group is flags that stand together in the help text.
type group struct {
	title string
	*pflag.FlagSet
}

// groups declares every flag.
func (o *options) groups() []group {
	out := newGroup("Output")
	out.StringVarP(&o.output, "output", "o", "", "save as `FILE`; \"-\" is standard output")
	out.StringVarP(&o.dir, "dir", "d", "", "save in the directory `DIR`")
	out.BoolVar(&o.overwrite, "overwrite", false, "replace a file that exists")
	out.BoolVar(&o.noClobber, "no-clobber", false, "skip a file that exists; that is no failure")
	o.existingFlags(out)

	list := newGroup("Listing")
	list.BoolVar(&o.json, "json", false, "one JSON object a line: name and url")

	login := newGroup("Login")
	login.StringVarP(&o.user, "user", "u", "", "log in as `NAME[:PASSWORD]` where the URL names no user")
	login.StringVar(&o.email, "email", "", "send `ADDR` as the anonymous password")
	login.StringVar(&o.account, "account", "", "answer a server that asks for an account with `NAME`")
	login.BoolVar(&o.noPrompt, "no-prompt", false, "never ask for a password")
	o.loginFlags(login)

	transfer := newGroup("Transfer")
	transfer.StringVar(&o.typecode, "type", "", "transfer type where the URL has no ;type=: `a|i|d|guess`")
	o.fileFlags(transfer)
	o.rateFlags(transfer)

	conn := newGroup("Connection")
	conn.BoolVarP(&o.ipv4, "ipv4", "4", false, "use IPv4 only")
	conn.BoolVarP(&o.ipv6, "ipv6", "6", false, "use IPv6 only")
	conn.BoolVar(&o.active, "active", false, "active mode: the server opens data connections")
	conn.BoolVar(&o.noEPSV, "no-epsv", false, "use PASV, not EPSV")
	conn.StringVar(&o.bind, "bind", "", "connect from the local IP address `ADDR`")
	o.connectTimeout, o.timeout = ftpexec.DefaultConnectTimeout, ftpexec.DefaultReplyTimeout
	conn.Var((*duration)(&o.connectTimeout), "connect-timeout", "give up connecting after `TIME` (3s, 2m, or seconds)")
	conn.Var((*duration)(&o.timeout), "timeout", "give up after `TIME` without a reply or an octet of data")
	conn.Var((*duration)(&o.maxTime), "max-time", "give up on a URL after `TIME` in all")
	o.tlsFlags(conn)
	o.proxyFlags(conn)
	conn.BoolVar(&o.noPipelining, "no-pipelining", false, "wait for every reply before the next command")
	conn.BoolVar(&o.allowPort, "allow-port", false, "allow ports of other well-known protocols")

	info := newGroup("Information")
	info.BoolVar(&o.dryRun, "dry-run", false, "print the FTP commands that the URL means, and send nothing")
	info.BoolVarP(&o.verbose, "verbose", "v", false, "show the dialogue: > sent, >> sent along with it, < received")
	info.BoolVarP(&o.quiet, "quiet", "q", false, "show no progress; errors are shown")
	o.progressFlags(info)
	o.documentFlags(info)
	info.BoolVarP(&o.help, "help", "h", false, "print this help")
	return []group{out, list, login, transfer, conn, info}
}

func newGroup(title string) group {
	fs := pflag.NewFlagSet(title, pflag.ContinueOnError)
	fs.SortFlags = false
	return group{title, fs}
}

// usageError is a command line that cannot be meant: one line, and what to
// write instead where that is known.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func usage(format string, args ...any) error {
	return &usageError{fmt.Sprintf(format, args...)}
}

// parseArgs reads the command line, without the program's name.
func parseArgs(args []string) (*options, error) {
	o := new(options)
	all := newGroup("ftpfetch")
	all.Usage = func() {}
	for _, g := range o.groups() {
		all.AddFlagSet(g.FlagSet)
	}
	if err := checkDashes(args, all.FlagSet); err != nil {
		return o, err
	}
	if err := all.Parse(args); err != nil {
		return o, explain(err, all.FlagSet)
	}
	o.urls, o.userSet = all.Args(), all.Changed("user")
	if _, ok := o.document(); ok {
		return o, nil
	}
	if err := o.check(all.Changed); err != nil {
		return o, err
	}
	if err := o.checkFile(o); err != nil {
		return o, err
	}
	if err := o.checkRates(all.Changed); err != nil {
		return o, err
	}
	return o, o.checkSecurity(all.Changed)
}

// check refuses combinations that contradict each other.
func (o *options) check(changed func(flag string) bool) error {
	switch {
	case len(o.urls) == 0:
		return usage("no URL given: write ftpfetch ftp://host/path/file")
	case changed("output") && o.output == "":
		return usage(`-o names no file: write -o FILE, or -o - for standard output`)
	case changed("dir") && o.dir == "":
		return usage("-d names no directory: write -d DIR")
	case o.output != "" && o.output != "-" && len(o.urls) > 1:
		return usage("-o names one file for %d URLs: write -d DIR to choose the directory", len(o.urls))
	case o.output == "-" && o.dir != "", filepath.IsAbs(o.output) && o.dir != "":
		return usage("-o %s and -d contradict each other: leave out -d", o.output)
	case o.overwrite && o.noClobber:
		return usage("--overwrite and --no-clobber contradict each other: leave one out")
	case o.ipv4 && o.ipv6:
		return usage("-4 and -6 contradict each other: leave one out")
	}
	return o.checkValues()
}

// checkValues refuses values that no server could be sent.
func (o *options) checkValues() error {
	switch o.typecode {
	case "", "a", "i", "d", "guess":
	default:
		return usage("--type %s: write a, i, d or guess", o.typecode)
	}
	for flag, value := range map[string]string{"-u": o.user, "--email": o.email, "--account": o.account} {
		if strings.ContainsAny(value, "\r\n\x00") {
			return usage("%s: the value holds a line end or NUL", flag)
		}
	}
	return o.checkBind()
}

// checkBind reads the address of --bind.
func (o *options) checkBind() (err error) {
	if o.bind == "" {
		return nil
	}
	if o.local, err = netip.ParseAddr(o.bind); err != nil {
		return usage("--bind %s: write an IP address of this machine", o.bind)
	}
	if o.local.Is4() && o.ipv6 || o.local.Is6() && o.ipv4 {
		return usage("--bind %s contradicts -4 or -6: leave one out", o.bind)
	}
	return nil
}

// network is the network that connections are opened on.
func (o *options) network() string {
	switch {
	case o.ipv4:
		return "tcp4"
	case o.ipv6:
		return "tcp6"
	}
	return "tcp"
}

// login splits NAME[:PASSWORD]; the value is octets, nothing is decoded.
func (o *options) login() (user, password urlparse.Text) {
	if !o.userSet {
		return urlparse.Text{}, urlparse.Text{}
	}
	name, pass, ok := strings.Cut(o.user, ":")
	return urlparse.Some(name), urlparse.Text{Value: pass, Set: ok}
}

// duration is a flag's time: 3s, 2m, or plain seconds.
type duration time.Duration

// Set reads the flag's value.
func (d *duration) Set(s string) error {
	t, err := time.ParseDuration(s)
	if seconds, perr := strconv.ParseFloat(s, 64); perr == nil && math.Abs(seconds) < 1e9 {
		t, err = time.Duration(seconds*float64(time.Second)), nil
	}
	if err != nil || t <= 0 {
		return errors.New("write a time such as 3s, 2m or 90")
	}
	*d = duration(t)
	return nil
}

// String returns what Set takes; "" for none.
func (d *duration) String() string {
	t := time.Duration(*d)
	switch {
	case t == 0:
		return ""
	case t%time.Second == 0:
		return strconv.FormatInt(int64(t/time.Second), 10) + "s"
	}
	return t.String()
}

// Type is the kind of value that pflag names in its errors.
func (d *duration) Type() string { return "time" }

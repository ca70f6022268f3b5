// Command ftpfetch-fleet fetches lists of files with many machines, within the number of connections that servers
// allow. See docs/fleet.md.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"regexp"
	"strings"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/spf13/pflag"

	"example.com/ftpfetch/cmd/internal/cli"
	"example.com/ftpfetch/cmd/internal/cli/config"
	"example.com/ftpfetch/cmd/internal/cli/show"
	"example.com/ftpfetch/urlparse"
)

const help = `ftpfetch-fleet fetches lists of files with many machines, which together make no more
connections to a server than it bears.

  ftpfetch-fleet serve --dir STATE --listen HOST:PORT --join FILE [--look HOST:PORT] [--http 127.0.0.1:8080]
  ftpfetch-fleet add --join FILE [--per-host N] [-N, --verify and what else is about lists] LIST
  ftpfetch-fleet work --join FILE -d DIR [-j N] [--egress NAME] [--shared] [--idle TIME] [--json]
  ftpfetch-fleet status --join FILE [JOB] [--json]
  ftpfetch-fleet wait --join FILE [JOB] [--json] [--progress bar|plain|json|none]
  ftpfetch-fleet report --join FILE [JOB] [-o FILE]                  # a table in FILE.tsv
  ftpfetch-fleet report --join FILE [JOB] --failed                   # a list for add
  ftpfetch-fleet retry --join FILE [JOB]                             # its failed files
  ftpfetch-fleet pause|resume|cancel --join FILE [JOB]
  ftpfetch-fleet cap --join FILE [JOB] [--per-host N] [--limit-rate BYTES] [--hours 20-06]
                                       [--per-job N] [--job-rate BYTES]
  ftpfetch-fleet cap --join FILE --all --limit-rate BYTES            # of all hosts together
  ftpfetch-fleet delete --join FILE JOB                              # its list and results
  ftpfetch-fleet revoke --dir STATE look|work|add                    # the token of a role: serve writes a new one
  ftpfetch-fleet --version
  ftpfetch-fleet accounts [--namespace NAME]                         # the roles, for the configuration of a NATS

  --egress NAME   machines behind one address have the same, by default the host's
  --limit-rate BYTES, --hours FROM-TO  of add: what a host bears, and when it may be asked
  --per-job N, --job-rate BYTES  of add: how many files of the job at a time, and how fast, over all hosts
  --priority N, --expire TIME  of add: larger ones come first; when a job that is over is deleted
  --give-up TIME  of add: when the files of a host fail that lets nobody in (1h)
  --to URL        of work, in place of -d: s3://, gs:// or azblob:// BUCKET/PREFIX, or file:///DIR
  --shared        all workers have the same DIR, where locks need not work
  --tidy          of work: first remove the parts that killed workers have left in DIR
  --cacert FILE   of work: the authorities of FTP servers with TLS, or a server's own certificate
  --idle TIME     end when there was nothing to do for so long
  --connect-timeout TIME  how long to wait for the server (1m for work, and for all while it has no leader)
  --http ADDRESS  show jobs, hosts and workers there, and metrics at /metrics
  --look HOST:PORT  of serve: where it answers status, wait and report over HTTPS
  --namespace NAME  the first part of all names in an existing NATS (ftpfetch)
  --insecure      use a NATS without TLS on another machine
  --replicas N    how many servers of a NATS cluster hold all, for who comes first (3)

serve writes FILE, which lets others join. LIST is a file or URL; add prints its JOB, and JOB is the
last one if it is left out. work fetches, on every machine, with N connections (4), and takes passwords
from ~/.netrc. Exit codes are ftpfetch's.
`

// command is a command line.
type command struct {
	dir, join, listen, look, http, name, egress, output, progress, cacert, to, namespace string

	verb                           string // its first argument
	about                          string // what it has done, without passwords
	role                           string // the role that the command needs
	jobs, replicas                 int
	idle, patience                 time.Duration
	shared, json, failed, insecure bool
	tidy                           bool
	wishes                         wishes
	args                           []string                // the remaining arguments
	refused                        context.CancelCauseFunc // ends the command: its token was revoked

	in       io.Reader
	out, err io.Writer
}

func (c *command) operand() string { return strings.Join(c.args, " ") }

// line writes a line for people.
func (c *command) line(format string, args ...any) {
	fmt.Fprintf(c.err, "ftpfetch-fleet: %s\n", show.OneLine(fmt.Sprintf(format, args...)))
}

// exit is the exit code of a failure that was already reported.
type exit int

func (exit) Error() string { return "" }

func usage(format string, args ...any) error { return config.Usage(format, args...) }

func main() {
	ctx, stop := cli.NotifyContext(context.Background())
	code := execute(ctx, os.Args[1:], &command{in: os.Stdin, out: os.Stdout, err: os.Stderr})
	stop()
	os.Exit(code)
}

// commands are the first arguments.
var commands = map[string]func(context.Context, *command) error{
	"serve": serve, "work": work,
	"status": viewed(status), "wait": viewedJob(waitFor), "report": viewedJob(writeReport),
	"revoke": local(revoke), "accounts": local(printAccounts),
	"add": joined("add", add), "cancel": ofJob("add", cancel), "retry": ofJob("add", retryJob),
	"delete": ofJob("add", deleteJob), "cap": setCaps,
	"pause":     ofJob("add", turn("ready", "paused")),
	"resume":    ofJob("add", turn("paused", "ready")),
	"--version": local(version), "version": local(version),
	"help": helped, "-h": helped, "--help": helped,
}

func helped(context.Context, *command) error { return pflag.ErrHelp }

func version(c *command) error {
	_, err := fmt.Fprint(c.out, strings.Replace(config.Text("version"), "ftpfetch ", "ftpfetch-fleet ", 1))
	return err
}

// local returns a command that connects to nothing.
func local(run func(*command) error) func(context.Context, *command) error {
	return func(_ context.Context, c *command) error { return run(c) }
}

// viewed returns a command that needs no more than the role look.
func viewed(run func(context.Context, *command, view) error) func(context.Context, *command) error {
	return heeding(func(ctx context.Context, c *command) error {
		c.role = "look"
		v, done, err := c.view(ctx)
		if err != nil {
			return err
		}
		defer done()
		return run(ctx, c, v)
	})
}

// heeding returns a command that ends when its token is revoked.
func heeding(run func(context.Context, *command) error) func(context.Context, *command) error {
	return func(ctx context.Context, c *command) error {
		ctx, c.refused = context.WithCancelCause(ctx)
		defer c.refused(nil)
		err := run(ctx, c)
		if cause := context.Cause(ctx); err != nil && errors.Is(cause, nats.ErrAuthorization) {
			return cause
		}
		return err
	}
}

// viewedJob is viewed for a command about the job that its operand names, or the last job.
func viewedJob(run func(context.Context, *command, view, job) error) func(context.Context, *command) error {
	return viewed(func(ctx context.Context, c *command, v view) error {
		var j job
		err := patiently(ctx, c.patience, func() (err error) {
			j, err = find(ctx, v, c.operand())
			return err
		})
		if err != nil {
			return err
		}
		return run(ctx, c, v, j)
	})
}

// joined returns a command that connects to the server, where it needs a role.
func joined(
	role string, run func(context.Context, *command, *fleet) error,
) func(context.Context, *command) error {
	return heeding(func(ctx context.Context, c *command) error {
		c.role = role
		f, err := c.dial(ctx, "ftpfetch-fleet", c.patience, func() {})
		if err != nil {
			return err
		}
		defer f.Close()
		if err = run(ctx, c, f); err == nil {
			f.tell(c)
		}
		return err
	})
}

// ofJob returns a command about the job that its operand names, or the last job.
func ofJob(
	role string, run func(context.Context, *command, *fleet, job) error,
) func(context.Context, *command) error {
	return joined(role, func(ctx context.Context, c *command, f *fleet) error {
		var j job
		err := patiently(ctx, c.patience, func() (err error) {
			j, err = find(ctx, f, c.operand())
			return err
		})
		if err != nil {
			return err
		}
		c.about = j.ID + c.wishes.text()
		return run(ctx, c, f, j)
	})
}

// execute runs a command line and returns its exit code.
func execute(ctx context.Context, args []string, c *command) int {
	if len(args) == 0 {
		args = []string{"help"}
	}
	err := usage("there is no command %s; try ftpfetch-fleet --help", shown(args[0]))
	if run, ok := commands[args[0]]; ok {
		if err = c.parse(args[0], args[1:]); err == nil {
			err = run(ctx, c)
		}
	}
	if errors.Is(err, pflag.ErrHelp) {
		_, _ = io.WriteString(c.out, help)
		return 0
	}
	if told, ok := errors.AsType[exit](err); ok {
		return int(told)
	}
	text, code := explain(err)
	if text != "" {
		c.line("%s", text)
	}
	return code
}

// explain is ftpfetch's, extended by the errors of this program.
func explain(err error) (text string, code int) {
	text, code = cli.Explain(unanswered(err))
	switch {
	case err == nil || code != exitOther:
	case errors.Is(err, errNoRoom):
		code = 23
	case errors.Is(err, errForeign):
		code = 60
	case errors.Is(err, nats.ErrAuthorization):
		text, code = "the server refuses the token of the JOIN file", 67
	case errors.Is(err, nats.ErrPermissionViolation):
		code = 67
	case errors.Is(err, nats.ErrSecureConnWanted):
		text = "the server at the address of the JOIN file offers no TLS, so that others could read and change all: " +
			"set up TLS there, or write --insecure"
		code = 35
	case errors.Is(err, errNoLeader), errors.Is(err, errEmpty):
		code = 7
	case errors.Is(err, nats.ErrNoServers):
		text, code = "no server answers at the address of the JOIN file", 7
	}
	return text, code
}

// notWorkers matches flags about connections, and about what one machine remembers.
var notWorkers = regexp.MustCompile(`^(-[sY]|--(segments|limit-rate|speed-limit|timeout|tls|` +
	`cacert|cert|key|insecure|proxy|mode|ip|shared|once|exec)(=|$))`)

// parseList reads the flags of add: its own, and those of ftpfetch.
func (c *command) parseList(args []string) error {
	own := pflag.NewFlagSet("add", pflag.ContinueOnError)
	own.StringVar(&c.join, "join", "", "")
	own.BoolVar(&c.insecure, "insecure", false, "")
	own.BoolVar(&c.json, "json", false, "")
	own.IntVar(&c.replicas, "replicas", 0, "")
	own.StringVar(&c.namespace, "namespace", "", "")
	c.wishes.flags(own)
	own.IntVar(&c.wishes.priority, "priority", 0, "")
	own.DurationVar(&c.wishes.expire, "expire", 0, "")
	own.DurationVar(&c.wishes.giveUp, "give-up", giveUp, "")
	own.DurationVar(&c.patience, "connect-timeout", 0, "")
	for i := 0; i < len(args); i++ {
		flag, value, given := strings.Cut(args[i], "=")
		mine := own.Lookup(strings.TrimPrefix(flag, "--"))
		switch {
		case flag == "-h" || flag == "--help":
			return pflag.ErrHelp
		case mine != nil && strings.HasPrefix(flag, "--"):
			if !given {
				value = mine.NoOptDefVal
			}
			if value == "" && i+1 < len(args) {
				i++
				value = args[i]
			}
			if err := own.Set(mine.Name, value); err != nil {
				return usage("add: %v", err)
			}
		case notWorkers.MatchString(args[i]):
			return usage("%s: the workers do not have this: leave it out", flag) // the value may have a password
		default:
			c.args = append(c.args, args[i])
		}
	}
	return nil
}

// parse reads the flags of a command.
func (c *command) parse(name string, args []string) error {
	c.verb = name
	if name == "add" {
		return c.parseList(args)
	}
	fs := pflag.NewFlagSet(name, pflag.ContinueOnError)
	for flag, to := range map[string]*string{
		"join": &c.join, "http": &c.http, "to": &c.to, "name": &c.name, "egress": &c.egress,
		"progress": &c.progress, "cacert": &c.cacert, "look": &c.look, "namespace": &c.namespace,
	} {
		fs.StringVar(to, flag, "", "")
	}
	fs.BoolVar(&c.json, "json", false, "")
	fs.StringVar(&c.listen, "listen", "127.0.0.1:4222", "")
	fs.StringVarP(&c.dir, "dir", "d", "", "")
	fs.StringVarP(&c.output, "output", "o", "-", "")
	fs.IntVarP(&c.jobs, "jobs", "j", 4, "")
	fs.IntVar(&c.replicas, "replicas", 0, "")
	fs.DurationVar(&c.idle, "idle", 0, "")
	fs.DurationVar(&c.patience, "connect-timeout", 0, "")
	fs.BoolVar(&c.insecure, "insecure", false, "")
	fs.BoolVar(&c.failed, "failed", false, "")
	fs.BoolVar(&c.shared, "shared", false, "")
	fs.BoolVar(&c.tidy, "tidy", false, "")
	if name == "cap" {
		c.wishes.flags(fs)
		fs.IntVar(&c.wishes.perHost, "per-host", 0, "")
		fs.BoolVar(&c.wishes.all, "all", false, "")
	}
	fs.Usage = func() {}
	if err := fs.Parse(args); errors.Is(err, pflag.ErrHelp) {
		return err
	} else if err != nil {
		return usage("%s: %v; try ftpfetch-fleet --help", name, err)
	}
	if name == "work" && !fs.Changed("connect-timeout") {
		c.patience = time.Minute
	}
	c.args = fs.Args()
	if n := len(c.args); n > 1 || n == 1 && (name == "serve" || name == "work") {
		return usage("%s: %s is too much; try ftpfetch-fleet --help", name, shown(c.args[n-1]))
	}
	if strings.Contains(c.name+c.egress, "@") { // everyone who asks for the status sees them
		return usage("--name and --egress take a name, which others see: write it without @")
	}
	if c.jobs < 1 || c.jobs > config.MostJobs {
		return usage("-j %d: write a whole number from 1 to %d", c.jobs, config.MostJobs)
	}
	return nil
}

// shown returns what may be shown of an operand, which may be a URL or an address with a password.
func shown(text string) string {
	if !strings.Contains(text, "@") && !strings.Contains(text, "%40") {
		return text
	}
	u, err := urlparse.Parse(text)
	if err == nil {
		return u.Redacted()
	}
	if bad, ok := errors.AsType[*urlparse.Error](err); ok {
		text = bad.Input
	}
	return text
}

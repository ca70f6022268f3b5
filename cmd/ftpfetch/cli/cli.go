// Package cli is the command ftpfetch as a function: [Run] takes its arguments
// and standard streams and returns its exit code. main and the demonstration
// call it; a program that wants files calls package download instead.
package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
	"golang.org/x/term"
	"golang.org/x/time/rate"
)

// IO is the standard streams of a run. A stream counts as a terminal where it
// is an [*os.File] on one, or has a method IsTerminal() bool that says so.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
}

// Standard returns the streams of the process.
func Standard() IO { return IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr} }

// Run runs the command with args, without the program's name, and returns its
// exit code. It returns within a second after ctx ends, whatever waits then: a
// read or a write that cannot be called off is left behind. Where the cause of
// the end is a [*SignalError] the exit code says which signal.
func Run(ctx context.Context, args []string, stdio IO) int {
	code := execute(ctx, args, stdio)
	if ctx.Err() != nil {
		return exitCode(context.Cause(ctx))
	}
	return code
}

func execute(ctx context.Context, args []string, stdio IO) int {
	o, err := parseArgs(args)
	first, cancel := o.limit(ctx)
	defer cancel()
	p := newPrinter(first, o, stdio)
	if err != nil {
		return finish(p, err)
	}
	if text, ok := o.document(); ok {
		return finish(p, p.text(first, text))
	}
	if o.tlsConfig, err = await(first, o.readTLS); err != nil {
		return finish(p, err)
	}
	o.warn(p)
	defer p.within(ctx)()
	return newRun(o, p, stdio.In).all(ctx)
}

// finish ends a run before its first URL.
func finish(p *printer, err error) int {
	var bad *usageError
	switch {
	case errors.As(err, &bad):
		p.complain(err)
	case err != nil:
		p.failed("", err)
	}
	return exitCode(err)
}

func newPrinter(ctx context.Context, o *options, stdio IO) *printer {
	return &printer{
		ctx: ctx, patience: o.timeout,
		out:     &stream{w: stdio.Out, terminal: isTerminal(stdio.Out)},
		err:     &stream{w: stdio.Err, terminal: isTerminal(stdio.Err)},
		verbose: o.verbose, quiet: o.quiet, progress: o.progress,
		now: time.Now,
	}
}

func isTerminal(stream any) bool {
	switch s := stream.(type) {
	case interface{ IsTerminal() bool }:
		return s.IsTerminal()
	case *os.File:
		return term.IsTerminal(int(s.Fd()))
	}
	return false
}

// run is one run of the command.
type run struct {
	*options
	print  *printer
	ask    *prompter
	netrc  *netrcFile
	client *ftpexec.Client
	parser urlparse.Parser
	saved  map[string]bool // paths written by this run
	left   leftover        // of the URL at hand
	source download.Source // the client, or a session of it
	behind bool            // a transfer was left behind, in a stream that is blocked

	limiter *rate.Limiter // of all transfers; nil: none
}

func newRun(o *options, p *printer, in io.Reader) *run {
	ask := &prompter{
		forbidden: o.noPrompt, account: o.account, open: openConsole,
		known: make(map[login]string),
	}
	logins := newCredentials(o, in, ask)
	return &run{
		options: o, print: p, ask: ask, netrc: logins.netrc, client: newClient(o, p, logins),
		parser: urlparse.Parser{AllowPort: o.allowPort},
		saved:  make(map[string]bool),

		limiter: o.newLimiter(time.Now()),
	}
}

// newClient configures the client that all URLs of the run share.
func newClient(o *options, p *printer, logins *credentials) *ftpexec.Client {
	c := &ftpexec.Client{
		Credentials:    logins,
		Email:          o.email,
		ConnectTimeout: o.connectTimeout,
		ReplyTimeout:   o.timeout,
		StallTimeout:   o.timeout,
		LeastRate:      int64(o.speedLimit),
		LeastTime:      o.speedTime,
		NoPipelining:   o.noPipelining,
		NoEPSV:         o.noEPSV,
		Active:         o.active,
		Network:        o.network(),
		LocalAddr:      o.local,
		TLSConfig:      o.tlsConfig,
		TryTLS:         o.tls == tlsTry,
		Proxy:          o.dialProxy,
	}
	if o.verbose {
		c.Trace = p.event
	}
	return c
}

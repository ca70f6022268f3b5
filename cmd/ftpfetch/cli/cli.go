// Package cli is the command ftpfetch as a function: [Run] takes its arguments
// and standard streams and returns its exit code. main and the demonstration
// call it; a program that wants files calls package download instead.
package cli

import (
	"context"
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
// exit code. It returns soon after ctx ends; where the cause of that is a
// [*SignalError] the exit code says which signal.
func Run(ctx context.Context, args []string, stdio IO) int {
	o, err := parseArgs(args)
	p := newPrinter(o, stdio)
	if err != nil {
		p.complain(err)
		return exitUsage
	}
	if text, ok := o.document(); ok {
		return finish(p, p.text(text))
	}
	o.warn(p)
	return newRun(o, p, stdio.In).all(ctx)
}

// finish ends a run that concerned no URL.
func finish(p *printer, err error) int {
	if err != nil {
		p.failed("", err)
	}
	return exitCode(err)
}

func newPrinter(o *options, stdio IO) *printer {
	return &printer{
		out: stdio.Out, outTerminal: isTerminal(stdio.Out),
		err: stdio.Err, errTerminal: isTerminal(stdio.Err),
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

// Package cli is the command ftpfetch as a function: [Run] takes its arguments
// and standard streams and returns its exit code. A program that wants files
// uses package download instead.
package cli

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"os"
	"time"

	"golang.org/x/term"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/urlparse"
)

// IO holds the standard streams of a run. A stream is a terminal if it is an
// [*os.File] on one or if its method IsTerminal() bool returns true.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
	Confine  bool // the process does nothing else: put it under Landlock, without --no-sandbox
}

// Standard returns the streams of the process.
func Standard() IO { return IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Confine: true} }

// Run runs the command with args, which exclude the program's name, and returns
// its exit code. It returns within a second after ctx ends: it abandons a read
// or write that cannot be cancelled. If the cause is a [*SignalError], the exit
// code tells the signal.
func Run(ctx context.Context, args []string, stdio IO) int {
	code := execute(ctx, args, stdio)
	if ctx.Err() != nil {
		return exitCode(context.Cause(ctx))
	}
	return code
}

func execute(ctx context.Context, args []string, stdio IO) int {
	c, err := config.Parse(args)
	first, cancel := limit(ctx, c)
	defer cancel()
	p := newPrinter(first, c, stdio)
	if err != nil {
		return finish(p, err)
	}
	if c.Print != "" {
		return finish(p, p.text(first, config.Text(c.Print, exitLines())))
	}
	if c.Client.TLSConfig, err = await(first, func() (*tls.Config, error) { return readTLS(c) }); err != nil {
		return finish(p, err)
	}
	via, err := newProxies(c)
	if err != nil {
		return finish(p, err)
	}
	warn(p, c)
	defer p.within(ctx)()
	return newRun(via, p, stdio).all(ctx)
}

// finish ends a run before its first URL.
func finish(p *printer, err error) int {
	var bad *config.Error
	switch {
	case errors.As(err, &bad):
		p.complain(bad)
	case err != nil:
		p.failed("", err, "")
	}
	return exitCode(err)
}

func newPrinter(ctx context.Context, c *config.Config, stdio IO) *printer {
	return &printer{
		display: display{c.Verbose, c.Quiet, progressMode(c.Progress)}, now: time.Now, ctx: ctx, patience: c.Client.Timeout,
		out: &stream{w: stdio.Out, terminal: isTerminal(stdio.Out)},
		err: &stream{w: stdio.Err, terminal: isTerminal(stdio.Err)},
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
	proxies
	print    *printer
	in       io.Reader // standard input
	confined bool      // IO.Confine
	ask      *prompter
	netrc    *netrcFile
	source   batch.Source    // where files and listings come from
	made     string          // the outermost directory that makeDir made
	saved    map[string]bool // paths that this run has written
	kept     int64           // bytes of the current URL's file from which the next run can resume
	current  *urlparse.URL   // being retrieved
	next     []config.Target // after it
	behind   bool            // a transfer was left behind, blocked in a stream
}

func newRun(via proxies, p *printer, stdio IO) *run {
	c := via.Config
	ask := &prompter{
		forbidden: c.NoPrompt, open: openConsole, alone: p.withoutLines,
		known: make(map[login]string),
	}
	logins := newCredentials(c, stdio.In, ask)
	c.Client.Credentials, c.Client.Dial, c.Client.Proxy = logins, via.dial, via.dialer
	c.Client.Trace = p.trace()
	source := via.source(p)
	c.File.Limit = download.NewLimiter(c.LimitRate)
	return &run{
		proxies: via, print: p, in: stdio.In, confined: stdio.Confine, ask: ask,
		netrc: logins.netrc, source: source, saved: make(map[string]bool),
	}
}

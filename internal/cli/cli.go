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

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/cli/show"
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
// its exit code. It returns within two seconds after ctx ends: what still reads or
// writes then, because there is nobody at the other end, is left behind. If the
// cause is a [*SignalError], the exit code tells the signal.
func Run(ctx context.Context, args []string, stdio IO) int {
	c, err := config.Parse(args)
	options := show.Options{Verbose: c.Verbose, Quiet: c.Quiet, Progress: show.Mode(c.Progress)}
	w := &watchdog{print: show.New(options, stdio.Out, stdio.Err, explain), left: make(chan int, 1)}
	defer w.watch(ctx)()
	go func() {
		code := w.execute(ctx, c, err, stdio)
		if ctx.Err() != nil {
			code = exitCode(context.Cause(ctx))
		}
		w.left <- code
	}()
	return <-w.left
}

func (w *watchdog) execute(ctx context.Context, c *config.Config, err error, stdio IO) int {
	first, cancel := w.limit(ctx, c)
	defer cancel()
	if err != nil {
		return w.finish(err)
	}
	if c.Print != "" {
		_, err := io.WriteString(w.print.Out, config.Text(c.Print, exitLines()))
		return w.finish(err)
	}
	if c.Client.TLSConfig, err = await(first, func() (*tls.Config, error) { return readTLS(c) }); err != nil {
		return w.finish(err)
	}
	via, err := newProxies(c)
	if err != nil {
		return w.finish(err)
	}
	warn(w.print, c)
	cancel()
	return newRun(via, w, stdio).all(ctx)
}

// finish ends a run before its first URL.
func (w *watchdog) finish(err error) int {
	var bad *config.Error
	switch {
	case errors.As(err, &bad):
		for i, text := range bad.Lines {
			if i == len(bad.Lines)-1 && !bad.Whole {
				text += "; try ftpfetch --help"
			}
			w.print.Line("ftpfetch: %s", show.OneLine(text))
		}
	case err != nil:
		w.print.Failed("", err, "")
	}
	return exitCode(err)
}

// run is one run of the command.
type run struct {
	proxies
	*watchdog
	in       io.Reader // standard input
	confined bool      // IO.Confine
	ask      *prompter
	netrc    *netrcFile
	source   batch.Source    // where files and listings come from
	made     string          // the outermost directory that makeDir made
	saved    map[string]bool // paths that this run has written
	current  *urlparse.URL   // being retrieved
	next     []config.Target // after it
}

func newRun(via proxies, w *watchdog, stdio IO) *run {
	c, p := via.Config, w.print
	ask := &prompter{
		forbidden: c.NoPrompt, open: show.OpenConsole, alone: p.Alone,
		known: make(map[login]string),
	}
	logins := newCredentials(c, stdio.In, ask)
	c.Client.Credentials, c.Client.Dial, c.Client.Proxy = logins, via.dial, via.dialer
	c.Client.Trace = p.Trace()
	source := via.source(p)
	c.File.Limit = download.NewLimiter(c.LimitRate)
	return &run{
		proxies: via, watchdog: w, in: stdio.In, confined: stdio.Confine, ask: ask,
		netrc: logins.netrc, source: source, saved: make(map[string]bool),
	}
}

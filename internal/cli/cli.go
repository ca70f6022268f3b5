// Package cli is the command ftpfetch as a function: [Run] takes its arguments and standard streams and returns its
// exit code. A program that wants files uses package download instead.
package cli

import (
	"context"
	"errors"
	"io"
	"os"

	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/cli/show"
)

// IO holds the standard streams of a run. A stream is a terminal if it is an [*os.File] on one or if its method
// IsTerminal() bool returns true.
type IO struct {
	In       io.Reader
	Out, Err io.Writer
	Confine  bool // the process does nothing else: put it under Landlock, without --no-sandbox
}

// Standard returns the streams of the process.
func Standard() IO { return IO{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Confine: true} }

// Run runs the command with args, which exclude the program's name, and returns its exit code. It returns within two
// seconds after ctx ends: what still reads or writes then, because there is nobody at the other end, is left behind. If
// the cause is a [*SignalError], the exit code tells the signal.
func Run(ctx context.Context, args []string, stdio IO) int {
	c, err := config.Parse(args)
	r := newRun(c, stdio)
	defer r.watch(ctx)()
	go func() {
		r.execute(ctx, err)
		if ctx.Err() != nil {
			r.code = exitCode(context.Cause(ctx))
		}
		r.left <- r.code
	}()
	return <-r.left
}

func newRun(c *config.Config, stdio IO) *run {
	options := show.Options{Verbose: c.Verbose, Quiet: c.Quiet, Progress: show.Mode(c.Progress)}
	p := show.New(options, stdio.Out, stdio.Err, explain)
	return &run{
		Config: c, watchdog: watchdog{print: p, left: make(chan int, 1)}, in: stdio.In, confined: stdio.Confine,
		logins: newLogins(c, stdio.In, p.Alone), saved: make(map[string]bool),
	}
}

// execute does what the command line asks for; err says what is wrong with it.
func (r *run) execute(ctx context.Context, err error) {
	first, cancel := r.limit(ctx, r.MaxTime)
	defer cancel()
	switch {
	case err != nil:
	case r.Print != "":
		_, err = io.WriteString(r.print.Out, config.Text(r.Print, exitLines()))
	default:
		if err = r.connect(first); err == nil {
			cancel()
			r.all(ctx)
		}
	}
	r.misused(err)
}

// misused reports what ends a run before its first URL.
func (r *run) misused(err error) {
	bad, ok := errors.AsType[*config.Error](err)
	if !ok {
		r.fail("", err)
		return
	}
	for i, text := range bad.Lines {
		if i == len(bad.Lines)-1 && !bad.Whole {
			text += "; try ftpfetch --help"
		}
		r.print.Line("ftpfetch: %s", show.OneLine(text))
	}
	r.code = exitUsage
}

//go:build linux

package large

import (
	"context"
	"errors"
	"flag"
	"io"

	"example.com/ftpfetch/internal/bench/lab"
)

// settings are the values of the flags.
type settings struct {
	lab.Settings
	runs int
	size int64 // of the large file, MiB
	huge int64 // of the huge file, MiB
}

// Run measures what the flags in args ask for, and writes the report to stdout. It
// returns an exit code.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stderr)
	p := lab.Program{Name: "large", Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, args, s.Settings, err, func() error { return inside(ctx, s, stdout, stderr) })
}

func parse(args []string, stderr io.Writer) (*settings, error) {
	var s settings
	f := flag.NewFlagSet("large", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&s.runs, "n", 5, "runs of every command of cases 1 and 2; cases 3 and 4 have five times as many, 5 and 6 have one")
	f.Int64Var(&s.size, "size", 256, "size of the large file in MiB")
	f.Int64Var(&s.huge, "huge", 10<<10, "size of the huge file in MiB")
	return &s, s.Parse(f, args, s.check)
}

func (s *settings) check() error {
	if s.runs < 1 || s.size < 1 || s.huge < 2 {
		return errors.New("-n and -size must be 1 or more, and -huge 2 or more")
	}
	return nil
}

// inside runs in the new namespaces: it starts the servers, measures and writes
// the report.
func inside(ctx context.Context, s *settings, stdout, stderr io.Writer) error {
	if err := lab.Enter(s.Dir); err != nil {
		return err
	}
	site, err := lab.NewSite(s.Dir)
	if err != nil {
		return err
	}
	b := &bench{settings: s, site: site, progress: stderr, rows: makeRows(s)}
	if len(b.rows) == 0 {
		return errors.New("nothing to measure: check -case and -clients")
	}
	if err := b.serve(ctx); err != nil {
		return err
	}
	if err := b.run(ctx); err != nil {
		return err
	}
	return b.write(ctx, stdout)
}

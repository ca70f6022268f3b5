//go:build linux

package large

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"

	"example.com/ftpfetch/internal/bench/lab"
)

// settings are the values of the flags.
type settings struct {
	runs     int
	size     int64  // of the large file, MiB
	huge     int64  // of the huge file, MiB
	only     string // clients, comma separated; "" = all
	cases    string // numbers, comma separated; "" = all
	ftpfetch string // a ready binary; "" = build it
	inside   string // the working directory, in the process inside the namespaces
}

// Run measures what the flags in args ask for, and writes the report to stdout. It
// returns an exit code.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stderr)
	if errors.Is(err, flag.ErrHelp) {
		return 0
	}
	if err != nil {
		return 2
	}
	p := lab.Program{Name: "large", Ftpfetch: s.ftpfetch, Stdout: stdout, Stderr: stderr}
	if s.inside == "" {
		err = p.Outside(ctx, args)
	} else {
		err = inside(ctx, s, stdout, stderr)
	}
	return p.ExitCode(ctx, err)
}

func parse(args []string, stderr io.Writer) (*settings, error) {
	var s settings
	f := flag.NewFlagSet("large", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.IntVar(&s.runs, "n", 5, "runs of every command of cases 1 and 2; cases 3 and 4 have five times as many, 5 and 6 have one")
	f.Int64Var(&s.size, "size", 256, "size of the large file in MiB")
	f.Int64Var(&s.huge, "huge", 10<<10, "size of the huge file in MiB")
	f.StringVar(&s.only, "clients", "", "programs to measure, comma separated (default all)")
	f.StringVar(&s.cases, "case", "", "numbers of the cases to measure, comma separated (default all)")
	f.StringVar(&s.ftpfetch, "ftpfetch", "", "binary to measure (default: build cmd/ftpfetch)")
	f.StringVar(&s.inside, "inside", "", "internal: set by the program when it starts itself inside the namespaces")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if f.NArg() > 0 || s.runs < 1 || s.size < 1 || s.huge < 2 {
		err := errors.New("-n and -size must be 1 or more, -huge 2 or more, and there are no arguments")
		fmt.Fprintln(stderr, "large:", err)
		return nil, err
	}
	return &s, nil
}

// inside runs in the new namespaces: it starts the servers, measures and writes
// the report.
func inside(ctx context.Context, s *settings, stdout, stderr io.Writer) error {
	if err := lab.Enter(s.inside); err != nil {
		return err
	}
	site, err := lab.NewSite(s.inside)
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

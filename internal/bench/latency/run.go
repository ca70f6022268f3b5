//go:build linux

package latency

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"time"

	"example.com/ftpfetch/internal/bench/lab"
)

// settings are the values of the flags.
type settings struct {
	rtt      time.Duration
	runs     int
	files    int           // files of the case with many files
	timeout  time.Duration // of one command, in addition to its round trips
	only     string        // clients, comma separated; "" = all
	cases    string        // numbers, comma separated; "" = all
	ftpfetch string        // a ready binary; "" = build it
	inside   string        // the working directory, in the process inside the namespaces
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
	p := lab.Program{Name: "latency", Ftpfetch: s.ftpfetch, Stdout: stdout, Stderr: stderr}
	if s.inside == "" {
		err = p.Outside(ctx, args)
	} else {
		err = inside(ctx, s, stdout, stderr)
	}
	return p.ExitCode(ctx, err)
}

func parse(args []string, stderr io.Writer) (*settings, error) {
	var s settings
	f := flag.NewFlagSet("latency", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.DurationVar(&s.rtt, "rtt", 50*time.Millisecond, "round-trip time of the delayed link")
	f.IntVar(&s.runs, "n", 5, "runs of every command over each link")
	f.IntVar(&s.files, "files", 20, "files to fetch in the case with many files")
	f.DurationVar(&s.timeout, "timeout", 10*time.Second, "time that a command may take in addition to its round trips")
	f.StringVar(&s.only, "clients", "", "programs to measure, comma separated (default all)")
	f.StringVar(&s.cases, "case", "", "numbers of the cases to measure, comma separated (default all)")
	f.StringVar(&s.ftpfetch, "ftpfetch", "", "binary to measure (default: build cmd/ftpfetch)")
	f.StringVar(&s.inside, "inside", "", "internal: set by the program when it starts itself inside the namespaces")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if err := s.check(f.Args()); err != nil {
		fmt.Fprintln(stderr, "latency:", err)
		return nil, err
	}
	return &s, nil
}

func (s *settings) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case s.rtt <= 0:
		return errors.New("-rtt must be above zero")
	case s.runs < 1:
		return errors.New("-n must be 1 or more")
	case s.files < 1 || s.files > 999:
		return errors.New("-files must be 1 to 999")
	case s.timeout <= 0:
		return errors.New("-timeout must be above zero")
	}
	return nil
}

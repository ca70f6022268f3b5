//go:build linux

package many

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
	once     time.Duration // a command that takes longer is not run again
	files    int           // of the first case
	size     int           // of the large file, MiB
	timeout  time.Duration // of one command, beside what its files take
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
	p := lab.Program{Name: "many", Ftpfetch: s.ftpfetch, Stdout: stdout, Stderr: stderr}
	if s.inside == "" {
		err = p.Outside(ctx, args)
	} else {
		err = inside(ctx, s, stdout, stderr)
	}
	return p.ExitCode(ctx, err)
}

func parse(args []string, stderr io.Writer) (*settings, error) {
	var s settings
	f := flag.NewFlagSet("many", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.DurationVar(&s.rtt, "rtt", 50*time.Millisecond, "round-trip time of the delayed links")
	f.IntVar(&s.runs, "n", 3, "runs of every command")
	f.DurationVar(&s.once, "once", time.Minute, "run a command that takes longer only once")
	f.IntVar(&s.files, "files", 500, "files of cases 1 and 5; case 2 has 20 times as many, case 3 has 10 times as many entries")
	f.IntVar(&s.size, "size", 32, "size of the large file in MiB")
	f.DurationVar(&s.timeout, "timeout", 2*time.Minute, "time that a command may take, in addition to 20 round trips and 100 ms a file")
	f.StringVar(&s.only, "clients", "", "programs to measure, comma separated (default all)")
	f.StringVar(&s.cases, "case", "", "numbers of the cases to measure, comma separated (default all)")
	f.StringVar(&s.ftpfetch, "ftpfetch", "", "binary to measure (default: build cmd/ftpfetch)")
	f.StringVar(&s.inside, "inside", "", "internal: set by the program when it starts itself inside the namespaces")
	if err := f.Parse(args); err != nil {
		return nil, err
	}
	if err := s.check(f.Args()); err != nil {
		fmt.Fprintln(stderr, "many:", err)
		return nil, err
	}
	return &s, nil
}

func (s *settings) check(rest []string) error {
	switch {
	case len(rest) > 0:
		return fmt.Errorf("unexpected argument %q", rest[0])
	case s.rtt <= 0 || s.timeout <= 0:
		return errors.New("-rtt and -timeout must be above zero")
	case s.runs < 1 || s.size < 1:
		return errors.New("-n and -size must be 1 or more")
	case s.files < 1 || s.files > 5000:
		return errors.New("-files must be 1 to 5000")
	}
	return nil
}

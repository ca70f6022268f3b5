//go:build linux

package many

import (
	"context"
	"errors"
	"flag"
	"io"
	"time"

	"example.com/ftpfetch/internal/bench/lab"
)

// settings are the values of the flags.
type settings struct {
	lab.Settings
	rtt     time.Duration
	runs    int
	once    time.Duration // a command that takes longer is not run again
	files   int           // of the first case
	size    int           // of the large file, MiB
	timeout time.Duration // of one command, beside what its files take
}

// Run measures what the flags in args ask for, and writes the report to stdout. It
// returns an exit code.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stderr)
	p := lab.Program{Name: "many", Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, args, s.Settings, err, func() error { return inside(ctx, s, stdout, stderr) })
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
	return &s, s.Parse(f, args, s.check)
}

func (s *settings) check() error {
	switch {
	case s.rtt <= 0 || s.timeout <= 0:
		return errors.New("-rtt and -timeout must be above zero")
	case s.runs < 1 || s.size < 1:
		return errors.New("-n and -size must be 1 or more")
	case s.files < 1 || s.files > 5000:
		return errors.New("-files must be 1 to 5000")
	}
	return nil
}

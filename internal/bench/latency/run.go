//go:build linux

package latency

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
	files   int           // files of the case with many files
	timeout time.Duration // of one command, in addition to its round trips
}

// Run measures what the flags in args ask for, and writes the report to stdout. It
// returns an exit code.
func Run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stderr)
	p := lab.Program{Name: "latency", Stdout: stdout, Stderr: stderr}
	return p.Run(ctx, args, s.Settings, err, func() error { return inside(ctx, s, stdout, stderr) })
}

func parse(args []string, stderr io.Writer) (*settings, error) {
	var s settings
	f := flag.NewFlagSet("latency", flag.ContinueOnError)
	f.SetOutput(stderr)
	f.DurationVar(&s.rtt, "rtt", 50*time.Millisecond, "round-trip time of the delayed link")
	f.IntVar(&s.runs, "n", 5, "runs of every command over each link")
	f.IntVar(&s.files, "files", 20, "files to fetch in the case with many files")
	f.DurationVar(&s.timeout, "timeout", 10*time.Second, "time that a command may take in addition to its round trips")
	return &s, s.Parse(f, args, s.check)
}

func (s *settings) check() error {
	switch {
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

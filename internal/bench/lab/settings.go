//go:build linux

package lab

import (
	"context"
	"errors"
	"flag"
	"fmt"
)

// Settings are the values of the flags that all benchmarks have.
type Settings struct {
	Only     string // clients, comma separated; "" = all
	Cases    string // numbers, comma separated; "" = all
	Ftpfetch string // a ready binary; "" = build it
	Dir      string // the working directory, in the process inside the namespaces
}

// Parse parses args with f, which has the benchmark's own flags, and then calls check. It reports an error to f's output.
func (s *Settings) Parse(f *flag.FlagSet, args []string, check func() error) error {
	f.StringVar(&s.Only, "clients", "", "programs to measure, comma separated (default all)")
	f.StringVar(&s.Cases, "case", "", "numbers of the cases to measure, comma separated (default all)")
	f.StringVar(&s.Ftpfetch, "ftpfetch", "", "binary to measure (default: build cmd/ftpfetch)")
	f.StringVar(&s.Dir, "inside", "", "internal: set by the program when it starts itself inside the namespaces")
	if err := f.Parse(args); err != nil {
		return err
	}
	err := check()
	if f.NArg() > 0 {
		err = fmt.Errorf("unexpected argument %q", f.Arg(0))
	}
	if err != nil {
		fmt.Fprintf(f.Output(), "%s: %v\n", f.Name(), err)
	}
	return err
}

// Run runs the benchmark: inside is called in new namespaces. wrong is the error of Parse. It returns an exit code.
func (p Program) Run(ctx context.Context, args []string, s Settings, wrong error, inside func() error) int {
	switch {
	case errors.Is(wrong, flag.ErrHelp):
		return 0
	case wrong != nil:
		return 2
	case s.Dir != "":
		return p.exitCode(ctx, inside())
	}
	return p.exitCode(ctx, p.outside(ctx, s.Ftpfetch, args))
}

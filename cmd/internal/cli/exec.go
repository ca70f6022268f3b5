package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"example.com/ftpfetch/cmd/internal/cli/commands"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/local/localfile"
)

// execFlag is a hidden flag: with it the process runs the commands of --exec for another one, which confines itself.
const execFlag = "--exec-for"

// keepCommands runs commands for the process that has started this one.
func keepCommands(stdio IO) int {
	commands.Survive()
	commands.Keep(stdio.In, stdio.Out)
	return exitOK
}

// openCommands prepares for the commands of --exec. They run in a process of their own if this one is about to confine
// itself.
func (r *run) openCommands() error {
	runner := &commands.Runner{
		Script: r.Exec, Signal: signalFor,
		Output: func(_ string, line []byte) error {
			r.print.Relay(line)
			return r.print.Lost()
		},
		Errors: func(path string, line []byte) { r.print.RelayError(path, line) },
	}
	program, err := os.Executable()
	switch {
	case !r.Confine, runtime.GOOS == "windows", err != nil:
		err = runner.Start("")
	case runtime.GOOS == "linux":
		err = runner.Start("/proc/self/exe", os.Args[0], execFlag) // whatever has become of the file
	default:
		err = runner.Start(program, os.Args[0], execFlag)
	}
	if err == nil {
		r.runner.Store(runner)
	}
	return err
}

// signalFor returns the signal for commands under way when the run ends: the one that has ended it.
func signalFor(cause error) syscall.Signal {
	if ended, ok := errors.AsType[*SignalError](cause); ok {
		return ended.Signal.(syscall.Signal)
	}
	return syscall.SIGTERM
}

// exec runs the command of --exec for a file.
func (r *run) exec(ctx context.Context, t *download.Task, f download.Result) error {
	path, err := filepath.Abs(filepath.Join(r.Dir, filepath.FromSlash(t.Path)))
	if err != nil {
		return localfile.Failure(t.Path, "its directory cannot be found", err)
	}
	at := ""
	if !f.ModTime.IsZero() {
		at = f.ModTime.UTC().Format(time.RFC3339)
	}
	err = r.runner.Load().Run(ctx, path, []string{
		"FTPFETCH_URL=" + t.URLs[0].WithoutPassword().String(),
		"FTPFETCH_SIZE=" + strconv.FormatInt(f.Size, 10),
		"FTPFETCH_TIME=" + at,
		"FTPFETCH_SUM=" + f.Sum.String(),
		"FTPFETCH_VERIFIED=" + f.Verified,
	})
	return cmp.Or(r.print.Lost(), err) // what the command has printed may be what it is for
}

// commandsEnd waits until no command of --exec is under way.
func (r *run) commandsEnd() {
	if runner := r.runner.Load(); runner != nil {
		runner.Wait()
	}
}

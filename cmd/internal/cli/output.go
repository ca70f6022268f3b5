package cli

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"example.com/ftpfetch/cmd/internal/cli/config"
	"example.com/ftpfetch/cmd/internal/cli/report"
	"example.com/ftpfetch/cmd/internal/cli/show"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/fence"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/printable"
)

// open creates the directory of -d with its parents, opens it for a run of many files, and creates the report.
func (r *run) open() error {
	if r.DryRun {
		return r.peek()
	}
	if r.Info {
		return nil
	}
	if r.Exec != "" {
		if err := r.openCommands(); err != nil {
			return err
		}
	}
	if r.Dir != "" || r.Many {
		if err := r.openDir(cmp.Or(r.Dir, ".")); err != nil {
			return err
		}
	}
	if r.Report != "" {
		return r.openReport()
	}
	return nil
}

func (r *run) openDir(dir string) error {
	err := r.makeDir(dir)
	if err != nil || !r.Many {
		return err
	}
	if r.root, err = os.OpenRoot(dir); err != nil {
		return localfile.Failure(dir, "cannot be opened", err)
	}
	return r.lock(dir)
}

func (r *run) openReport() (err error) {
	if why := localfile.Unusable(filepath.Base(r.Report)); why != "" && r.Report != "-" {
		return &localfile.Error{Path: r.Report, Reason: why + ": choose another name for --report"}
	}
	dir := r.Dir
	if !r.Many { // the path of a lone file includes it
		dir = ""
	}
	r.report, err = report.Create(r.Report, dir, r.print.Out)
	return localfile.Failure(r.Report, "cannot be written", err)
}

// errAtWork means that another run is mirroring to the directory. Its exit code is that of sysexits.h for a temporary
// failure.
var errAtWork = errors.New("another run is mirroring to this directory: let it end, or choose another -d")

// lock keeps other mirrors out of the directory until the run ends, if the system can lock directories. Runs of trees
// without -N share the lock, because they can share the work. Lists need no lock.
func (r *run) lock(dir string) (err error) {
	into := r.Recursive && r.Dir != ""
	alone := r.Delete || r.Watch > 0 || into && r.Updates()
	if !alone && !into {
		return nil
	}
	r.locked, err = r.root.Open(".")
	if err != nil {
		return localfile.Failure(dir, "cannot be opened", err)
	}
	taken := false
	if alone {
		taken, _ = disk.Lock(r.locked)
	} else {
		taken = disk.Share(r.locked)
	}
	if taken {
		r.made = nil // the other run may rely on them
		return fmt.Errorf("%s: %w", printable.Line(dir), errAtWork)
	}
	return nil
}

// peek opens the directory of -d if it exists: a dry run creates none.
func (r *run) peek() (err error) {
	if !r.Many {
		return nil
	}
	dir := cmp.Or(r.Dir, ".")
	r.root, err = os.OpenRoot(dir)
	if os.IsNotExist(err) {
		if r.Check {
			r.print.Warn(printable.Line(dir) + " does not exist, so everything is missing")
		}
		return nil
	}
	return localfile.Failure(dir, "cannot be opened", err)
}

// makeDir creates a directory with its parents, records which are new, and flushes their names to the disk.
func (r *run) makeDir(dir string) error {
	for d := filepath.Clean(dir); d != filepath.Dir(d); d = filepath.Dir(d) {
		if _, err := os.Lstat(d); !os.IsNotExist(err) {
			break
		}
		r.made = append(r.made, d)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil {
		return localfile.Failure(dir, "cannot be created", err)
	}
	var dirs disk.Dirs
	for _, d := range r.made {
		dirs.Fresh(nil, filepath.Dir(d))
	}
	return dirs.Close()
}

// close closes the lists and what open has opened. It removes the directories that open made and that are still empty,
// so that a run that fails before the first byte leaves nothing behind.
func (r *run) close() {
	for _, l := range r.lists {
		l.file.Close() // may be nil
		if l.copied {
			_ = os.Remove(l.file.Name())
		}
	}
	if r.report != nil {
		r.printError("", localfile.Failure(r.Report, "cannot be written", r.report.Close()))
	}
	if runner := r.runner.Load(); runner != nil {
		runner.Close()
	}
	if r.root != nil {
		r.locked.Close() // may be nil
		r.root.Close()
	}
	for _, dir := range r.made {
		if r.Many && r.code.Load() == exitOK {
			return // an empty directory that the server has too
		}
		if err := os.Remove(dir); err != nil && !os.IsNotExist(err) {
			if !r.Many {
				r.created()
			}
			return
		}
	}
}

func (r *run) created() {
	if len(r.made) > 0 {
		r.print.Tell("created directory " + r.Dir)
	}
	r.made = nil
}

func (r *run) reports(e download.Event) {
	if r.report == nil {
		return
	}
	text, code := Explain(e.Err)
	r.reported(r.report.Add(e, show.OneLine(text), code))
}

// reported handles an error of writing to the report. After an error, nothing more is written to it.
func (r *run) reported(err error) {
	if err != nil {
		r.printError("", localfile.Failure(r.Report, "cannot be written", err))
		r.report.Close()
		r.report = nil
	}
}

// saysWhere tells users who redirect standard output, as they would for other programs, where the files are: the output is
// empty.
func (r *run) saysWhere() {
	out := r.Out
	switch {
	case r.lastSaved == "", r.lastSaved == "-": // nothing was saved in a file
	case r.Report == "-", r.Exec != "": // the output is not empty
	case !show.IsTerminal(r.Err), show.IsTerminal(out), show.IsNull(out): // nobody reads the note, or misses the output
	case r.Many:
		place := printable.Line(filepath.ToSlash(cmp.Or(r.Dir, ".")))
		r.print.Tell("saved in " + place + "/; standard output is empty")
	default:
		r.print.Tell("saved as " + printable.Line(r.lastSaved) + "; standard output is empty (-o - writes there)")
	}
}

// writer is a function that implements [io.Writer].
type writer func([]byte) (int, error)

func (w writer) Write(data []byte) (int, error) { return w(data) }

// readable returns the terminal for showing a file. The writer refuses a file whose beginning is binary.
func readable(terminal io.Writer) io.Writer {
	begun := false
	return writer(func(data []byte) (int, error) {
		if !begun && bytes.IndexByte(data, 0) >= 0 {
			return 0, errors.New("it is a terminal, and the file is binary (-o FILE saves it, -o /dev/tty shows it)")
		}
		begun = true
		return terminal.Write(data)
	})
}

// fence lets the process write only where this run writes. Any other file must have been opened or read before.
func (r *run) fence(ctx context.Context) {
	if !r.Confine || r.NoSandbox || r.DryRun {
		return
	}
	_, cancel := r.limit(ctx) // the note may have no reader
	defer cancel()
	// Devices and FIFOs; the second is reopened. Unnamed pipes need no rule.
	files := []string{"/dev/tty", "/proc/self/fd/1", filepath.Join(r.Dir, r.Output)}
	var parents []string
	if n := len(r.made); n > 0 {
		parents = append(parents, filepath.Dir(r.made[n-1]))
	}
	dirs := r.slots
	switch {
	case r.Info, r.Output == "-":
	case r.Output != "":
		dirs = append(dirs, filepath.Dir(filepath.Join(r.Dir, r.Output)))
	case r.Many, !r.Long && slices.ContainsFunc(r.Targets, func(t config.Target) bool { return !t.URL.IsDir() }):
		dirs = append(dirs, cmp.Or(r.Dir, "."))
	}
	if r.Report != "" && r.Report != "-" {
		dirs = append(dirs, filepath.Dir(r.Report))
	}
	if note := fence.Confine(dirs, files, parents); note != "" {
		r.print.Note(show.Detail, note)
	}
}

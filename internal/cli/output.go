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

	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/internal/cli/config"
	"example.com/ftpfetch/internal/cli/report"
	"example.com/ftpfetch/internal/cli/show"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/fence"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/printable"
)

// open makes the directory of -d with its parents, opens it for many files, and opens the report.
func (r *run) open() error {
	if r.DryRun {
		return r.peek()
	}
	if r.Info {
		return nil
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
	if !r.Many { // the paths of lone files have it
		dir = ""
	}
	r.report, err = report.Create(r.Report, dir, r.print.Out)
	return localfile.Failure(r.Report, "cannot be written", err)
}

// errAtWork means that another run mirrors to the directory. Its code is that of sysexits.h for what works later.
var errAtWork = errors.New("another run is mirroring to this directory: let it end, or choose another -d")

// lock keeps other mirrors out of the directory of this one until the run ends, as far as the system locks directories.
// Trees without -N share the lock with each other, as they share the work. Lists need none.
func (r *run) lock(dir string) (err error) {
	into := r.Recursive && r.Dir != ""
	alone := r.Delete || r.Watch > 0 || into && r.Newer
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
		r.made = nil // which the other run may have found
		return fmt.Errorf("%s: %w", printable.Line(dir), errAtWork)
	}
	return nil
}

// peek opens the directory of -d if it is there: a dry run makes none.
func (r *run) peek() (err error) {
	if !r.Many {
		return nil
	}
	dir := cmp.Or(r.Dir, ".")
	r.root, err = os.OpenRoot(dir)
	if os.IsNotExist(err) {
		return nil
	}
	return localfile.Failure(dir, "cannot be opened", err)
}

// makeDir makes a directory with its parents, remembers which are new, and has their names reach the disk.
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

// close closes the lists and what open has opened. It removes the directories that open made as far as they are still
// empty, so that a run that fails before the first byte leaves nothing.
func (r *run) close() {
	for _, l := range r.lists {
		l.file.Close() // which may be nil
		if l.copied {
			_ = os.Remove(l.file.Name())
		}
	}
	if r.report != nil {
		r.fail("", localfile.Failure(r.Report, "cannot be written", r.report.Close()))
	}
	if r.root != nil {
		r.locked.Close() // which may be nil
		r.root.Close()
	}
	for _, dir := range r.made {
		if r.Many && r.code.Load() == exitOK {
			return // it is what the server has, even if it is empty
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

func (r *run) reports(e batch.Event) {
	if r.report == nil {
		return
	}
	text, code := Explain(e.Err)
	r.reported(r.report.Add(e, show.OneLine(text), code))
}

// reported takes the error of writing to the report, after which nothing is written to it.
func (r *run) reported(err error) {
	if err != nil {
		r.fail("", localfile.Failure(r.Report, "cannot be written", err))
		r.report.Close()
		r.report = nil
	}
}

// saysWhere tells who redirects standard output, as other programs want it, where the files are: the output is empty.
func (r *run) saysWhere() {
	out := r.Out
	switch {
	case r.lastSaved == "", r.lastSaved == "-", r.Report == "-": // nothing is saved, or the output is not empty
	case !show.IsTerminal(r.Err), show.IsTerminal(out), show.IsNull(out): // nobody reads or misses it
	case r.Many:
		place := printable.Line(filepath.ToSlash(cmp.Or(r.Dir, ".")))
		r.print.Tell("saved in " + place + "/; standard output is empty")
	default:
		r.print.Tell("saved as " + printable.Line(r.lastSaved) + "; standard output is empty (-o - writes there)")
	}
}

// writer is a function as an [io.Writer].
type writer func([]byte) (int, error)

func (w writer) Write(data []byte) (int, error) { return w(data) }

// readable returns the terminal on which a file is shown. It refuses one whose beginning is no text.
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

// fence lets the process write only where this run writes. All other files must have been read or opened before.
func (r *run) fence(ctx context.Context) {
	if !r.Confine || r.NoSandbox || r.DryRun {
		return
	}
	_, cancel := r.limit(ctx) // the note may have no reader
	defer cancel()
	// Devices and FIFOs, of which the second is reopened. Pipes without a name need no rule.
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

package cli

import (
	"cmp"
	"os"
	"path/filepath"
	"strings"

	"github.com/bmatcuk/doublestar/v4"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/urlparse"
)

// open makes the directory of -d with its parents, and opens what many files need:
// their directory and the report.
func (r *run) open() (err error) {
	if r.DryRun || r.Info || r.Dir == "" && !r.Many {
		return nil
	}
	dir := cmp.Or(r.Dir, ".")
	for d := filepath.Clean(dir); !r.Many && d != filepath.Dir(d); d = filepath.Dir(d) {
		if _, err := os.Lstat(d); !os.IsNotExist(err) {
			break
		}
		r.made = append(r.made, d)
	}
	if err := os.MkdirAll(dir, 0o777); err != nil || !r.Many {
		return localError(dir, "cannot be created", err)
	}
	if r.root, err = os.OpenRoot(dir); err != nil {
		return localError(dir, "cannot be opened", err)
	}
	if r.Report == "" {
		return nil
	}
	if why := r.reportMeets(); why != "" {
		return &download.Error{Path: r.Report, Reason: why + ": write another name for --report", Err: download.ErrLocal}
	}
	if r.report, err = os.Create(r.Report); err == nil && isTable(r.Report) {
		_, err = r.report.WriteString(reportHead)
	}
	return localError(r.Report, "cannot be written", err)
}

// close closes what open has opened. It removes the directories that open made as far
// as they are still empty, so that a run that fails before the first byte leaves nothing.
func (r *run) close() {
	if r.report != nil {
		r.fail("", localError(r.Report, "cannot be written", r.report.Close()))
	}
	if r.root != nil {
		r.root.Close()
	}
	for _, dir := range r.made {
		if os.Remove(dir) != nil {
			r.print.Made(r.Dir)
			return
		}
	}
}

// path returns where to save u, or "-" for standard output. Two URLs of a run never
// share a path: the second would replace the first one's file.
func (r *run) path(u *urlparse.URL) (path string, err error) {
	if r.Output == "-" {
		return "-", nil
	}
	name := r.Output
	if name == "" {
		if name, err = localName(u); err != nil {
			return "", err
		}
	}
	if path = name; r.Dir != "" {
		path = filepath.Join(r.Dir, name)
	}
	isDir := func() bool { info, err := os.Stat(path); return err == nil && info.IsDir() }
	if r.Output != "" && (os.IsPathSeparator(name[len(name)-1]) || isDir()) {
		dir := cmp.Or(strings.TrimRight(filepath.ToSlash(path), "/"), "/")
		return "", &download.Error{Path: path, Reason: "names a directory: write -d " + dir + " to save in it", Err: download.ErrLocal}
	}
	if r.saved[path] {
		return "", &download.Error{Path: path, Reason: "was written for an earlier URL of this run", Err: download.ErrLocal}
	}
	return path, nil
}

// reportMeets says what else of the run has the name of the report, or "".
func (r *run) reportMeets() string {
	if why := localfile.Unusable(filepath.Base(r.Report)); why != "" {
		return why
	}
	at, err := filepath.Rel(real(cmp.Or(r.Dir, ".")), real(r.Report))
	at = localfile.Key(filepath.ToSlash(at))
	inside := err == nil && filepath.IsLocal(at)
	for _, l := range r.lists {
		if sameFile(l.path, r.Report) {
			return "is the list itself"
		}
		for item := range l.items() {
			if !inside {
				break
			} else if localfile.Key(item.Path) == at {
				return "is the place of a file of the run"
			}
		}
	}
	for _, t := range r.Targets {
		r.addType(t.URL)
		task, terr := r.task(t, t.URL)
		below, within := strings.CutPrefix("/"+at+"/", strings.TrimSuffix("/"+localfile.Key(task.Path), "/")+"/")
		first, deeper, _ := strings.Cut(strings.TrimSuffix(below, "/"), "/")
		matches, _ := doublestar.Match(cmp.Or(t.Pattern, "*"), first)
		if inside && within && terr == nil && (task.Tree == nil && below == "" || task.Tree != nil && matches && (deeper == "" || r.Recursive)) {
			return "is the place of what the run fetches"
		}
	}
	return ""
}

// sameFile reports whether two paths lead to the same file.
func sameFile(a, b string) bool {
	x, xerr := os.Stat(a)
	y, yerr := os.Stat(b)
	return xerr == nil && yerr == nil && os.SameFile(x, y)
}

// real returns the absolute path of a file, without links as far as it exists.
func real(file string) string {
	if dir, err := filepath.EvalSymlinks(filepath.Dir(file)); err == nil {
		file = filepath.Join(dir, filepath.Base(file))
	}
	if target, err := filepath.EvalSymlinks(file); err == nil {
		file = target
	}
	file, _ = filepath.Abs(file)
	return file
}

// localName returns the name under which to save the file that u names: its last
// segment, decoded and otherwise unchanged.
func localName(u *urlparse.URL) (string, error) {
	if why := localfile.Unusable(u.Name); why != "" {
		return "", &download.Error{Path: u.Name, Reason: why, Err: download.ErrName}
	}
	return u.Name, nil
}

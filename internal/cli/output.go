package cli

import (
	"cmp"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/internal/cli/show"
	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/internal/printable"
)

// open makes the directory of -d with its parents, and opens what many files need: their directory and the report.
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
		return localfile.Failure(dir, "cannot be created", err)
	}
	if r.root, err = os.OpenRoot(dir); err != nil {
		return localfile.Failure(dir, "cannot be opened", err)
	}
	if r.Report == "" {
		return nil
	}
	if why := r.reportMeets(); why != "" {
		return &localfile.Error{Path: r.Report, Reason: why + ": write another name for --report", Err: download.ErrLocal}
	}
	if r.report, err = os.Create(r.Report); err == nil && isTable(r.Report) {
		_, err = r.report.WriteString(reportHead)
	}
	return localfile.Failure(r.Report, "cannot be written", err)
}

// close closes the lists and what open has opened. It removes the directories that open made as far as they are still
// empty, so that a run that fails before the first byte leaves nothing.
func (r *run) close() {
	for _, l := range r.lists {
		l.close()
	}
	if r.report != nil {
		r.fail("", localfile.Failure(r.Report, "cannot be written", r.report.Close()))
	}
	if r.root != nil {
		r.root.Close()
	}
	for _, dir := range r.made {
		if os.Remove(dir) != nil {
			r.print.Note(show.Notice, r.Dir, "directory made")
			return
		}
	}
}

// reportMeets says what else of the run has the name of the report, or "".
func (r *run) reportMeets() (why string) {
	if why := localfile.Unusable(filepath.Base(r.Report)); why != "" {
		return why
	}
	old, _ := os.Stat(r.Report)
	for _, l := range r.lists {
		if list, err := l.file.Stat(); err == nil && os.SameFile(list, old) {
			return "is the list itself"
		}
	}
	at, err := filepath.Rel(real(cmp.Or(r.Dir, ".")), real(r.Report))
	if err != nil || !filepath.IsLocal(at) {
		return ""
	}
	at = localfile.Key(filepath.ToSlash(at))
	r.each(func(_ string, t batch.Task, err error) bool {
		if err == nil && r.meets(t, at) {
			why = "is the place of what the run fetches"
		}
		return why == ""
	})
	return why
}

// meets reports whether the task retrieves something to the path with this key.
func (r *run) meets(t batch.Task, at string) bool {
	place := localfile.Key(t.Path)
	if t.Tree == nil {
		return place == at
	}
	below, within := strings.CutPrefix("/"+at+"/", strings.TrimSuffix("/"+place, "/")+"/")
	first, deeper, _ := strings.Cut(strings.TrimSuffix(below, "/"), "/")
	matches, _ := doublestar.Match(cmp.Or(t.Tree.Names, "*"), first)
	return within && matches && (deeper == "" || r.Recursive)
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

// isTable reports whether the report is one, by its name. Then reportHead is its first line.
func isTable(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".tsv") }

const reportHead = "line\turl\tpath\tstatus\tsize\tsum\tverified\terror\tcode\tchecked\n"

// reports writes the row of --report for the end of a task. It shows no password. docs/many.md documents it.
func (r *run) reports(e batch.Event) {
	if r.report == nil {
		return
	}
	row := struct {
		Line     int    `json:"line,omitempty"`
		URL      string `json:"url"`
		Path     string `json:"path,omitempty"`
		Status   string `json:"status"` // complete, before, failed or link
		Size     *int64 `json:"size,omitempty"`
		Sum      string `json:"sum,omitempty"`
		Verified string `json:"verified,omitempty"`
		Checked  string `json:"checked,omitempty"` // when
		Error    string `json:"error,omitempty"`
		Code     int    `json:"code,omitempty"`
	}{Line: e.Task.Line, URL: e.Task.URLs[0].WithoutPassword().String(), Path: e.Task.Path, Status: "complete"}
	size := ""
	switch {
	case e.Err == nil && e.Text != "":
		row.Status, row.Error = "link", "leads to "+e.Text
	case e.Err != nil:
		row.Status = "failed"
		row.Error, row.Code = explain(e.Err)
		row.Error = show.OneLine(row.Error)
	default:
		row.Size, row.Sum, row.Verified, size = &e.Result.Size, e.Result.Sum.String(), e.Result.Verified, strconv.FormatInt(e.Result.Size, 10)
		if !e.Result.Checked.IsZero() {
			row.Checked = e.Result.Checked.Format(time.RFC3339)
		}
		if e.Result.Left != "" {
			row.Status = "before"
		}
	}
	text := printable.JSON(row)
	if isTable(r.Report) {
		cells := []string{strconv.Itoa(row.Line), row.URL, row.Path, row.Status, size, row.Sum, row.Verified, row.Error, strconv.Itoa(row.Code), row.Checked}
		for i, cell := range cells {
			cells[i] = printable.Line(cell)
		}
		text = []byte(strings.Join(cells, "\t") + "\n")
	}
	if _, err := r.report.Write(text); err != nil {
		r.fail("", localfile.Failure(r.Report, "cannot be written", err))
		r.report.Close()
		r.report = nil
	}
}

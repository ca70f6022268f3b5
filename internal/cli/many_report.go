package cli

import (
	"cmp"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/bmatcuk/doublestar/v4"

	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/internal/cli/show"
	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/internal/printable"
)

// reported is a row of --report. docs/many.md documents it.
type reported struct {
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
}

// reportMeets says what else of the run has the name of the report, or "".
func (m *many) reportMeets() string {
	if why := localfile.Unusable(filepath.Base(m.Report)); why != "" {
		return why
	}
	at, err := filepath.Rel(real(m.outputDir()), real(m.Report))
	at = localfile.Key(filepath.ToSlash(at))
	inside := err == nil && filepath.IsLocal(at)
	for _, l := range m.lists {
		if sameFile(l.path, m.Report) {
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
	for _, t := range m.Targets {
		m.addType(t.URL)
		task, terr := m.task(t, t.URL)
		below, within := strings.CutPrefix("/"+at+"/", strings.TrimSuffix("/"+localfile.Key(task.Path), "/")+"/")
		first, deeper, _ := strings.Cut(strings.TrimSuffix(below, "/"), "/")
		matches, _ := doublestar.Match(cmp.Or(t.Pattern, "*"), first)
		if inside && within && terr == nil && (task.Tree == nil && below == "" || task.Tree != nil && matches && (deeper == "" || m.Recursive)) {
			return "is the place of what the run fetches"
		}
	}
	return ""
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

// table reports whether the report is one, by its name.
func table(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".tsv") }

// reportHead returns the first line of a report with its end, or "".
func reportHead(name string) string {
	if !table(name) {
		return ""
	}
	return "line\turl\tpath\tstatus\tsize\tsum\tverified\terror\tcode\tchecked\n"
}

// reportRow returns the row for the end of a task. It shows no password.
func reportRow(name string, e batch.Event) []byte {
	r := reported{Line: e.Task.Line, URL: e.URL.WithoutPassword().String(), Path: e.Task.Path}
	switch {
	case e.Link != "":
		r.Status, r.Error = "link", "leads to "+e.Link
	case e.Err != nil:
		r.Status, r.Error, r.Code = "failed", show.OneLine(describe(e.Err)), exitCode(e.Err)
	default:
		r.Status, r.Size, r.Sum, r.Verified = "complete", &e.Result.Size, e.Result.Sum.String(), e.Result.Verified
		if !e.Result.Checked.IsZero() {
			r.Checked = e.Result.Checked.Format(time.RFC3339)
		}
		if e.Result.Skipped {
			r.Status = "before"
		}
	}
	if !table(name) {
		return printable.JSON(r)
	}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	cells := []string{number(int64(r.Line)), r.URL, r.Path, r.Status, "", r.Sum, r.Verified, r.Error, number(int64(r.Code)), r.Checked}
	if r.Size != nil {
		cells[4] = number(*r.Size)
	}
	for i, cell := range cells {
		cells[i] = printable.Line(cell)
	}
	return []byte(strings.Join(cells, "\t") + "\n")
}

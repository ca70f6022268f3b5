package cli

import (
	"strconv"
	"strings"
	"time"

	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/internal/cli/show"
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

// isTable reports whether the report is one, by its name. Then reportHead is its first line.
func isTable(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".tsv") }

const reportHead = "line\turl\tpath\tstatus\tsize\tsum\tverified\terror\tcode\tchecked\n"

// reportRow returns the row for the end of a task. It shows no password.
func reportRow(name string, e batch.Event) []byte {
	r := reported{Line: e.Task.Line, URL: e.URL.WithoutPassword().String(), Path: e.Task.Path}
	size := ""
	switch {
	case e.Link != "":
		r.Status, r.Error = "link", "leads to "+e.Link
	case e.Err != nil:
		r.Status, r.Error, r.Code = "failed", show.OneLine(describe(e.Err)), exitCode(e.Err)
	default:
		r.Status, r.Size, r.Sum, r.Verified = "complete", &e.Result.Size, e.Result.Sum.String(), e.Result.Verified
		size = strconv.FormatInt(e.Result.Size, 10)
		if !e.Result.Checked.IsZero() {
			r.Checked = e.Result.Checked.Format(time.RFC3339)
		}
		if e.Result.Left != "" {
			r.Status = "before"
		}
	}
	if !isTable(name) {
		return printable.JSON(r)
	}
	cells := []string{strconv.Itoa(r.Line), r.URL, r.Path, r.Status, size, r.Sum, r.Verified, r.Error, strconv.Itoa(r.Code), r.Checked}
	for i, cell := range cells {
		cells[i] = printable.Line(cell)
	}
	return []byte(strings.Join(cells, "\t") + "\n")
}

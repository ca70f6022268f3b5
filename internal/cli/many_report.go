package cli

import (
	"strconv"
	"strings"

	"example.com/ftpfetch/download/batch"
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
	Error    string `json:"error,omitempty"`
	Code     int    `json:"code,omitempty"`
}

// table reports whether the report is one, by its name.
func table(name string) bool { return strings.HasSuffix(strings.ToLower(name), ".tsv") }

// reportHead returns the first line of a report, or "".
func reportHead(name string) string {
	if !table(name) {
		return ""
	}
	return "line\turl\tpath\tstatus\tsize\tsum\tverified\terror\tcode"
}

// reportRow returns the row for an outcome. It shows no password.
func reportRow(name string, o batch.Outcome) []byte {
	r := reported{Line: o.Line, URL: o.URL.WithoutPassword().String(), Path: o.Path}
	switch {
	case o.Link != "":
		r.Status, r.Error = "link", "leads to "+o.Link
	case o.Err != nil:
		r.Status, r.Error, r.Code = "failed", oneLine(describe(o.Err)), exitCode(o.Err)
	default:
		r.Status, r.Size, r.Sum, r.Verified = "complete", &o.Result.Size, o.Result.Sum.String(), o.Result.Verified
		if o.Result.Skipped {
			r.Status = "before"
		}
	}
	if !table(name) {
		return printable.JSON(r)
	}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	cells := []string{number(int64(r.Line)), r.URL, r.Path, r.Status, "", r.Sum, r.Verified, r.Error, number(int64(r.Code))}
	if r.Size != nil {
		cells[4] = number(*r.Size)
	}
	for i, cell := range cells {
		cells[i] = printable.Line(cell)
	}
	return []byte(strings.Join(cells, "\t") + "\n")
}

package cli

import (
	"errors"
	"fmt"
	"strings"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/printable"
)

// errDiffers means that --check has found a difference. It has no message of its own.
var errDiffers = errors.New("the files here differ from the server's")

// comparison is what --check has not compared: numbers of files.
type comparison struct {
	sizes, times, nothing int64
}

// checked adds what --check has found out about a file.
func (r *run) checked(e download.Event) {
	untold := len(e.Untold)
	for _, what := range e.Untold {
		if what == "size" {
			r.uncompared.sizes++
		} else {
			r.uncompared.times++
		}
	}
	if untold == 2 {
		r.uncompared.nothing++
	}
	if e.Plan == "same" { // prints nothing
		r.plan.totals[e.Plan]++
		return
	}
	s := step{Action: e.Plan, Differs: e.Differs, Reason: e.Result.Left}
	if size := e.Result.Size; size >= 0 {
		s.Size = &size
		if e.Plan != "extra" {
			r.plan.octets += size
		}
	} else {
		r.plan.vague++
	}
	if here := e.Result.Resumed; here > 0 {
		s.Offset = here
		s.Reason += "; " + printable.Count(here, "byte is", "bytes are") + " here"
	}
	r.step(s, e.Task.Path, e.Task.URLs[0])
}

// differences is the total of --check in JSON.
type differences struct {
	Missing int64 `json:"missing"`
	Differs int64 `json:"differs"`
	Extra   int64 `json:"extra"`
	Same    int64 `json:"same"`
	Failed  int64 `json:"failed"`
	LeftOut int64 `json:"left_out,omitempty"`
	Size    int64 `json:"size"` // bytes to fetch, of the files whose size is known
}

// endCheck prints the total of --check, and what was not compared.
func (r *run) endCheck(failed, leftOut int64) {
	n := r.plan.totals
	d := differences{
		Missing: n["missing"],
		Differs: n["differs"],
		Extra:   n["extra"],
		Same:    n["same"],
		Failed:  failed,
		LeftOut: leftOut,
		Size:    r.plan.octets,
	}
	if r.JSON {
		r.print.Print(printable.JSON(sum[differences]{1, d}))
	} else {
		text := fmt.Sprintf("%d missing, %d differ, %d extra, %d the same", d.Missing, d.Differs, d.Extra, d.Same)
		text += r.plan.rest(failed, leftOut, 0)
		r.print.Print(r.columns("total", r.size(d.Size), text, ""))
	}
	if text := r.uncompared.text(); text != "" {
		r.print.Warn(text)
	}
	if all := r.uncompared.nothing; all > 0 {
		r.printError("", fmt.Errorf("%s: the server tells neither size nor time (--verify compares digests)",
			printable.Count(all, "file was not compared", "files were not compared")))
	}
	if d.Missing+d.Differs+d.Extra > 0 {
		r.setExitCode(errDiffers)
	}
}

// text says what was not compared of files of which something was.
func (c comparison) text() string {
	var parts []string
	if n := c.sizes - c.nothing; n > 0 {
		parts = append(parts, "the size of "+printable.Count(n, "file", "files"))
	}
	if n := c.times - c.nothing; n > 0 {
		parts = append(parts, "the time of "+printable.Count(n, "file", "files"))
	}
	if parts == nil {
		return ""
	}
	return "not compared: " + strings.Join(parts, ", ") + ", which the server does not tell exactly"
}

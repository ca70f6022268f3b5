package cli

import (
	"bufio"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"example.com/ftpfetch/cmd/internal/cli/show"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// plan is what a run of many files would do (--dry-run).
type plan struct {
	steps  []keptStep
	texts  []*strings.Builder // of the steps, one after another; full but for the last one
	totals map[string]int64   // number of files, by what would be done with them
	octets int64              // bytes that would be fetched
	vague  int64              // number of files of unknown size that would be fetched
}

// keptStep is a step that is kept for sorting. There may be a million: it holds no pointer, which the garbage collector
// would follow.
type keptStep struct {
	text       int32 // which of the texts has the path and then the line
	start      uint32
	path, line uint32 // their lengths
}

// mostText is how many bytes a text has before the next one begins.
const mostText = 64 << 10

// keep keeps the line for a step.
func (p *plan) keep(path string, line []byte) {
	last := len(p.texts) - 1
	if last < 0 || p.texts[last].Len() >= mostText {
		p.texts = append(p.texts, new(strings.Builder))
		last++
	}
	text := p.texts[last]
	p.steps = append(p.steps, keptStep{int32(last), uint32(text.Len()), uint32(len(path)), uint32(len(line))})
	text.WriteString(path)
	text.Write(line)
}

// of returns the path and the line of a step.
func (p *plan) of(s keptStep) (path, line string) {
	text := p.texts[s.text].String()[s.start:]
	return text[:s.path], text[s.path : s.path+s.line]
}

// sort sorts the steps by path. They often come sorted.
func (p *plan) sort() {
	compare := func(a, b keptStep) int {
		first, _ := p.of(a)
		second, _ := p.of(b)
		return strings.Compare(first, second)
	}
	if !slices.IsSortedFunc(p.steps, compare) {
		slices.SortFunc(p.steps, compare)
	}
}

// step is what would be done with a file. In JSON its fields are those of the events of --progress json.
type step struct {
	Version int      `json:"version"`
	Action  string   `json:"action"` // fetch, replace, leave or delete; with --check missing, differs or extra
	Path    string   `json:"path"`
	URL     string   `json:"url"`
	Size    *int64   `json:"size,omitempty"`
	Offset  int64    `json:"offset,omitempty"`  // bytes that are already there
	Differs []string `json:"differs,omitempty"` // with --check: in what
	Reason  string   `json:"reason"`
}

// sum is the last line in JSON, about all files. It has no field of the lines about single files, so that programs need
// not tell it apart to add up their sizes.
type sum[T any] struct {
	Version int `json:"version,omitempty"`
	Total   T   `json:"total"`
}

// planSum is the total of a plan.
type planSum struct {
	Fetch   int64 `json:"fetch"`
	Replace int64 `json:"replace"`
	Leave   int64 `json:"leave"`
	Delete  int64 `json:"delete"`
	Failed  int64 `json:"failed"`
	LeftOut int64 `json:"left_out,omitempty"`
	Size    int64 `json:"size"` // bytes to fetch, of the files whose size is known
}

// planned adds what would be done with a file.
func (r *run) planned(e download.Event) {
	if r.Check {
		r.checked(e)
		return
	}
	s := step{Action: e.Plan, Reason: e.Result.Left}
	size := e.Result.Size
	here := e.Result.Resumed
	if e.Plan != "leave" {
		s.Offset = here
		r.plan.octets += max(0, size-here)
		if size < 0 {
			r.plan.vague++
		}
		if here > 0 {
			s.Reason += "; " + printable.Count(here, "byte is", "bytes are") + " here"
		}
	}
	if size >= 0 {
		s.Size = &size
	}
	r.step(s, e.Task.Path, e.Task.URLs[0])
}

// step adds a step for the file at path, which is relative to the output directory.
func (r *run) step(s step, path string, u *urlparse.URL) {
	s.Version = 1
	s.Path = filepath.Join(r.Dir, path)
	r.plan.totals[s.Action]++
	if r.JSON || r.print.Progress == show.JSON {
		s.URL = u.WithoutPassword().String()
		r.print.PrintPlan(s.Action, s.URL, s.Path, s.Size, s.Reason)
	}
	if s.Action == "leave" && r.Quiet && !r.JSON { // the last line counts them
		return
	}
	r.plan.keep(s.Path, r.stepLine(s))
}

// endPlan prints the plan, sorted by file name, and its totals. failed, leftOut and older count files that are not in
// the plan: --newest leaves out the older ones.
func (r *run) endPlan(ctx context.Context, failed, leftOut, older int64) {
	r.plan.sort()
	out := bufio.NewWriterSize(r.print.Out, mostText)
	for _, s := range r.plan.steps {
		_, line := r.plan.of(s)
		_, _ = out.WriteString(line) // Lost returns the error
	}
	_ = out.Flush()
	if r.ended(ctx) {
		return
	}
	if r.Check {
		r.endCheck(failed, leftOut)
		return
	}
	n := r.plan.totals
	if r.JSON {
		r.print.Print(printable.JSON(sum[planSum]{1, planSum{
			Fetch:   n["fetch"],
			Replace: n["replace"],
			Leave:   n["leave"],
			Delete:  n["delete"],
			Failed:  failed,
			LeftOut: leftOut + older,
			Size:    r.plan.octets,
		}}))
		return
	}
	r.print.Print(r.columns("total", r.size(r.plan.octets), r.plan.text(failed, leftOut, older), ""))
}

// text says how many files of each kind a plan has.
func (p *plan) text(failed, leftOut, older int64) string {
	var parts []string
	for _, action := range []string{"fetch", "replace", "leave", "delete"} {
		parts = append(parts, fmt.Sprintf("%d to %s", p.totals[action], action))
	}
	return strings.Join(parts, ", ") + p.rest(failed, leftOut, older)
}

// rest says how many files a plan cannot count, or not whole.
func (p *plan) rest(failed, leftOut, older int64) (text string) {
	if failed > 0 {
		text += fmt.Sprintf(", %d failed", failed)
	}
	if p.vague > 0 {
		text += fmt.Sprintf(", %d of unknown size", p.vague)
	}
	if leftOut > 0 {
		text += fmt.Sprintf(", %d left out by age or size", leftOut)
	}
	if older > 0 {
		text += fmt.Sprintf(", %d older left out", older)
	}
	return text
}

func (r *run) stepLine(s step) []byte {
	if r.JSON {
		return printable.JSON(s)
	}
	size := "-"
	if s.Size != nil {
		size = r.size(*s.Size)
	}
	return r.columns(s.Action, size, s.Path, s.Reason)
}

// columns returns a line of a plan: aligned for people, tab-separated for programs.
func (r *run) columns(action, size, name, reason string) []byte {
	switch {
	case !show.IsTerminal(r.print.Out):
		name = strings.ReplaceAll(name, "\t", `\x09`) // it would add a column
		line := strings.TrimRight(action+"\t"+size+"\t"+name+"\t"+reason, "\t")
		return append([]byte(line), '\n')
	case reason != "":
		reason = "  (" + reason + ")"
	}
	return fmt.Appendf(nil, "%-7s %10s  %s%s\n", action, size, printable.Line(name), reason)
}

// commands prints the FTP commands that u stands for.
func (r *run) commands(u *urlparse.URL) error {
	told := u.IsDir() && (r.Long || show.IsTerminal(r.print.Out) && u.Type != urlparse.TypeDir)
	plan, err := ftpexec.Plan(r.charset.sent(u))
	if err == nil && told {
		plan[len(plan)-1] = ftpexec.Command{Verb: "MLSD"}
	}
	for i := range plan {
		r.print.Print(fmt.Appendln(nil, plan[i]))
	}
	if err == nil && told {
		r.print.Tell(u.Redacted() + ": a server without MLSD is sent LIST; what follows depends on the listing")
	}
	last := r.current == len(r.Targets)-1
	if err == nil && last && !r.FindsFirst() && show.IsTerminal(r.Err) { // a person may take it for a dialogue
		r.print.Tell("nothing was sent: this is the plan (-I asks the server)")
	}
	return err
}

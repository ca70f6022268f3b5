//go:build linux

package latency

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/template"

	"example.com/ftpfetch/internal/bench/lab"
)

// report is everything that the Markdown shows.
type report struct {
	settings      *settings
	near, far     lab.Spread // milliseconds of a TCP handshake
	congestion    string
	server        string
	tls           string
	anonymousOnly bool
	versions      []string
	rows          []*row
}

// failure returns an error if ftpfetch failed, so that a script notices. The
// failures of other clients are in the report.
func (r *report) failure() error {
	for _, w := range r.rows {
		if w.client.program == reference && w.failures > 0 {
			return fmt.Errorf("case %d: %s failed: %w", w.job.number, w.client.name, w.err)
		}
	}
	return nil
}

// versions returns the versions of the wanted programs that are installed.
func versions(ctx context.Context, only string) []string {
	var lines []string
	seen := map[string]bool{}
	for _, c := range clients {
		if program, _ := c.installed(ctx); !program || seen[c.program] || !lab.Wanted(only, c.program) {
			continue
		}
		seen[c.program] = true
		lines = append(lines, lab.ProgramVersion(ctx, c.program))
	}
	return lines
}

var page = template.Must(template.New("report").Parse(`Round trips that a client waits for, one after the other: (its time over the delayed
link - its least time over the link without delay) / {{.RTT}}. {{.Runs}} runs over each link, taken in turn. Other work on
the machine can only add to a time: if the least and the median differ much, the least is the better estimate.

- Link: two network namespaces, joined by pairs of TUN devices; a program carries the packets and delivers each {{.OneWay}}
  after it was sent, in order, TCP handshakes included. A TCP handshake, measured (ms: least | median | greatest):
  {{.Far}}; without delay: {{.Near}}. Congestion control {{.Congestion}}.
- Server: {{.Server}}, served files of {{.FileSize}} bytes, each compared with the original after every run.{{if .TLS}} TLS, as logged: {{.TLS}}.{{end}}
- Machine: {{.Machine}}.
- "To the last byte" ends when the last byte of a data connection reaches the client, "to exit" when the command exits.
  Everything that takes longer over the delayed link counts, a client's own timers too. What takes the same time over both
  links, such as most delayed acknowledgements, does not count; it shows in the last column.
{{- if .AnonymousOnly}}
- Measured in a user namespace with one user: no case with a named user.
{{- end}}

{{range .Tables}}{{.}}
{{end}}Versions:
{{range .Versions}}
- {{.}}
{{- end}}

Command lines, with the server's address on the delayed link:

{{range .Commands}}    {{.}}
{{end}}`))

func (r *report) write(w io.Writer) error {
	return page.Execute(w, map[string]any{
		"RTT": r.settings.rtt, "Runs": r.settings.runs, "OneWay": r.settings.rtt / 2,
		"Near": r.near, "Far": r.far, "Congestion": r.congestion,
		"Server": r.server, "TLS": r.tls, "FileSize": fileSize,
		"Machine":       lab.Machine(),
		"AnonymousOnly": r.anonymousOnly, "Versions": r.versions,
		"Tables": r.tables(), "Commands": r.commands(),
	})
}

// tables returns one table for each case.
func (r *report) tables() []string {
	var tables []string
	for i, w := range r.rows {
		if i == 0 || w.job != r.rows[i-1].job {
			tables = append(tables, head(w.job))
		}
		tables[len(tables)-1] += w.markdown(r)
	}
	return tables
}

// columns are those after the client's name; perFile is only in the table of
// many files.
const (
	columns = "to exit: least | median | greatest |%s to the last byte: median | control connections | ms | ms without delay |"
	perFile = " median per file |"
)

func head(j *job) string {
	extra := ""
	if j.form == formMany {
		extra = perFile
	}
	line := "| client | " + fmt.Sprintf(columns, extra)
	rule := "|---|" + strings.Repeat("--:|", strings.Count(line, "|")-2)
	return fmt.Sprintf("### %d. %s\n\n%s\n%s\n", j.number, j.title, line, rule)
}

func (w *row) markdown(r *report) string {
	if len(w.far) == 0 {
		return fmt.Sprintf("| %s | %s |%s\n", w.client.name, w.excuse(), strings.Repeat(" |", strings.Count(head(w.job), "--:|")-1))
	}
	exit := roundTrips(w.near, w.far, r.settings.rtt, untilExit)
	last := roundTrips(w.near, w.far, r.settings.rtt, untilLast)
	each := ""
	if w.job.form == formMany {
		each = fmt.Sprintf(" %.2f |", exit.Median/float64(len(w.job.paths)))
	}
	name := w.client.name
	if w.failures > 0 {
		name += fmt.Sprintf(" (%d of %d runs failed: %s)", w.failures, w.tries, lab.Cell(w.err))
	}
	return fmt.Sprintf("| %s | %s |%s %.1f | %d | %.0f | %.0f |\n", name, exit, each, last.Median,
		w.far[0].controls, milliseconds(w.far, untilExit).Median, milliseconds(w.near, untilExit).Median)
}

// excuse returns why the row has no numbers.
func (w *row) excuse() string {
	if w.note != "" {
		return w.note
	}
	return fmt.Sprintf("failed %d times: %s", w.failures, lab.Cell(w.err))
}

// commands returns the command line of each row.
func (r *report) commands() []string {
	var lines []string
	for _, w := range r.rows {
		if template, can := w.client.lines[w.job.form]; can {
			lines = append(lines, fmt.Sprintf("%d. %s", w.job.number, lab.ShellLine(w.job.words(template, farServer))))
		}
	}
	return lines
}

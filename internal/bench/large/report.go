//go:build linux

package large

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/template"

	"example.com/ftpfetch/internal/bench/lab"
)

var page = template.Must(template.New("report").Parse(`The ratios are those of a client's run to curl's in the same pass, and the median of the passes. Only they say something: the
last three columns depend on the machine and on what else it does. Memory is the peak of what is resident, program included.
Every file was compared with the served one, byte by byte. ftpfetch flushes the file to the disk before it gets its name, the
others do not.

- Server: {{.Server}}, on loopback, anonymous login. TLS with the certificate of a new authority, which each client verifies.
- Machine, for the clients and the server: {{.Machine}}; files on {{.Filesystem}}.

{{range .Tables}}{{.}}
{{end}}Versions:
{{range .Versions}}
- {{.}}
{{- end}}

Command lines:

{{range .Commands}}    {{.}}
{{end}}`))

func (b *bench) write(ctx context.Context, w io.Writer) error {
	server, err := b.site.VsftpdVersion(ctx)
	if err != nil {
		return err
	}
	var versions, programs, commands []string
	for _, r := range b.rows {
		if len(r.samples) > 0 && !slices.Contains(programs, r.client.program) {
			programs = append(programs, r.client.program)
			versions = append(versions, lab.ProgramVersion(ctx, r.client.program))
		}
		commands = append(commands, fmt.Sprintf("%d. %s", r.job.number, lab.ShellLine(r.job.words(r.client.lines[r.job.form]))))
	}
	return page.Execute(w, map[string]any{"Server": server, "Machine": lab.Machine(), "Filesystem": lab.Filesystem(b.settings.Dir),
		"Tables": b.tables(), "Versions": versions, "Commands": commands})
}

// tables returns one table for each job.
func (b *bench) tables() []string {
	var tables []string
	for i, w := range b.rows {
		if i == 0 || w.job != b.rows[i-1].job {
			tables = append(tables, head(w.job))
		}
		tables[len(tables)-1] += w.markdown(b.base(w.job))
	}
	return tables
}

// base returns the row that the rows of j are compared with; nil if it has none.
func (b *bench) base(j *job) *row {
	for _, w := range b.rows {
		if w.job == j && w.client.program == reference {
			return w
		}
	}
	return nil
}

// columns are the figures of a sample, in the order of the table.
var columns = []struct {
	name, format string
	of           func(sample) float64
}{
	{"processor seconds", "%.3f", func(s sample) float64 { return s.Processor.Seconds() }},
	{"peak memory, MiB", "%.1f", func(s sample) float64 { return s.memory / (1 << 10) }},
	{"seconds", "%.3f", func(s sample) float64 { return s.Elapsed.Seconds() }},
}

func head(j *job) string {
	runs := fmt.Sprintf("%d runs", j.runs)
	if j.runs == 1 {
		runs = "one run"
	}
	return fmt.Sprintf("### %d. %s; %s\n\n| client | processor time: ratio | peak memory: ratio | time: ratio | %s | %s | %s |\n|---|%s\n",
		j.number, j.title, runs, columns[0].name, columns[1].name, columns[2].name, strings.Repeat("--:|", 2*len(columns)))
}

func (w *row) markdown(base *row) string {
	if w.err != nil {
		return fmt.Sprintf("| %s | %s |%s\n", w.client.name, lab.Cell(w.err), strings.Repeat(" |", 2*len(columns)-1))
	}
	ratios, values := "", ""
	for _, c := range columns {
		median := lab.SpreadOf(w.each(c.of)).Median
		switch {
		case median == 0: // not measured
			ratios, values = ratios+" |", values+" |"
			continue
		case base == nil || base.err != nil:
			ratios += " |"
		default:
			ratios += fmt.Sprintf(" %.2f |", ratio(w.each(c.of), base.each(c.of)))
		}
		values += fmt.Sprintf(" "+c.format+" |", median)
	}
	return "| " + w.client.name + " |" + ratios + values + "\n"
}

func (w *row) each(of func(sample) float64) (values []float64) {
	for _, s := range w.samples {
		values = append(values, of(s))
	}
	return values
}

// ratio returns the median of the ratios of the pairs.
func ratio(values, base []float64) float64 {
	var ratios []float64
	for i, v := range values {
		ratios = append(ratios, v/base[i])
	}
	return lab.SpreadOf(ratios).Median
}

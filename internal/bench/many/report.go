//go:build linux

package many

import (
	"context"
	"fmt"
	"io"
	"strings"
	"text/template"
	"time"

	"example.com/ftpfetch/internal/bench/lab"
)

// report is everything that the Markdown shows.
type report struct {
	settings   *settings
	congestion string
	servers    []string
	versions   []string
	filesystem string
	trips      []string // a TCP handshake over each link
	rows       []*row
}

func (b *bench) describe(ctx context.Context) (*report, error) {
	r := &report{settings: b.settings, rows: b.rows, filesystem: lab.Filesystem(b.settings.Dir)}
	for _, version := range []func(context.Context) (string, error){b.world.site.VsftpdVersion, b.world.site.PureFTPdVersion} {
		v, err := version(ctx)
		if err != nil {
			return nil, err
		}
		r.servers = append(r.servers, v)
	}
	for _, l := range []*lab.Link{b.world.far, b.world.mid, b.world.narrow} {
		took, err := l.Calibrate(ctx)
		if err != nil {
			return nil, err
		}
		r.trips = append(r.trips, fmt.Sprintf("%s: %s", rtt(l), took))
	}
	seen := map[string]bool{}
	for _, w := range b.rows {
		if w.installed && !seen[w.client.program] {
			seen[w.client.program] = true
			r.versions = append(r.versions, lab.ProgramVersion(ctx, w.client.program))
		}
	}
	return r, nil
}

// failure returns an error if ftpfetch lost files or failed, so that a script
// notices. What other clients lost is in the report.
func (r *report) failure() error {
	for _, w := range r.rows {
		for _, s := range w.samples {
			if w.client.program == reference && (s.lost > 0 || s.err != nil) {
				return fmt.Errorf("case %d, %d at once: %s lost %d files: %w", w.job.number, w.connections, w.client.name, s.lost, s.err)
			}
		}
	}
	return nil
}

var page = template.Must(template.New("report").Parse(`Every run was verified: all files there, every byte right. A client that lost files has their number instead of a time.
Medians of {{.Runs}} runs, taken in turn; a command that took longer than {{.Once}} ran once. "Ratio" is the time over that of
ftpfetch with the same cap of connections (in case 5, of ftpfetch told in advance that it may have 3). "Round trips a file" is
the time over the round trip and the number of files. "Connections" counts control connections, refused ones too. "Exit" is the
client's exit code. aria2 runs without --ftp-reuse-connection: it hangs with that, which is its default. rclone opens more
connections than it is told transfers. In case 4, ncftpget sets a receive buffer of its own. ftpfetch syncs each file to the disk
before it gets its name; the others do not.

- Links: network namespaces, joined by pairs of TUN devices; a program carries the packets. A TCP handshake, measured
  (ms: least | median | greatest):{{range .Trips}} {{.}};{{end}} congestion control {{.Congestion}}.
- Servers:{{range .Servers}} {{.}};{{end}} anonymous login.
- Machine, for the clients, the servers and the links: {{.Machine}}; files on {{.Filesystem}}.

{{range .Tables}}{{.}}
{{end}}Versions:
{{range .Versions}}
- {{.}}
{{- end}}

Command lines:

{{range .Commands}}    {{.}}
{{end}}`))

func (r *report) write(w io.Writer) error {
	return page.Execute(w, map[string]any{
		"Runs": r.settings.runs, "Once": r.settings.once, "Trips": r.trips, "Congestion": r.congestion,
		"Servers": r.servers, "Machine": lab.Machine(),
		"Filesystem": r.filesystem, "Versions": r.versions, "Tables": r.tables(), "Commands": r.commands(),
	})
}

// tables returns one table for each job.
func (r *report) tables() []string {
	var tables []string
	for i, w := range r.rows {
		if i == 0 || w.job != r.rows[i-1].job {
			tables = append(tables, w.job.head())
		}
		tables[len(tables)-1] += w.markdown(r.referenceTime(w))
	}
	return tables
}

// referenceTime returns the median time of the run that the row is compared with;
// 0 if there is none.
func (r *report) referenceTime(w *row) time.Duration {
	connections := w.connections
	if w.job.reference > 0 {
		connections = w.job.reference
	}
	for _, other := range r.rows {
		if other.job == w.job && other.client.program == reference && other.connections == connections && other.complete() {
			return other.median()
		}
	}
	return 0
}

// complete reports whether the row has runs and none lost anything.
func (w *row) complete() bool {
	for _, s := range w.samples {
		if s.lost > 0 || s.err != nil && s.Code < 0 {
			return false
		}
	}
	return len(w.samples) > 0
}

func (w *row) median() time.Duration {
	var v []float64
	for _, s := range w.samples {
		v = append(v, float64(s.Elapsed))
	}
	return time.Duration(lab.SpreadOf(v).Median)
}

func (j *job) head() string {
	line := "| at most | client | seconds | ratio | " + j.measure() + " | connections | processor seconds | exit |"
	rule := "|--:|---|" + strings.Repeat("--:|", strings.Count(line, "|")-3)
	return fmt.Sprintf("### %d. %s\n\n%s\n%s\n", j.number, j.title, line, rule)
}

// measure names the column of a job's own figure.
func (j *job) measure() string {
	switch {
	case j.form == formTree:
		return "links kept"
	case j.form == formLarge:
		return "MB/s"
	case j.link == nil:
		return "files/s"
	}
	return "round trips a file"
}

// figure returns the row's value in the column that measure names.
func (w *row) figure() string {
	took, n := w.median(), float64(len(w.job.files.names))
	switch {
	case w.job.form == formTree:
		return fmt.Sprintf("%d of %d", w.last().links, len(w.job.files.links))
	case w.job.form == formLarge:
		return fmt.Sprintf("%.1f", float64(w.job.files.size())/1e6/took.Seconds())
	case w.job.link == nil:
		return fmt.Sprintf("%.0f", n/took.Seconds())
	}
	return fmt.Sprintf("%.2f", float64(took)/float64(2*w.job.link.OneWay)/n)
}

func (w *row) last() sample { return w.samples[len(w.samples)-1] }

func (w *row) markdown(reference time.Duration) string {
	start := fmt.Sprintf("| %d | %s |", w.connections, w.client.name)
	if !w.installed {
		return start + " not installed | | | | | |\n"
	}
	s := w.last()
	connections := ""
	if w.job.link != nil {
		connections = fmt.Sprint(s.controls)
	}
	end := fmt.Sprintf(" %s | %.2f | %s |\n", connections, s.Processor.Seconds(), s.exit())
	if !w.complete() {
		return fmt.Sprintf("%s %s | | |%s", start, w.loss(), end)
	}
	ratio := ""
	if reference > 0 {
		ratio = fmt.Sprintf("%.2f", float64(w.median())/float64(reference))
	}
	return fmt.Sprintf("%s %.2f | %s | %s |%s", start, w.median().Seconds(), ratio, w.figure(), end)
}

// loss says what the last run lost.
func (w *row) loss() string {
	s, after := w.last(), "in"
	if s.Code < 0 {
		after = "still running after"
	}
	return fmt.Sprintf("**lost %d of %d**, %s %.0f s", s.lost, len(w.job.files.names), after, s.Elapsed.Seconds())
}

// exit returns the exit code, or that the client was stopped.
func (s sample) exit() string {
	if s.Code < 0 {
		return "stopped"
	}
	return fmt.Sprint(s.Code)
}

// commands returns each client's command line for each case, with the first cap
// of connections and the lists in lists/.
func (r *report) commands() []string {
	var lines []string
	type key struct {
		number int
		client *client
	}
	seen := map[key]bool{}
	for _, w := range r.rows {
		if k := (key{w.job.number, w.client}); !seen[k] {
			seen[k] = true
			lines = append(lines, fmt.Sprintf("%d. %s", w.job.number,
				lab.ShellLine(w.job.words(w.client.lines[w.job.form].words, "lists", w.connections))))
		}
	}
	return lines
}

package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"example.com/ftpfetch/lab/interop"
)

// columns are the columns of a kind of table; base is the row to compare with, or nil.
type columns struct {
	names []string
	cells func(w, base *row) []string
	base  string // the client to compare with
}

// measured returns the function that makes a table of jobs.
func measured(jobs func(*bench, context.Context) ([]*job, error), c columns) func(context.Context, *bench, io.Writer) error {
	return func(ctx context.Context, b *bench, out io.Writer) error {
		all, err := jobs(b, ctx)
		if err != nil {
			return err
		}
		key := map[string]string{ours: "many", "curl": "large", "curl -Z": "small"}[c.base]
		if len(all[0].links) > 1 {
			key = "latency"
		}
		rows := b.rows(key, all)
		if err := b.run(ctx, rows); err != nil {
			return err
		}
		b.report(ctx, out, rows, c)
		return nil
	}
}

func (b *bench) report(ctx context.Context, out io.Writer, rows []*row, c columns) {
	var programs []string
	for i, w := range rows {
		if i == 0 || w.job != rows[i-1].job {
			fmt.Fprintf(out, "\n### %s\n\n| client | %s |\n|---|%s\n", w.job.title, strings.Join(c.names, " | "), strings.Repeat("--:|", len(c.names)))
		}
		fmt.Fprintf(out, "| %s | %s |\n", w.name(), strings.Join(w.cells(rows, c), " | "))
		if !slices.Contains(programs, w.client.program) {
			programs = append(programs, w.client.program)
		}
	}
	var servers []string
	for _, s := range b.servers {
		version, _ := interop.Version(string(s.kind)) // without a version, the name stands alone
		if name := strings.TrimSpace(string(s.kind) + " " + version); !slices.Contains(servers, name) {
			servers = append(servers, name)
		}
	}
	fmt.Fprintf(out, "\nMachine: %s%s. %s. %s.\n", machine(), strings.TrimSuffix(", congestion control "+b.congestion, ", congestion control "),
		strings.Join(servers, ", "), versions(ctx, programs))
}

func (w *row) name() string {
	if len(w.job.caps) < 2 {
		return w.client.name
	}
	return fmt.Sprintf("%s, %d at once", w.client.name, w.cap)
}

// cells returns the cells of the row: the error and empty cells if it failed.
func (w *row) cells(rows []*row, c columns) []string {
	if w.err != nil {
		all := make([]string, len(c.names))
		all[0] = strings.ReplaceAll(w.err.Error(), "|", `\|`)
		if w.lost > 0 && w.job.caps != nil {
			all[0] = fmt.Sprintf("**lost %d of %d**, in %.0f s, exit code %d", w.lost, len(w.job.files), w.took.elapsed.Seconds(), w.took.code)
			if w.took.code < 0 {
				all[0] = fmt.Sprintf("**lost %d of %d**, still running after %.0f s", w.lost, len(w.job.files), w.took.elapsed.Seconds())
			}
		}
		return all
	}
	base := slices.IndexFunc(rows, func(o *row) bool {
		return o.job == w.job && o.cap == w.cap && o.client.name == cmp.Or(w.job.base, c.base)
	})
	if base < 0 || rows[base].err != nil {
		return c.cells(w, nil)
	}
	return c.cells(w, rows[base])
}

// each returns one value of each run, over the last link.
func (w *row) each(of func(sample) float64) (values []float64) {
	for _, s := range w.samples {
		values = append(values, of(s[len(s)-1]))
	}
	return values
}

func elapsed(s sample) float64   { return s.elapsed.Seconds() }
func processor(s sample) float64 { return s.processor.Seconds() }
func memory(s sample) float64    { return s.memory / (1 << 10) }
func last(s sample) float64      { return s.last.Seconds() }

// roundTrips are how long a client waits: (its time over the delayed link - its least time over the other) / the delay.
var roundTrips = columns{
	names: []string{"to the last byte: median", "to exit: median"},
	cells: func(w, _ *row) []string {
		trips := func(of func(sample) float64) spread {
			far, near := w.each(of), []float64{}
			for _, s := range w.samples {
				near = append(near, of(s[0]))
			}
			for i := range far {
				far[i] = (far[i] - slices.Min(near)) / (2 * w.job.links[1].oneWay).Seconds()
			}
			return spreadOf(far)
		}
		end, exit := trips(last), trips(elapsed)
		return []string{fmt.Sprintf("%.1f", end.median), fmt.Sprintf("%.1f", exit.median)}
	},
}

// lists are the costs of many files over a link; the job names the cap of connections.
var lists = columns{
	names: []string{"seconds", "round trips a file", "connections"}, base: ours,
	cells: func(w, _ *row) []string {
		s := w.samples[0][0]
		trips := float64(s.elapsed) / float64(2*w.job.links[0].oneWay) / float64(len(w.job.files))
		return []string{fmt.Sprintf("%.2f", elapsed(s)), fmt.Sprintf("%.2f", trips), fmt.Sprint(s.controls)}
	},
}

// ratios compare each run with curl's in the same pass, and give the median of the passes.
var ratios = columns{
	names: []string{"processor time: ratio", "peak memory: ratio", "time: ratio", "processor seconds"}, base: "curl",
	cells: func(w, base *row) (all []string) {
		for _, of := range []func(sample) float64{processor, memory, elapsed} {
			all = append(all, w.against(base, of))
		}
		return append(all, fmt.Sprintf("%.3g", spreadOf(w.each(processor)).median))
	},
}

// costs are the costs of many files, compared like ratios.
var costs = columns{
	names: []string{"time: ratio", "processor time: ratio", "processor time a file, µs"}, base: "curl -Z",
	cells: func(w, base *row) (all []string) {
		for _, of := range []func(sample) float64{elapsed, processor} {
			all = append(all, w.against(base, of))
		}
		return append(all, fmt.Sprintf("%.0f", spreadOf(w.each(processor)).median/float64(len(w.job.files))*1e6))
	},
}

// against returns the median of the ratios to base's values in the same pass; "" without base.
func (w *row) against(base *row, of func(sample) float64) string {
	if base == nil {
		return ""
	}
	mine := w.each(of)
	for i, v := range base.each(of) {
		mine[i] /= v
	}
	return fmt.Sprintf("%.2f", spreadOf(mine).median)
}

// versions returns the version that each program prints, shortened.
func versions(ctx context.Context, programs []string) string {
	var all []string
	for _, name := range programs {
		if name == ours {
			continue // this checkout is measured
		}
		out, _ := exec.CommandContext(ctx, name, "--version").CombinedOutput()
		version := firstNumber(string(out))
		if name == "tnftp" { // it prints no version
			out, _ := exec.CommandContext(ctx, "dpkg-query", "-W", "-f", "${Version}", name).Output()
			version = string(out)
		}
		all = append(all, name+" "+version)
	}
	return strings.Join(all, ", ")
}

// firstNumber returns the first word that looks like a version.
func firstNumber(text string) string {
	for word := range strings.FieldsSeq(text) {
		word = strings.Trim(word, "v,")
		if strings.Contains(word, ".") && word[0] >= '0' && word[0] <= '9' {
			return word
		}
	}
	return "(unknown)"
}

// machine describes what the benchmark runs on.
func machine() string {
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	text, _ := os.ReadFile("/proc/cpuinfo")
	_, model, _ := strings.Cut(string(text), "model name\t: ")
	model, _, _ = strings.Cut(model, "\n")
	release, _, _ := strings.Cut(strings.TrimSpace(string(kernel)), "-") // without what a distribution appends
	return fmt.Sprintf("%d processors (%s), Linux %s, %s, %s", runtime.NumCPU(), cmp.Or(model, "unknown"), release, runtime.GOARCH, time.Now().UTC().Format(time.DateOnly))
}

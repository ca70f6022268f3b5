package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"example.com/ftpfetch/lab/interop"
)

// pullers are programs that fetch one file over {n} connections, as a user types it.
var pullers = []client{
	{name: ours, program: ours, file: "ftpfetch, -q, -s, {n}, {url}"},
	{name: "aria2", program: "aria2c", file: "aria2c, -q, -x, {n}, -s, {n}, {url}"},
	{name: "aria2 -k 1M", program: "aria2c", file: "aria2c, -q, -x, {n}, -s, {n}, -k, 1M, {url}"},
	{name: "lftp pget", program: "lftp", file: "lftp, -c, pget -n {n} {url}"},
	{name: "curl", program: "curl", file: "curl, -sS, -O, {url}"},
	{name: "wget", program: "wget", file: "wget, -q, {url}"},
}

// hasty are pullers that wait five seconds for a silent connection. By default lftp connects again only after 30 more.
var hasty = []client{
	{name: ours, program: ours, file: "ftpfetch, -q, --timeout, 5s, -s, {n}, {url}"},
	{name: "aria2", program: "aria2c", file: "aria2c, -q, -t, 5, -x, {n}, -s, {n}, {url}"},
	{name: "aria2 -k 1M", program: "aria2c", file: "aria2c, -q, -t, 5, -x, {n}, -s, {n}, -k, 1M, {url}"},
	{name: "lftp pget", program: "lftp", file: "lftp, -c, set net:timeout 5; set net:reconnect-interval-base 1; pget -n {n} {url}"},
}

// auto are ftpfetch with a number of connections, and with one that it finds itself, which has the cap 0.
var auto = []client{
	{name: "-s auto", program: ours, file: "ftpfetch, -q, -s, auto, {url}", tls: "taskset, -c, 0, ftpfetch, -q, -s, auto, --cacert, {ca}, {ftpes}"},
	{name: "-s N", program: ours, file: "ftpfetch, -q, -s, {n}, {url}", tls: "taskset, -c, 0, ftpfetch, -q, -s, {n}, --cacert, {ca}, {ftpes}"},
}

// scene is one link for one large file, and a row of a table.
type scene struct {
	job
	n     int                                            // connections; 0: each program has several rows
	ideal time.Duration                                  // 0: unknown
	serve func(context.Context) (stop func(), err error) // starts the server of one run; nil: it runs already
	rows  []*row
}

// segments makes the tables of one large file over several connections.
func segments(ctx context.Context, b *bench, out io.Writer) error {
	peers, autos, err := b.scenes(ctx)
	if err != nil {
		return err
	}
	failed := errors.Join(b.race(ctx, peers), b.race(ctx, autos))
	var report bytes.Buffer
	writePeers(&report, peers)
	writeAuto(&report, autos)
	failed = errors.Join(failed, b.digests(ctx, &report))
	vsftpd, _ := interop.Version(string(interop.Vsftpd))
	fmt.Fprintf(&report, "\nMachine: %s, congestion control %s. vsftpd %s, the server of our tests. %s.\n", machine(), b.congestion, vsftpd,
		versions(ctx, []string{ours, "aria2c", "lftp", "curl", "wget"}))
	if failed != nil || b.short { // otherwise the document has it
		_, _ = os.Stderr.Write(report.Bytes())
	}
	_, err = out.Write(report.Bytes())
	return errors.Join(failed, err)
}

// race runs the programs of each scene in turn, in several passes. A program that has failed is not run again. The error
// tells where ftpfetch failed.
func (b *bench) race(ctx context.Context, scenes []*scene) (failed error) {
	for _, s := range scenes {
		for range s.runs {
			for _, w := range s.rows {
				if w.err == nil {
					w.err = b.runOnce(ctx, s, w)
				}
				if ctx.Err() != nil {
					return ctx.Err()
				}
			}
		}
		for _, w := range s.rows {
			if w.err != nil && w.client.program == ours {
				failed = errors.Join(failed, fmt.Errorf("%s, %d connections: %s: %w", s.title, w.cap, w.client.name, w.err))
			}
		}
	}
	return failed
}

// runOnce runs one program in a scene.
func (b *bench) runOnce(ctx context.Context, s *scene, w *row) error {
	if s.serve != nil {
		stop, err := s.serve(ctx)
		if err != nil {
			return err
		}
		defer stop()
	}
	b.once(ctx, w)
	return w.err
}

// addRows gives the scene a row for each client and number of connections.
func (s *scene) addRows(clients []client, numbers ...int) {
	for i := range clients {
		for _, n := range numbers {
			s.rows = append(s.rows, &row{client: &clients[i], job: &s.job, cap: n})
		}
	}
}

// seconds is the median time of a row; 0 if it failed.
func (w *row) seconds() float64 {
	if w.err != nil || len(w.samples) == 0 {
		return 0
	}
	return spreadOf(w.each(elapsed)).median
}

// best returns the fastest of rows that did not fail; nil if all failed.
func best(rows []*row) (fastest *row) {
	for _, w := range rows {
		if s := w.seconds(); s > 0 && (fastest == nil || s < fastest.seconds()) {
			fastest = w
		}
	}
	return fastest
}

// times formats seconds, or what went wrong.
func (w *row) times() string {
	switch {
	case w == nil || w.err == nil && len(w.samples) == 0:
		return ""
	case w.err != nil:
		return "**" + strings.ReplaceAll(w.err.Error(), "|", `\|`) + "**"
	}
	return fmt.Sprintf("%.1f", w.seconds())
}

// find returns the row of a client; nil if the scene has none.
func (s *scene) find(name string) *row {
	if i := slices.IndexFunc(s.rows, func(w *row) bool { return w.client.name == name }); i >= 0 {
		return s.rows[i]
	}
	return nil
}

// writePeers writes the table of the programs.
func writePeers(out io.Writer, scenes []*scene) {
	fmt.Fprint(out, "### One file over N connections\n\n| link | N | ideal, s |")
	for _, c := range pullers {
		fmt.Fprintf(out, " %s |", c.name)
	}
	fmt.Fprintf(out, " to the ideal | to the best other |\n|---|--:|--:|%s--:|--:|\n", strings.Repeat("--:|", len(pullers)))
	for _, s := range scenes {
		ideal, toIdeal := "", ""
		mine := s.find(ours)
		if s.ideal > 0 {
			ideal = fmt.Sprintf("%.1f", s.ideal.Seconds())
			if mine.seconds() > 0 {
				toIdeal = fmt.Sprintf("%.2f", mine.seconds()/s.ideal.Seconds())
			}
		}
		fmt.Fprintf(out, "| %s | %d | %s |", s.title, s.n, ideal)
		var others []*row
		for _, c := range pullers {
			w := s.find(c.name)
			fmt.Fprintf(out, " %s |", w.times())
			if w != nil && c.program != ours {
				others = append(others, w)
			}
		}
		toPeer := ""
		if other := best(others); other != nil && mine.seconds() > 0 {
			toPeer = mine.against(other, elapsed)
		}
		fmt.Fprintf(out, " %s | %s |\n", toIdeal, toPeer)
	}
}

// writeAuto writes the table of -s auto and fixed numbers.
func writeAuto(out io.Writer, scenes []*scene) {
	fmt.Fprint(out, "\n### `-s auto`\n\n| link | `-s auto`, s | fixed numbers, s | to the best of them |\n|---|--:|---|--:|\n")
	for _, s := range scenes {
		var fixed []*row
		var cells []string
		for _, w := range s.rows {
			if w.cap > 0 {
				fixed = append(fixed, w)
				cells = append(cells, fmt.Sprintf("%d: %s", w.cap, w.times()))
			}
		}
		mine, ratio := s.find("-s auto"), ""
		if b := best(fixed); b != nil && mine.seconds() > 0 {
			ratio = mine.against(b, elapsed)
		}
		fmt.Fprintf(out, "| %s | %s | %s | %s |\n", s.title, mine.times(), strings.Join(cells, "; "), ratio)
	}
}

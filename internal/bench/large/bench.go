//go:build linux

package large

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"

	"example.com/ftpfetch/internal/bench/lab"
)

// The servers are on loopback.
const (
	host      = "127.0.0.1"
	plainPort = 21
	tlsPort   = 2021
)

var fill = strings.NewReplacer("{host}", host, "{tls}", strconv.Itoa(tlsPort), "{ca}", lab.CAFile)

// bench measures every job with every client.
type bench struct {
	settings *settings
	site     *lab.Site
	progress io.Writer
	rows     []*row
	network  *lab.Network
}

// row is one client at one job.
type row struct {
	client  *client
	job     *job
	samples []sample // one for each run
	err     error    // why it has no more of them
}

// sample is one run of one command.
type sample struct {
	lab.Outcome
	memory float64 // peak, KiB; 0 if it was not measured
}

func makeRows(s *settings) (rows []*row) {
	for _, j := range s.jobs() {
		if !lab.Wanted(s.Cases, strconv.Itoa(j.number)) {
			continue
		}
		for _, c := range clients {
			if _, can := c.lines[j.form]; can && lab.Wanted(s.Only, c.program) {
				rows = append(rows, &row{client: c, job: j})
			}
		}
	}
	return rows
}

// serve writes the files and starts the servers.
func (b *bench) serve(ctx context.Context) error {
	for name, size := range map[string]int64{largeFile: b.settings.size << 20, tinyFile: 1, hugeFile: b.settings.huge << 20} {
		if err := writeServed(b.site.Tree(name), size, name == hugeFile); err != nil {
			return err
		}
	}
	plain, err := b.site.Vsftpd(plainPort)
	if err != nil {
		return err
	}
	secure, err := b.site.VsftpdTLS(tlsPort, host)
	if err != nil {
		return err
	}
	if b.network, err = lab.NewNetwork(nil, func() error { return nil }); err != nil { // only for its loopback
		return err
	}
	if err := lab.BesideClient(func() error { return b.site.Serve(plain, secure) }); err != nil {
		return err
	}
	return b.site.AwaitReady(ctx, host, plain, secure)
}

// run runs every command of a job once in each pass, so that other work on the
// machine affects all alike.
func (b *bench) run(ctx context.Context) error {
	for i := 0; i < len(b.rows); {
		j, from := b.rows[i].job, i
		for i < len(b.rows) && b.rows[i].job == j {
			i++
		}
		for range j.runs {
			for _, w := range b.rows[from:i] {
				if err := b.once(ctx, w); err != nil {
					return err
				}
			}
		}
	}
	return b.site.Failed()
}

// once runs the row's command, unless it has failed before. Only a failure of
// ftpfetch is an error.
func (b *bench) once(ctx context.Context, w *row) error {
	if w.err != nil {
		return nil
	}
	if _, err := exec.LookPath(w.client.program); err != nil {
		w.err = errors.New("not installed")
		return nil
	}
	s, err := b.measure(ctx, w)
	fmt.Fprintf(b.progress, "case %d: %s: %.2f s, %.2f s of processor time, %.0f KiB %v\n",
		w.job.number, w.client.name, s.Elapsed.Seconds(), s.Processor.Seconds(), s.memory, err)
	if w.err = err; err == nil {
		w.samples = append(w.samples, s)
	}
	if err != nil && w.client.program == ours {
		return fmt.Errorf("case %d: %s: %w", w.job.number, w.client.name, err)
	}
	return ctx.Err()
}

// measure runs the row's command in a directory of its own, and compares what it
// fetched with what is served.
func (b *bench) measure(ctx context.Context, w *row) (s sample, err error) {
	home, work, err := b.site.WorkDir(b.settings.Dir)
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(home)
	local, served := filepath.Join(work, w.job.file), b.site.Tree(w.job.file)
	if w.job.part > 0 {
		if err := copyFirst(local, served, w.job.part); err != nil {
			return s, err
		}
	}
	words, peak := w.job.words(w.client.lines[w.job.form]), filepath.Join(home, "peak")
	if w.job.weighs() {
		words = append([]string{"time", "-q", "-f", "%M", "-o", peak}, words...)
	}
	if s.Outcome, err = (lab.Command{Words: words, Home: home, Work: work, Limit: w.job.limit}).Run(ctx); err != nil || w.job.file == "" {
		return s, err
	}
	if w.job.weighs() {
		if s.memory, err = readNumber(peak); err != nil {
			return s, err
		}
	}
	return s, same(local, served)
}

// weighs reports whether the job measures memory. The program time starts the
// client then, because what a process counts as its peak begins with the memory
// of the one that started it. That is too slow for the jobs about the start.
func (j *job) weighs() bool { return j.file == largeFile || j.file == hugeFile }

func readNumber(path string) (float64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
}

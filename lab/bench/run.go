package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// row is one client, in one job, with one cap of connections.
type row struct {
	client  *client
	job     *job
	cap     int
	samples [][]sample // samples of each run: one for each link
	err     error      // why there are no more samples
	lost    int        // files that were missing or wrong in the run that failed
	took    sample     // what the failed run took
}

// sample is one run of one command over one link.
type sample struct {
	elapsed, processor time.Duration
	last               time.Duration // time to the last byte of a data connection
	memory             float64       // peak, KiB; only for one file on loopback
	controls           int           // number of control connections
	code               int           // -1 if the client had to be stopped
}

// rows returns the rows of a table.
func (b *bench) rows(key string, jobs []*job) (rows []*row) {
	for _, j := range jobs {
		caps := j.caps
		if caps == nil {
			caps = []int{1}
		}
		for _, n := range caps {
			for i := range clients {
				c := &clients[i]
				if c.line(j) == "" || !c.caps(n) || c.tables != "" && c.tables != key || j.only != nil && !slices.Contains(j.only, c.name) || b.short && c.program != ours && c.program != "curl" {
					continue
				}
				rows = append(rows, &row{client: c, job: j, cap: n})
			}
		}
	}
	return rows
}

// run runs each command of a job once in each pass. A command that has failed is not run again. Only a failure of
// ftpfetch is an error.
func (b *bench) run(ctx context.Context, rows []*row) error {
	for i := 0; i < len(rows); {
		j, from := rows[i].job, i
		for i < len(rows) && rows[i].job == j {
			i++
		}
		for range j.runs {
			for _, w := range rows[from:i] {
				if w.err == nil {
					b.once(ctx, w)
				}
				if w.err != nil && (w.client.program == ours || ctx.Err() != nil) {
					return fmt.Errorf("%s, %d at once: %s: %w", w.job.title, w.cap, w.client.name, w.err)
				}
			}
		}
	}
	return nil
}

func (b *bench) once(ctx context.Context, w *row) {
	if _, err := exec.LookPath(w.client.program); err != nil {
		w.err = errors.New("not installed")
		return
	}
	var all []sample
	for _, l := range w.job.links {
		s, lost, err := b.measure(ctx, w, l)
		if !b.short {
			fmt.Fprintf(os.Stderr, "%s, %d at once: %s: %.2f s %v\n", w.job.title, w.cap, w.client.name, s.elapsed.Seconds(), err)
		}
		if err != nil || lost > 0 {
			w.err, w.lost, w.took = err, lost, s
			if err == nil {
				w.err = errors.New("lost files")
			}
			return
		}
		all = append(all, s)
	}
	w.samples = append(w.samples, all)
}

// measure runs the row's command in a new directory, and counts the files that it did not fetch.
func (b *bench) measure(ctx context.Context, w *row, l *link) (s sample, lost int, err error) {
	home, err := os.MkdirTemp(b.dir, "run-")
	if err != nil {
		return s, 0, err
	}
	defer os.RemoveAll(home)
	work := filepath.Join(home, "work")
	if w.job.disk != "" {
		work = filepath.Join(w.job.disk, filepath.Base(home))
	}
	unix.Sync() // write what the previous client has left in the cache
	if err := os.Mkdir(work, 0o755); err != nil {
		return s, 0, err
	}
	if err := w.writeLists(l, home); err != nil {
		return s, 0, err
	}
	if err := w.job.awaitFree(ctx, l); err != nil {
		return s, 0, err
	}
	l.reset()
	words, peak := w.words(l, home), filepath.Join(home, "peak")
	if l == loopback {
		words = append([]string{"time", "-q", "-f", "%M", "-o", peak}, words...)
	}
	start := time.Now()
	s, ran := execute(ctx, words, home, work, w.job.limit)
	s.controls, s.last = int(l.controls.Load()), time.Unix(0, l.lastData.Load()).Sub(start)
	if lost = b.missing(w.job.files, work); lost > 0 || w.job.caps == nil {
		err = ran
	}
	if l == loopback && err == nil {
		s.memory, err = readNumber(peak)
	}
	return s, lost, err
}

// execute runs a client without the user's settings: without start-up files, proxies and a terminal.
func execute(ctx context.Context, words []string, home, work string, limit time.Duration) (sample, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	var said bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = work, &said, &said
	cmd.Env = []string{"HOME=" + home, "LC_ALL=C", "PATH=" + os.Getenv("PATH")}
	cmd.WaitDelay = time.Second
	start := time.Now()
	err := cmd.Run()
	s := sample{elapsed: time.Since(start), code: -1}
	if p := cmd.ProcessState; p != nil {
		s.code, s.processor = p.ExitCode(), p.UserTime()+p.SystemTime()
	}
	switch {
	case err == nil:
		return s, nil
	case ctx.Err() != nil:
		return s, fmt.Errorf("not done after %s", limit)
	}
	lines := strings.Split(strings.TrimSpace(said.String()), "\n")
	return s, fmt.Errorf("%w: %s", err, lines[len(lines)-1])
}

// missing counts the served files whose bytes are in no file below dir, whatever the directory.
func (b *bench) missing(files []string, dir string) (n int) {
	got := map[string]string{}
	_ = filepath.WalkDir(dir, func(local string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			got[d.Name()] = local
		}
		return nil
	})
	for _, name := range files {
		want, err := os.ReadFile(filepath.Join(b.tree.Public, name))
		have, failed := os.ReadFile(got[path.Base(name)])
		if err != nil || failed != nil || !bytes.Equal(want, have) {
			n++
		}
	}
	return n
}

func readNumber(path string) (float64, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0, err
	}
	return strconv.ParseFloat(strings.TrimSpace(string(text)), 64)
}

// awaitFree waits until the server has noticed that the previous command has gone. It has when it greets as many
// clients as it allows. Then awaitFree waits until these have gone.
func (j *job) awaitFree(ctx context.Context, l *link) error {
	if j.server.allowed == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for {
		err := j.greets(ctx, l)
		select {
		case <-ctx.Done():
			return fmt.Errorf("the server does not become free: %w", err)
		case <-tick.C:
		}
		if err == nil {
			return nil
		}
	}
}

// greets returns an error unless the server greets as many clients at once as it allows.
func (j *job) greets(ctx context.Context, l *link) error {
	for range j.server.allowed {
		c, err := new(net.Dialer).DialContext(ctx, "tcp4", net.JoinHostPort(l.host(), strconv.Itoa(j.server.port)))
		if err != nil {
			return err
		}
		defer c.Close()
		deadline, _ := ctx.Deadline()
		_ = c.SetDeadline(deadline)
		line, err := bufio.NewReader(c).ReadString('\n')
		if err == nil && !strings.HasPrefix(line, "220") {
			err = errors.New(line)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

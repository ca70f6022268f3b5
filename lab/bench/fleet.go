package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"example.com/ftpfetch/lab/interop"
)

const (
	fleetFiles   = 20_000
	fleetWorkers = 4
	fleetLanes   = 4 // of each worker
)

// fleetRun is one run of a fleet, or of the command.
type fleetRun struct {
	dir, list string
	common    bool    // all workers save into one directory
	took      float64 // seconds from the start of the commands, or from add to the end of wait
	processor float64 // seconds, of the commands or of all workers
	hub       float64 // seconds of a processor that serve used meanwhile
	rest      int     // memory of a worker at rest, without the program's file, in MiB
	program   int     // memory of the program's file, in MiB
}

// fleet compares four workers with one command that has as many connections, and with four commands that have a quarter
// of the list each. They fetch the same list from vsftpd, in turn: each worker into a directory of its own, as on four
// machines, or all into one.
func fleet(ctx context.Context, b *bench, w io.Writer) error {
	if _, err := tuneTCP(); err != nil { // for the loopback interface
		return err
	}
	s, err := interop.Start(ctx, interop.Vsftpd, b.tree, interop.Options{})
	if err != nil {
		return err
	}
	defer s.Close()
	files := pick(b, fleetFiles, 200)
	var list strings.Builder
	for i := range files {
		name, err := b.file(smallFile(i), small)
		if err != nil {
			return err
		}
		fmt.Fprintln(&list, s.URL("/"+name))
	}
	path := filepath.Join(b.dir, "fleet.list")
	if err := os.WriteFile(path, []byte(list.String()), 0o644); err != nil {
		return err
	}
	var rates, processor, fourRates, fourProcessor, commonRates, commonProcessor, hub, rest, program []float64
	for pass := range pick(b, 5, 1) {
		run := func(name string) *fleetRun {
			return &fleetRun{dir: filepath.Join(b.dir, fmt.Sprint(name, pass)), list: path, common: name == "common"}
		}
		alone, four, together, common := run("alone"), run("four"), run("together"), run("common")
		err := errors.Join(alone.commands(ctx, 1), four.commands(ctx, fleetWorkers),
			together.fleet(ctx, files), common.fleet(ctx, files))
		if err != nil {
			return err
		}
		rates = append(rates, alone.took/together.took)
		processor = append(processor, together.processor/alone.processor)
		fourRates = append(fourRates, four.took/together.took)
		fourProcessor = append(fourProcessor, together.processor/four.processor)
		commonRates = append(commonRates, alone.took/common.took)
		commonProcessor = append(commonProcessor, common.processor/alone.processor)
		hub = append(hub, 100*together.hub/together.took)
		rest = append(rest, float64(together.rest))
		program = append(program, float64(together.program))
	}
	fmt.Fprintln(w, "| | median | smallest | largest |\n|---|--:|--:|--:|")
	row := func(title string, values []float64, format string) {
		s := spreadOf(values)
		fmt.Fprintf(w, "| %s | "+format+" | "+format+" | "+format+" |\n", title, s.median, s.min, s.max)
	}
	row("files a second, to the command", rates, "%.2f")
	row("processor time of the workers, to the command", processor, "%.2f")
	row("files a second, to four commands with a quarter of the list each", fourRates, "%.2f")
	row("processor time, to those", fourProcessor, "%.2f")
	row("files a second, workers with one directory in common", commonRates, "%.2f")
	row("processor time, workers with one directory in common", commonProcessor, "%.2f")
	row("processor time of `serve`, % of a processor", hub, "%.1f")
	row("memory of a worker at rest, MiB", rest, "%.0f")
	row("memory of the program's file, which all workers of a machine share, MiB", program, "%.0f")
	version, _ := interop.Version(string(interop.Vsftpd)) // without a version, the name stands alone
	_, err = fmt.Fprintf(w, "\nMachine: %s. vsftpd %s.\n", machine(), version)
	return err
}

// seconds returns the processor time of a process that has ended.
func seconds(p *os.ProcessState) float64 { return (p.UserTime() + p.SystemTime()).Seconds() }

// commands runs n commands beside each other. Each has an equal share of the list and of the connections.
func (r *fleetRun) commands(ctx context.Context, n int) error {
	lists, err := r.shares(n)
	if err != nil {
		return err
	}
	connections := strconv.Itoa(fleetWorkers * fleetLanes / n)
	var all []*exec.Cmd
	begun := time.Now()
	for _, list := range lists {
		c := exec.CommandContext(ctx, "ftpfetch", "-q", "-i", list, "-j", connections, "--per-host", connections,
			"-d", list+".files")
		c.Stderr = os.Stderr
		if err := c.Start(); err != nil {
			return errors.Join(err, end(all))
		}
		all = append(all, c)
	}
	err = end(all)
	r.took = time.Since(begun).Seconds()
	for _, c := range all {
		r.processor += seconds(c.ProcessState)
	}
	return err
}

// end waits for commands.
func end(all []*exec.Cmd) (err error) {
	for _, c := range all {
		if cerr := c.Wait(); cerr != nil {
			err = errors.Join(err, fmt.Errorf("ftpfetch: %w", cerr))
		}
	}
	return err
}

// shares writes n lists with an equal share of r.list each, and returns their names.
func (r *fleetRun) shares(n int) (names []string, err error) {
	text, err := os.ReadFile(r.list)
	if err != nil {
		return nil, err
	}
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		return nil, err
	}
	lines := slices.Collect(strings.Lines(string(text)))
	for share := range slices.Chunk(lines, (len(lines)+n-1)/n) {
		name := filepath.Join(r.dir, strconv.Itoa(len(names)))
		if err := os.WriteFile(name, []byte(strings.Join(share, "")), 0o644); err != nil {
			return nil, err
		}
		names = append(names, name)
	}
	return names, nil
}

// fleet runs a server and its workers, and adds the list.
func (r *fleetRun) fleet(ctx context.Context, files int) (err error) {
	if err := os.Mkdir(r.dir, 0o755); err != nil {
		return err
	}
	join := r.join()
	start := func(args ...string) (*exec.Cmd, error) {
		c := exec.CommandContext(ctx, "ftpfetch-fleet", args...)
		return c, c.Start()
	}
	serve, err := start("serve", "--dir", filepath.Join(r.dir, "state"), "--join", join, "--listen", "127.0.0.1:0")
	if err != nil {
		return err
	}
	all := []*exec.Cmd{serve}
	defer func() {
		for _, c := range all {
			_ = c.Process.Signal(syscall.SIGTERM)
		}
		for _, c := range all {
			err = errors.Join(err, c.Wait())
		}
	}()
	err = poll(ctx, func() (bool, error) {
		_, err := os.Stat(join)
		return err == nil, nil
	})
	if err != nil {
		return err
	}
	for i := range fleetWorkers {
		into := filepath.Join(r.dir, "files", strconv.Itoa(i))
		if r.common {
			into = filepath.Dir(into)
		}
		c, err := start("work", "--join", join, "-d", into, "-j", strconv.Itoa(fleetLanes),
			"--egress", "bench", "--name", fmt.Sprint("worker", i))
		if err != nil {
			return err
		}
		all = append(all, c)
	}
	if err := r.working(ctx); err != nil {
		return err
	}
	if r.rest, r.program, err = resident(all[1].Process.Pid); err != nil {
		return err
	}
	workers := func() (sum float64) {
		for _, c := range all[1:] {
			sum += used(c.Process.Pid)
		}
		return sum
	}
	begun, before, idle := time.Now(), used(serve.Process.Pid), workers()
	id, err := r.ask(ctx, "add", "--per-host", strconv.Itoa(fleetWorkers*fleetLanes), r.list)
	if err != nil {
		return err
	}
	got, err := r.ask(ctx, "wait", id, "--json")
	r.took = time.Since(begun).Seconds()
	r.hub = used(serve.Process.Pid) - before
	r.processor = workers() - idle
	if err == nil && !strings.Contains(got, fmt.Sprintf(`"complete":%d,`, files)) {
		err = fmt.Errorf("not all files are complete: %s", got)
	}
	return err
}

func (r *fleetRun) join() string { return filepath.Join(r.dir, "join") }

// ask runs a command of the fleet, and returns what it prints.
func (r *fleetRun) ask(ctx context.Context, args ...string) (string, error) {
	text, err := exec.CommandContext(ctx, "ftpfetch-fleet", append(args, "--join", r.join())...).Output()
	if err != nil {
		return "", fmt.Errorf("ftpfetch-fleet %s: %w", args[0], err)
	}
	return strings.TrimSpace(string(text)), nil
}

// poll calls done until it reports true or fails.
func poll(ctx context.Context, done func() (bool, error)) error {
	for {
		is, err := done()
		if is || err != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(100 * time.Millisecond):
		}
	}
}

// working waits until the server knows all workers. It says how many there are beside a job, so there is one of one file.
func (r *fleetRun) working(ctx context.Context) error {
	text, err := os.ReadFile(r.list)
	if err != nil {
		return err
	}
	url, _, _ := strings.Cut(string(text), "\n")
	first := filepath.Join(r.dir, "first.ndjson")
	if err := os.WriteFile(first, fmt.Appendf(nil, "{\"url\":%q,\"path\":\"first\"}\n", url), 0o644); err != nil {
		return err
	}
	id, err := r.ask(ctx, "add", first)
	if err == nil {
		_, err = r.ask(ctx, "wait", id)
	}
	if err != nil {
		return err
	}
	return poll(ctx, func() (bool, error) {
		text, err := r.ask(ctx, "status", "--json")
		return strings.Contains(text, fmt.Sprintf(`"workers":%d`, fleetWorkers)), err
	})
}

// used returns how many seconds of a processor a process has used; 0 if it is gone.
func used(pid int) float64 {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(text), ") ")
	var state string
	var n [10]int
	var user, system int
	_, err := fmt.Sscan(rest, &state, &n[0], &n[1], &n[2], &n[3], &n[4], &n[5], &n[6], &n[7], &n[8], &n[9], &user, &system)
	if err != nil {
		return 0
	}
	const ticks = 100 // a second
	return float64(user+system) / ticks
}

// resident returns how many MiB of a process are in memory, without those of files, and those of files.
func resident(pid int) (own, file int, err error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	field := func(name string) (n int) {
		_, rest, _ := strings.Cut(string(text), name)
		_, scan := fmt.Sscan(rest, &n)
		err = errors.Join(err, scan)
		return n >> 10
	}
	return field("RssAnon:"), field("RssFile:"), err
}

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/testkit/must"
)

// play stands in for FTP in all simulated workers: each file takes some time, and has no contents.
type play struct {
	each time.Duration // for each file

	mu         sync.Mutex
	now, peak  map[string]int // number of connections, by host
	lost, done int
}

func newPlay(each time.Duration) *play {
	return &play{each: each, now: make(map[string]int), peak: make(map[string]int)}
}

func (p *play) count(host string, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.now[host] += n
	p.peak[host] = max(p.peak[host], p.now[host])
}

// fetch simulates a try of a chunk's files, in place of the worker's own.
func (p *play) fetch(w *worker) func(*lease, *chunk, *outcome) error {
	return func(h *lease, c *chunk, o *outcome) error {
		p.count(c.Host, 1)
		defer p.count(c.Host, -1)
		o.ctx, o.end = context.WithCancelCause(h.ctx)
		defer o.end(nil)
		o.rounds++
		left := o.left()
		if sub, err := w.shareWithIdle(h.host, c, o); err == nil {
			defer sub.Unsubscribe()
		}
		for t, ok := left.next(o.ctx); ok; t, ok = left.next(o.ctx) {
			if !wait(o.ctx, p.each) {
				break
			}
			o.event(download.Event{Kind: download.Ended, Task: &t, Result: download.Result{Size: 1000, Sum: t.Sum}})
		}
		p.mu.Lock()
		defer p.mu.Unlock()
		if errors.Is(context.Cause(o.ctx), errSlot) {
			p.lost++
		}
		if o.missing() == 0 {
			p.done++
			return nil
		}
		return context.Cause(o.ctx)
	}
}

// worker runs a simulated worker until ctx ends.
func (p *play) worker(ctx context.Context, join, dir, name, egress string, lanes int) error {
	c := &command{join: join, role: "work", dir: dir, name: name, egress: egress, err: os.Stderr}
	w, err := newWorker(c)
	if err != nil {
		return err
	}
	defer w.root.Close()
	r := newBroadcast()
	if w.fleet, err = c.dial(ctx, name, patience, r.ring); err != nil {
		return err
	}
	defer w.Close()
	w.fetch = p.fetch(w)
	return w.run(ctx, lanes, 0, r)
}

// simulate runs many workers in one process until SIGTERM, and prints what was lost.
func simulate(join, dir string, workers, lanes int, each time.Duration) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	p := newPlay(each)
	var all sync.WaitGroup
	for i := range workers {
		all.Go(func() {
			wait(ctx, time.Duration(i)*20*time.Millisecond) // as the machines of a cluster start one after the other
			if err := p.worker(ctx, join, dir, fmt.Sprint(filepath.Base(dir), "-", i), "e", lanes); ctx.Err() == nil {
				fmt.Fprintln(os.Stderr, "a worker ended:", err)
			}
		})
	}
	all.Wait()
	most := 0
	for _, n := range p.peak {
		most = max(most, n)
	}
	fmt.Printf("%d %d %d\n", p.done, p.lost, most)
	return 0
}

// invented writes a list of files that do not exist, on some hosts.
func invented(t testing.TB, files, hosts int) string {
	name := filepath.Join(t.TempDir(), "list")
	var text strings.Builder
	for i := range files {
		fmt.Fprintf(&text, "ftp://host%03d.example.org/pub/directory/%03d/file-%07d.gz\n", i%hosts, i/hosts%1000, i)
	}
	must.Do(t, os.WriteFile(name, []byte(text.String()), 0o600))
	return name
}

// TestManyWorkers has many workers with one egress. The cost of renewing a slot must not depend on their number. They
// must fetch a list without losing a slot or exceeding a cap. It takes the command's own time limits: on a busy machine, so
// many workers in one process may need longer for a renewal than the short slots of the other tests last.
func TestManyWorkers(t *testing.T) {
	if os.Getenv("FLEET_REAL") == "" {
		c := exec.CommandContext(t.Context(), must.Get(os.Executable())(t), "-test.v", "-test.run", "^"+t.Name()+"$")
		c.Env = append(os.Environ(), "FLEET_REAL=1")
		out, err := c.CombinedOutput()
		t.Logf("%s", out)
		if err != nil {
			t.Error(err)
		}
		return
	}
	const workers, files, hosts, most = 50, 3000, 5, 6
	s := newStand(t)
	key := hostKey("h:21")
	first := s.workerAt("first", "e")
	must.Do(t, s.admin().meet(t.Context(), &job{ID: "job", bounds: bounds{PerHost: 2}}, "h:21"))
	eventually(t, "the host", func() bool { return first.limit(key) == 2 })
	slot := first.acquire(t.Context(), key)
	slot.let() // only this test renews the slot
	<-slot.kept
	slot.held = t.Context()
	cost := func() float64 {
		const renewals = 50
		before := must.Get(s.hub.Varz(nil))(t).OutMsgs
		for range renewals {
			slot.renew(asking)
		}
		return float64(must.Get(s.hub.Varz(nil))(t).OutMsgs-before) / renewals
	}
	alone := cost()
	p := newPlay(time.Millisecond)
	ctx, stop := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer stop()
	for i := range workers {
		all.Go(func() { _ = p.worker(ctx, s.file, t.TempDir(), fmt.Sprint("w", i), "e", 2) })
	}
	eventually(t, "all workers", func() bool { return len(must.Get(first.presences(t.Context()))(t)) > workers })
	if among := cost(); alone > 3 || among > alone+workers/5 {
		t.Errorf("a renewal costs %.1f messages, and %.1f among %d workers", alone, among, workers)
	} else {
		t.Logf("a renewal costs %.1f messages, and %.1f among %d workers", alone, among, workers)
	}
	slot.release()
	begun := time.Now()
	s.want(0, "add", "--per-host", fmt.Sprint(most), invented(t, files, hosts))
	t.Logf("added after %v", time.Since(begun))
	if got := facts(s.want(0, "wait", "--json")); got != fmt.Sprintf("done %d %d 0 0", files, files) {
		t.Error(got)
	}
	t.Logf("%d chunks, done after %v", p.done, time.Since(begun))
	if p.lost > 0 {
		t.Errorf("%d slots were lost", p.lost)
	}
	for host, n := range p.peak {
		if n > most {
			t.Errorf("%d connections to %s at once", n, host)
		}
	}
}

// large is a large fleet: its hub and two processes of simulated workers, with real time limits.
type large struct {
	testing.TB
	join string
	hub  *exec.Cmd
	sims [2]*exec.Cmd
	told [2]strings.Builder
}

const lanesEach = 4

// ask runs a command as a process, and logs its time and memory.
func (l *large) ask(args ...string) string {
	l.Helper()
	c := exec.Command(must.Get(os.Executable())(l.TB), append(args, "--join", l.join)...)
	var out strings.Builder
	peak := filepath.Join(l.TempDir(), "peak")
	c.Env = append(os.Environ(), "FLEET_TEST=1", "FLEET_REAL=1", "FLEET_PEAK="+peak)
	c.Stdout, c.Stderr = &out, l.Output()
	begun := time.Now()
	must.Do(l.TB, c.Run())
	took := time.Since(begun)
	use, program := inMiB(l.TB, peak, "VmHWM:"), inMiB(l.TB, peak, "RssFile:")
	l.Logf("%s: %.2f s, %.2f s of a processor, %d MiB, of which %d are of the program's file", args[0], took.Seconds(),
		(c.ProcessState.UserTime() + c.ProcessState.SystemTime()).Seconds(), use, program)
	return strings.TrimSpace(out.String())
}

func (l *large) simulate(workers int, each time.Duration, dir string) {
	for i := range l.told {
		c := exec.Command(must.Get(os.Executable())(l.TB), fmt.Sprint(workers/len(l.told)), fmt.Sprint(lanesEach), each.String())
		data := filepath.Join(dir, fmt.Sprint("data", i))
		c.Env = append(os.Environ(), "FLEET_TEST=simulate", "FLEET_REAL=1", "FLEET_JOIN="+l.join, "FLEET_DIR="+data)
		c.Stdout, c.Stderr = &l.told[i], l.Output()
		must.Do(l.TB, c.Start())
		l.Cleanup(func() { kill(c) })
		l.sims[i] = c
	}
}

// BenchmarkScale measures a large fleet on one machine. It has no limits to pass: a machine with few processors and a
// thousand workers says little about a thousand machines.
//
//	go test -run '^$' -bench Scale -benchtime 1x -timeout 2h
func BenchmarkScale(t *testing.B) {
	workers, files, hosts := number("FLEET_WORKERS", 1000), number("FLEET_FILES", 1e6), number("FLEET_HOSTS", 100)
	each := time.Duration(number("FLEET_EACH_MS", 1000)) * time.Millisecond
	dir, lanes := t.TempDir(), workers*lanesEach
	l := &large{TB: t, join: filepath.Join(dir, "join")}
	list := invented(t, files, hosts)
	l.hub = processWith(t, []string{"FLEET_REAL=1"}, "serve", "--dir", filepath.Join(dir, "state"), "--join", l.join, "--listen", "127.0.0.1:0")
	eventually(t, "a server", func() bool { _, err := os.Stat(l.join); return err == nil })
	id := l.ask("add", "--per-host", fmt.Sprint(lanes/hosts), list)
	l.ask("status")
	begun, before := time.Now(), processor(t, l.hub)
	l.simulate(workers, each, dir)
	l.ask("wait", id, "--progress", "none")
	share := func() float64 { return (processor(t, l.hub) - before).Seconds() / time.Since(begun).Seconds() }
	t.Logf("%d files with %d workers x %d lanes: %.0f s (%.0f s if no lane ever waits); the hub used %.2f of a processor",
		files, workers, lanesEach, time.Since(begun).Seconds(), float64(files)*each.Seconds()/float64(lanes), share())
	<-time.After(time.Duration(number("FLEET_REST", 90)) * time.Second) // until the lanes are idle and the queues retired
	begun, before = time.Now(), processor(t, l.hub)
	<-time.After(30 * time.Second)
	t.Logf("at rest the hub uses %.2f of a processor", share())
	l.ask("status")
	l.ask("report", id, "-o", filepath.Join(dir, "report.tsv"))
	t.Logf("the hub used %d MiB", inMiB(t, fmt.Sprintf("/proc/%d/status", l.hub.Process.Pid), "VmHWM:"))
	for i, c := range l.sims {
		must.Do(t, c.Process.Signal(syscall.SIGTERM))
		must.Do(t, c.Wait())
		var done, lost, most int
		must.Get(fmt.Sscan(l.told[i].String(), &done, &lost, &most))(t)
		t.Logf("%d chunks, %d slots lost, at most %d connections to a host", done, lost, most)
	}
}

// inMiB returns a field of a process's status file in /proc, in MiB; VmHWM is the peak of its memory.
func inMiB(t testing.TB, status, field string) (n int) {
	_, text, _ := strings.Cut(string(must.Get(os.ReadFile(status))(t)), field)
	must.Get(fmt.Sscan(text, &n))(t)
	return n >> 10
}

// number returns the number in an environment variable, which overrides a size.
func number(name string, otherwise int) int {
	if n, err := strconv.Atoi(os.Getenv(name)); err == nil {
		return n
	}
	return otherwise
}

// processor returns the processor time that a process has used.
func processor(t testing.TB, c *exec.Cmd) time.Duration {
	text := string(must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/stat", c.Process.Pid)))(t))
	fields := strings.Fields(text[strings.LastIndex(text, ")")+2:])
	const utime, stime, ticks = 11, 12, 100
	sum := must.Get(strconv.Atoi(fields[utime]))(t) + must.Get(strconv.Atoi(fields[stime]))(t)
	return time.Duration(sum) * time.Second / ticks
}

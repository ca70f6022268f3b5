package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/time/rate"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// urls writes a list of files of several servers: the first ones of the first server, then those behind them of the next.
func urls(t *testing.T, files int, servers ...*ftpServer) string {
	var text strings.Builder
	for k, srv := range servers {
		for i := range files {
			fmt.Fprintln(&text, srv.URL(fmt.Sprintf("/d/%06d", k*files+i)))
		}
	}
	name := filepath.Join(t.TempDir(), "list")
	must.Do(t, os.WriteFile(name, []byte(text.String()), 0o600))
	return name
}

// TestPerJob has a job that may fetch two files at a time, from two hosts that bear six connections each, with two
// workers of three lanes. cap changes that while the lanes are held.
func TestPerJob(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	shut, open := gate()
	defer open()
	var now, peak atomic.Int64
	s.fetch = func(w *worker) func(*lease, *chunk, *outcome) error {
		return func(h *lease, c *chunk, o *outcome) error {
			n := now.Add(1)
			for p := peak.Load(); n > p && !peak.CompareAndSwap(p, n); p = peak.Load() {
			}
			defer now.Add(-1)
			select {
			case <-shut:
				return w.try(h, c, o)
			case <-h.ctx.Done(): // the lane was too slow to renew a slot
				o.rounds++
				return context.Cause(h.ctx)
			}
		}
	}
	a, b := newFTP(t, 20, 99, testserver.Options{}), newFTP(t, 40, 99, testserver.Options{})
	id := s.want(0, "add", "--per-host", "6", "--per-job", "2", urls(t, 20, a, b))
	for _, name := range []string{"a", "b"} {
		s.starts(name, t.TempDir(), "", 3)
	}
	w := s.workerAt("looks", "e")
	lanes := func(n int) {
		eventually(t, fmt.Sprintf("%d lanes", n), func() bool { return now.Load() == int64(n) })
		for range 3 { // in this time each lane looks for work again
			wait(t.Context(), slotTTL/2)
			if used := must.Get(w.used(t.Context(), jobPrefix+id))(t); used > n || peak.Load() > int64(n) {
				t.Errorf("%d slots of the job, and %d lanes in place of %d", used, peak.Load(), n)
			}
		}
	}
	lanes(2)
	if got := s.want(0, "status", id); !strings.Contains(got, "the job: in force: --per-job 2\n") {
		t.Errorf("status: %s", got)
	}
	for _, h := range must.Get(s.admin().hostsNow(t.Context(), nil))(t) {
		if h.Host != a.Addr() && h.Host != b.Addr() {
			t.Errorf("the hosts have %+v", h)
		}
	}
	s.want(0, "cap", id, "--per-job", "4")
	lanes(4)
	s.want(0, "cap", id, "--per-job", "0")
	eventually(t, "all lanes", func() bool { return now.Load() == 6 })
	open()
	s.want(0, "wait", id)
	eventually(t, "no slot in use", func() bool { return w.slotsInUse(t) == 0 })
}

// TestRates has the rate of a connection: the least share of what its host, its job and all hosts together may send.
// There are two connections to the host a for the job ONE, and one to b for TWO.
func TestRates(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	a, b := newFTP(t, 2, 99, testserver.Options{}), newFTP(t, 2, 99, testserver.Options{})
	one := s.want(0, "add", "--per-host", "4", urls(t, 2, a))
	two := s.want(0, "add", "--per-host", "4", "--job-rate", "1G", urls(t, 2, b))
	w := s.worker("w")
	atA, atB := hostKey(a.Addr()), hostKey(b.Addr())
	rates := func() []rate.Limit {
		for _, slot := range []string{atA + ".0", atA + ".1", atB + ".0", jobPrefix + two + ".0"} { // they expire
			must.Get(w.fleet.slots.PutString(t.Context(), "here."+slot, "x y z"))(t)
		}
		var rates []rate.Limit
		for _, q := range []queue{{host: atA, job: one}, {host: atB, job: two}} {
			h := &lease{slot: &slot{w: w, host: q.host, ctx: t.Context()}, queue: q}
			rates = append(rates, h.rate())
		}
		return rates
	}
	for _, tt := range []struct {
		args string
		want []rate.Limit
		all  string // what is in force for all hosts, as the metrics show it
	}{
		{"", []rate.Limit{rate.Inf, 1 << 30}, ""},
		{"cap ONE --limit-rate 8M", []rate.Limit{4 << 20, 1 << 30}, ""},
		{"cap --all --limit-rate 6M", []rate.Limit{2 << 20, 2 << 20}, "6.291456e+06"},
		{"cap ONE --job-rate 1M", []rate.Limit{1 << 20, 2 << 20}, "6.291456e+06"},
		{"cap TWO --job-rate 512K", []rate.Limit{1 << 20, 1 << 19}, "6.291456e+06"},
		{"cap --all --limit-rate 1200", []rate.Limit{400, 400}, "1200"},
		{"cap --all --limit-rate 0", []rate.Limit{1 << 20, 1 << 19}, ""},
		{"cap ONE --job-rate 0 --limit-rate 0", []rate.Limit{rate.Inf, 1 << 19}, ""},
	} {
		if args := strings.Fields(strings.NewReplacer("ONE", one, "TWO", two).Replace(tt.args)); len(args) > 0 {
			s.want(0, args[0], args[1:]...)
		}
		eventually(t, fmt.Sprintf("%v after %q", tt.want, tt.args), func() bool { return slices.Equal(rates(), tt.want) })
		told := strings.Contains(s.want(0, "status", one), "all hosts together: in force: --limit-rate ")
		shown := strings.Contains(s.metrics(), "\nftpfetch_fleet_limit_bytes_per_second "+tt.all+"\n")
		if told != (tt.all != "") || shown != (tt.all != "") {
			t.Errorf("after %q: %v in the status, %v in the metrics", tt.args, told, shown)
		}
	}
}

// TestBadBounds has flags that add or cap refuse, with one line that names the flag.
func TestBadBounds(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	list := filepath.Join(t.TempDir(), "list")
	must.Do(t, os.WriteFile(list, []byte("ftp://h/f\n"), 0o600))
	id := s.want(0, "add", list)
	for _, tt := range []struct{ args, want string }{
		{"cap --all", "cap --all --limit-rate"},
		{"cap --all " + id + " --limit-rate 1M", "without a JOB"},
		{"cap --all --limit-rate 1M --per-host 2", "cap --all"},
		{"cap --all --limit-rate 1M --hours 20-06", "cap --all"},
		{"cap --all --limit-rate 1M --per-job 2", "cap --all"},
		{"cap --all --per-job 2", "cap --all"},
		{"cap --all --limit-rate x", "--limit-rate x"},
		{"cap --all --limit-rate -1", "--limit-rate -1"},
		{"cap --per-job x", "--per-job x"},
		{"cap --per-job -1", "--per-job -1"},
		{"cap --per-job 4097", "--per-job 4097"},
		{"cap --job-rate 1.5", "--job-rate 1.5"},
		{"add --per-job 1.5 " + list, "--per-job 1.5"},
		{"add --job-rate 0x " + list, "--job-rate 0x"},
		{"add --connect-timeout x " + list, "connect-timeout"},
	} {
		args := strings.Fields(tt.args)
		if _, errs, code := s.do(args[0], args[1:]...); code != 2 || !strings.Contains(errs, tt.want) || strings.Count(errs, "\n") != 1 {
			t.Errorf("%s: exit code %d: %s", tt.args, code, errs)
		}
	}
	if got := s.want(0, "status", id); strings.Contains(got, "--limit-rate") || strings.Contains(got, "-job") {
		t.Errorf("a command that was refused has changed something: %s", got)
	}
}

// TestAddWaits starts add before the server, with and without patience. Until there is a server, something else ends
// the connections, as a balancer does.
func TestAddWaits(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	list := filepath.Join(t.TempDir(), "list")
	must.Do(t, os.WriteFile(list, []byte("ftp://h/f\n"), 0o600))
	s.hub.stop()
	s.want(7, "add", list)
	s.want(7, "add", "--connect-timeout=1ms", list)
	l := must.Get(net.Listen("tcp", strings.TrimPrefix(s.hub.join.Address, "nats://")))(t)
	must.Do(t, l.(*net.TCPListener).SetDeadline(time.Now().Add(patience)))
	added := make(chan string, 1)
	go func() {
		_, errs, code := s.do("add", "--connect-timeout", patience.String(), list)
		added <- fmt.Sprint(code, errs)
	}()
	must.Do(t, must.Get(l.Accept())(t).Close())
	reset := must.Get(l.Accept())(t)
	must.Do(t, errors.Join(reset.(*net.TCPConn).SetLinger(0), reset.Close()))
	must.Do(t, l.Close())
	s.serve(s.hub.join.Address)
	if got := <-added; got != "0" {
		t.Errorf("exit code %s", got)
	}
}

package download

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// turns makes runs take turns in their calls on the disk, in a planned order. To tell the runs apart, each uses another
// name for the same directory.
type turns struct {
	mu    sync.Mutex
	moved *sync.Cond
	names []string // name of the directory for each run
	calls []int    // calls that each run has made
	ended []bool
	turn  int   // the run whose turn it is
	plan  []int // number of calls in each turn
}

func (s *turns) call(_, path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, name := range s.names {
		if !strings.HasPrefix(path, name) {
			continue
		}
		for s.turn != i {
			s.moved.Wait()
		}
		s.calls[i]++
		if len(s.plan) > 0 {
			if s.plan[0]--; s.plan[0] <= 0 {
				s.plan = s.plan[1:]
				s.next()
			}
		}
	}
	return nil
}

func (s *turns) next() {
	for range s.ended {
		if s.turn = (s.turn + 1) % len(s.ended); !s.ended[s.turn] {
			break
		}
	}
	s.moved.Broadcast()
}

// pass ends the turn of run i. ended means that the run has ended.
func (s *turns) pass(i int, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended[i] = ended
	if s.turn == i {
		s.next()
	}
}

// inTurns starts a run with each of the options and makes them take turns. The target has the text before, unless that
// is "". If a run finds that another is writing the file, it tries again, as Run does. inTurns returns the
// number of calls of each run.
func (k *kit) inTurns(before string, plan []int, clients []Source, runs ...Options) []int {
	k.Helper()
	if k.dir = k.TempDir(); before != "" {
		k.write("f", before)
	}
	s := &turns{plan: plan, calls: make([]int, len(runs)), ended: make([]bool, len(runs))}
	s.moved = sync.NewCond(&s.mu)
	what := fmt.Sprint(plan)
	for i := range runs {
		s.names = append(s.names, filepath.Join(k.TempDir(), fmt.Sprint("run", i)))
		if err := os.Symlink(k.dir, s.names[i]); err != nil {
			k.Fatal(err)
		}
	}
	errs := make([]error, len(runs))
	var group sync.WaitGroup
	disk.Fault = s.call
	for i, o := range runs {
		group.Go(func() {
			for busy := true; busy; s.pass(i, !busy) {
				_, errs[i] = File(k.Context(), clients[i], k.url("/f"), filepath.Join(s.names[i], "f"), &o)
				busy = errors.Is(errs[i], partfile.ErrBusy)
			}
		})
	}
	group.Wait()
	disk.Fault = nil
	done := 0
	for i, err := range errs {
		if err == nil {
			done++
		} else if !clear(err) {
			k.Errorf("%+v, plan %s: got %v", runs[i], what, err)
		}
	}
	if done == 0 {
		k.Errorf("plan %s: no run is done: %v", what, errs)
	}
	k.checkTogether(body, errs)
	return s.calls
}

// TestTurns starts two and three runs at the same time, with their calls on the disk in many orders. One run must fetch
// the file, and the others must find it complete.
func TestTurns(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	t.Cleanup(func() { disk.Fault = nil })
	clients := []Source{k.c, &ftpexec.Client{Timeout: k.c.Timeout}, &ftpexec.Client{Timeout: k.c.Timeout}}
	n := 0
	for a, step := 1, night.Or(7, 2); a < 40; a += step { // two runs, the first in three pieces
		for b := 1; b < night.Or(8, 40); b++ {
			for c, most := 1, 40; a+c < most; c += step {
				n++
				most = k.inTurns("", []int{a, b, c}, clients, Options{}, Options{})[0]
			}
		}
	}
	kinds := []Options{{}, {Existing: Skip}, {Existing: Overwrite}, {Existing: Newer}, {Existing: Continue}, {NoResume: true}}
	for range night.Or(150, 5_000) {
		var plan []int
		for range 30 {
			plan = append(plan, 1+rand.IntN(1+rand.IntN(15)))
		}
		n++
		before, first := "", kinds[rand.IntN(6)]
		if (first.Existing == Overwrite || first.Existing == Newer || first.Existing == Continue) && rand.IntN(2) == 0 {
			before = body[:1000]
		}
		k.inTurns(before, plan, clients, first, kinds[rand.IntN(6)], kinds[rand.IntN(6)])
	}
	t.Logf("%d orders", n)
}

var large = noise(8<<20, 4)

func TestSegments(t *testing.T) {
	tests := []struct {
		what  string
		n     int
		fault failure
		conns int // at least this many connections; a quick one may serve several pieces
		told  string
	}{
		{"two", 2, nil, 2, ""},
		{"eight", 8, nil, 4, ""},
		{"more than there are pieces", 20, nil, 4, ""},
		{"one allowed", 4, on("", 2, 4, testserver.Sequence(testserver.Reply("421 Too many connections"), testserver.EndControl(testserver.Closed))), 2, ""},
		{"refused without a reason", 4, on("PASS", 2, 4, testserver.Sequence(testserver.Reply("430 Not now."), testserver.EndControl(testserver.Closed))), 2, "continuing with at most "},
		{"too many users", 4, on("PASS", 3, 4, testserver.Reply("530 Too many users")), 2, ""},
		{"no REST", 4, replies("REST", "502 What?"), 2, ""},                                    // depends on which connection is first
		{"cut", 4, always("RETR", testserver.EndDataAfter(500_000, testserver.Closed)), 2, ""}, // a reset might discard all bytes
		{"another time on one", 4, on("MDTM", 2, 2, testserver.Reply("213 20000101000000")), 2, "modified"},
		{"another size on one", 4, on("SIZE", 2, 2, testserver.ReplaceReply(testserver.Reply("213 9000000"))), 2, "now has 9000000 bytes"},
		{"no size", 4, replies("SIZE", "502 What?"), 1, ""},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			k := newKit(t, map[string]string{"/f": large})
			k.faulty(tt.fault)
			if r, err := k.get("/f", Options{Segments: tt.n}); err != nil || r.Size != int64(len(large)) {
				t.Errorf("got %+v, %v, events %v", r, err, k.events)
			}
			if got := k.Connections(); got < tt.conns {
				t.Errorf("%d connections, want %d", got, tt.conns)
			}
			if tt.told != "" && !k.told(Noted, tt.told) {
				t.Errorf("events %v, want %q", k.events, tt.told)
			}
			k.want(map[string]string{"f": large})
		})
	}
}

// TestSegmentsLyingSize checks that a wrong size from the server never makes a wrong file a success.
func TestSegmentsLyingSize(t *testing.T) {
	for _, size := range []string{"3000000", "9000000"} {
		k := newKit(t, map[string]string{"/f": large})
		k.faulty(always("SIZE", testserver.ReplaceReply(testserver.Reply("213 "+size))))
		if _, err := k.get("/f", Options{Segments: 3}); !errors.Is(err, ftpexec.ErrTruncated) || k.exists("f") {
			t.Errorf("%s: got %v", size, err)
		}
		k.faulty(nil)
		if _, err := k.get("/f", Options{Segments: 3}); err != nil {
			t.Errorf("%s: %v", size, err)
		}
		k.want(map[string]string{"f": large})
	}
}

// TestSegmentsResume resumes from a part with gaps, over several connections and over one.
func TestSegmentsResume(t *testing.T) {
	for _, segments := range []int{1, 3} {
		k := newKit(t, map[string]string{"/f": large})
		k.faulty(always("RETR", testserver.EndDataAfter(500_000, testserver.Closed)))
		waiting(t, func(context.Context, time.Duration) error { return errors.New("enough") })
		_, err := File(t.Context(), k.c, k.url("/f"), k.path("f"), &Options{Segments: 3, Retries: -1})
		if err == nil {
			t.Fatal("no error")
		}
		wantNames(t, k.dir, k.json, k.part)
		k.faulty(nil)
		if r, err := k.get("/f", Options{Segments: segments}); err != nil || r.Resumed != 1_500_000-2*overlapSize {
			t.Errorf("got %+v, %v", r, err)
		}
		k.want(map[string]string{"f": large})
	}
}

// checkClaims compares the bytes that a journal claims with the file.
func (k *kit) checkClaims(done []span, text string) {
	k.Helper()
	got := read(k.T, k.path("f.ftpfetch.part"))
	for _, x := range done {
		if text[x.start:x.end] != got[x.start:x.end] {
			k.Errorf("bytes %d to %d are not the file's", x.start, x.end)
		}
	}
}

// TestSegmentsUnconfirmedEnd does not confirm the end of the last piece, although all of it arrives. The client must
// fetch its last byte again, and nothing after the file's end.
func TestSegmentsUnconfirmedEnd(t *testing.T) {
	for _, verb := range []string{"REST", "RETR"} {
		k := newKit(t, map[string]string{"/f": large})
		end := strconv.Itoa(len(large))
		rest, cut := map[int]string{}, false
		k.faulty(func(p *testserver.Conn) testserver.Action {
			if p.Verb == "REST" {
				rest[p.Num] = p.Arg
			}
			switch {
			case p.Verb == verb && rest[p.Num] == end:
				t.Errorf("%s at the file's end", verb)
				return testserver.Reply("554 Restart offset reaches the end of the file")
			case p.Verb == "RETR" && rest[p.Num] == strconv.Itoa(len(large)/4*3) && !cut:
				cut = true
				return testserver.ReplaceReply(testserver.Reply("426 cut after the last byte"))
			}
			return nil
		})
		if _, err := k.get("/f", Options{Segments: 4}); err != nil || k.told(Noted, "starting over") {
			t.Errorf("%s: got %v, events %v", verb, err, k.events)
		}
		k.want(map[string]string{"f": large})
	}
}

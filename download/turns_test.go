package download

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/disk"
	"example.com/ftpfetch/internal/rules/night"
)

// turns lets runs make their calls on the disk in an order of its own. Each run reaches the one directory under another
// name.
type turns struct {
	mu    sync.Mutex
	moved *sync.Cond
	names []string // of the directory, one for each run
	calls []int    // that each run has made
	ended []bool
	turn  int   // whose calls go on
	plan  []int // how many calls there are until the turn of the next, and so on
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

// pass ends the turn of a run, which may have ended.
func (s *turns) pass(i int, ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended[i] = ended
	if s.turn == i {
		s.next()
	}
}

// inTurns starts a run with each of the options, with before as the target unless that is "", and lets them take turns. A
// run that finds another at work tries again, as batches do. It returns how many calls each run has made.
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

// TestTurns starts two and three runs at once in every kind of order that their calls on the disk can have. One must bring
// the file, and the others find it there.
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
	kinds := []Options{{}, {Skip: true}, {Overwrite: true}, {Newer: true}, {Continue: true}, {NoResume: true}}
	for range night.Or(150, 5_000) {
		var plan []int
		for range 30 {
			plan = append(plan, 1+rand.IntN(1+rand.IntN(15)))
		}
		n++
		before, first := "", kinds[rand.IntN(6)]
		if (first.Overwrite || first.Newer || first.Continue) && rand.IntN(2) == 0 {
			before = body[:1000]
		}
		k.inTurns(before, plan, clients, first, kinds[rand.IntN(6)], kinds[rand.IntN(6)])
	}
	t.Logf("%d orders", n)
}

package download_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/schedule"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/internal/timing"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// sweep fetches a few files over three connections, once for each command of a run, and calls fault at that command.
// Commands include greetings; by day only every fifth is tried. check examines each run and an undisturbed run after
// it.
func sweep(t *testing.T, tree bool, fault func(s *sweeper) testserver.Action, check func(s *sweeper, first, second tally)) {
	files := randomFiles(6)
	s := &sweeper{}
	s.stand = newStand(t, files, testserver.Options{Fault: func(*testserver.Conn) testserver.Action {
		if s.left.Add(-1) == 0 {
			return fault(s)
		}
		return nil
	}})
	s.options.Jobs, s.options.PerHost = 3, 3
	tasks := s.tasks(files)
	if tree {
		tasks = []download.Task{treeOf(t, s.srv.URL("/"), download.Tree{})}
	}
	most := int64(3 * len(files)) // the run sends at least so many
	step := night.Or(5, 1)
	for n := int64(1 + len(t.Name())%step); !t.Failed(); n += int64(step) {
		s.dir = t.TempDir()
		s.left.Store(n)
		first := s.count(func(ctx context.Context) { s.totals = s.run(ctx, tasks...) })
		if s.left.Load() > 0 {
			if n < most {
				t.Errorf("the run sent %d commands, want %d or more", n, most)
			}
			return
		}
		failures := s.failures()
		s.left.Store(0)
		second := s.count(func(context.Context) { s.totals = s.run(t.Context(), tasks...) })
		check(s, first, second)
		s.compare(below(files))
		if t.Failed() {
			t.Errorf("at command %d: first run %+v, %q; second run %+v, %q", n, first, failures, second, s.failures())
		}
	}
}

type sweeper struct {
	*stand
	left   atomic.Int64 // commands left before the fault
	cancel context.CancelFunc
	totals totals
}

// tally is what a run did.
type tally struct {
	totals
	there int            // files with their final names after the run
	times map[string]int // how often it asked for each file
}

// count runs f and returns what it did.
func (s *sweeper) count(f func(context.Context)) tally {
	s.Helper()
	ctx, cancel := context.WithCancel(s.Context())
	defer cancel()
	s.cancel = cancel
	s.srv.ResetCommands()
	f(ctx)
	t := tally{totals: s.totals, times: map[string]int{}}
	for _, line := range s.srv.Commands() {
		if name, ok := strings.CutPrefix(line, "RETR "); ok {
			t.times[name]++
		}
	}
	found := must.Get(filepath.Glob(filepath.Join(s.dir, "d*", "f???")))(s)
	t.there = len(found)
	return t
}

// again checks that the second run fetched exactly the files that the first did not.
func again(s *sweeper, first, second tally) {
	s.Helper()
	if !second.Whole() || second.Before != int64(first.there) || second.Complete != 6 {
		s.Errorf("the second run found %d files of %d that are there, and completed %d", second.Before, first.there, second.Complete)
	}
	if len(second.times) != 6-first.there {
		s.Errorf("the second run asked for %v", second.times)
	}
}

// TestFaultAtEveryCommand makes each command of a run fail in each way that may pass, and checks that the run loses no
// file.
func TestFaultAtEveryCommand(t *testing.T) {
	for name, fault := range map[string]testserver.Action{
		"421":          testserver.Sequence(testserver.Reply("421 Service not available, closing control connection."), testserver.EndControl(testserver.Closed)),
		"too many":     testserver.Sequence(testserver.Reply("421 Too many connections (3) from this IP"), testserver.EndControl(testserver.Closed)),
		"450":          testserver.Reply("450 Try again."),
		"closed":       testserver.EndControl(testserver.Closed),
		"reset":        testserver.EndControl(testserver.Reset),
		"closed after": testserver.ReplaceReply(testserver.EndControl(testserver.Closed)),
		"reset after":  testserver.ReplaceReply(testserver.EndControl(testserver.Reset)),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sweep(t, false, func(*sweeper) testserver.Action { return fault }, func(s *sweeper, first, second tally) {
				if !first.Whole() || first.there != 6 {
					t.Errorf("%d files are there", first.there)
				}
				again(s, first, second)
			})
		})
	}
}

// TestRefusalAtEveryCommand refuses each command of a run permanently, and checks that the run fails if a file is
// missing.
func TestRefusalAtEveryCommand(t *testing.T) {
	for _, reply := range []string{"500 Unknown command.", "530 Not logged in.", "550 No such file or directory."} {
		t.Run(reply[:3], func(t *testing.T) {
			t.Parallel()
			sweep(t, false, func(*sweeper) testserver.Action { return testserver.Reply(reply) }, func(s *sweeper, first, second tally) {
				if first.Whole() != (first.there == 6) || first.Complete != int64(first.there) || first.Complete+first.Failed != 6 {
					t.Errorf("%d files are there", first.there)
				}
				again(s, first, second)
			})
		})
	}
}

// TestCancelledAnywhere cancels a run of a list or tree at each command.
func TestCancelledAnywhere(t *testing.T) {
	t.Parallel()
	for _, tree := range []bool{false, true} {
		sweep(t, tree, func(s *sweeper) testserver.Action { s.cancel(); return nil }, func(s *sweeper, first, second tally) {
			if first.Whole() && first.there != 6 || first.Failed+first.Unlisted != 0 || first.Complete != int64(first.there) || first.Files > 6 {
				t.Errorf("%d files are there", first.there)
			}
			s.settled(second.totals)
			again(s, first, second)
		})
	}
}

// TestDiskFaults makes each call on the disk fail, or stops the run there as a kill would. Every file with its final
// name must then be complete and in the ledger. The next run must fetch the rest and leave no other files.
func TestDiskFaults(t *testing.T) {
	files := randomFiles(6)
	dead := errors.New("dead")
	for _, kind := range []error{syscall.EIO, dead} {
		for at, more := int64(1), true; more; at += int64(night.Or(17, 1)) {
			s := &sweeper{stand: newStand(t, files, testserver.Options{})}
			s.options.Jobs, s.options.PerHost = 3, 3
			tasks := s.tasks(files)
			for i := range tasks { // leave only the ledger to show that they are complete
				tasks[i].Sum = digest.Sum{}
			}
			ctx, cancel := context.WithCancel(t.Context())
			var calls atomic.Int64
			disk.Fault = func(string, string) error {
				switch n := calls.Add(1); {
				case n > at && kind == dead, n == at:
					if kind == dead {
						cancel()
					}
					return kind
				}
				return nil
			}
			first := s.count(func(context.Context) { s.totals = s.run(ctx, tasks...) })
			disk.Fault = nil
			cancel()
			failures := s.failures()
			if first.Complete > int64(first.there) || kind != dead && int(first.Complete)+len(failures) != 6 {
				t.Errorf("%d are complete, %d are there: %q", first.Complete, first.there, failures)
			}
			more = calls.Load() >= at
			second := s.count(func(context.Context) { s.totals = s.run(t.Context(), tasks...) })
			again(s, first, second)
			s.compare(below(files))
			if t.Failed() {
				t.Fatalf("%v at call %d: first run %+v, %q; second run %+v, %q", kind, at, first, failures, second, s.failures())
			}
		}
	}
}

// TestTwin checks a file that a killed run left with two names, its own and the part's. The next run must keep the file
// and remove the part's name.
func TestTwin(t *testing.T) {
	s := newStand(t, map[string]string{"/f": "text"}, testserver.Options{})
	task := fileOf(s.url("/f"), "f")
	for _, before := range []int64{0, 1} {
		if got := s.run(t.Context(), task); got.Before != before || !got.Whole() {
			t.Errorf("%+v, %q", got, s.failures())
		}
		s.compare(map[string]string{"f": "text"})
		must.Do(t, os.Link(filepath.Join(s.dir, "f"), filepath.Join(s.dir, "f.ftpfetch.part")))
	}
}

var silence = testserver.EndControl(testserver.Stalled)

// both returns a step that plays two steps.
func both(a, b testserver.Step) testserver.Step {
	return func(d *testserver.Dialogue) { a(d); b(d) }
}

// inTurn runs n tasks, one after another, on a server that plays step. The clock is simulated.
func inTurn(t *testing.T, n int, step testserver.Step, tree bool, o download.RunOptions, check func(s *stand, took time.Duration)) {
	synctest.Test(t, func(t *testing.T) {
		network := ftptest.NewNetwork()
		srv := network.NewScript(t, testserver.Honest("contents"), step)
		s := newClientStand(t)
		s.client.Dial, s.options = network.Dial, o
		s.options.Jobs = 1
		var tasks []download.Task
		for i := range n {
			name := fmt.Sprint(i)
			task := fileOf(parse(t, srv.URL("/d/"+name)), name)
			if tree {
				task.Tree = &download.Tree{}
				s.write(name+"/f", "contents", time.Unix(0, 0))
			}
			tasks = append(tasks, task)
		}
		begun := time.Now()
		s.run(t.Context(), tasks...)
		check(s, time.Since(begun))
	})
}

// TestBound checks that Options.Timeout bounds all the work for a URL, and that the wait for a connection does not
// count.
func TestBound(t *testing.T) {
	timing.Wait = timing.Sleep
	defer func() { timing.Wait = atOnce }()
	const limit = 10 * time.Second
	busy := testserver.Reply("450 Busy.")
	for name, tt := range map[string]struct {
		step  testserver.Step
		o     download.Options
		tree  bool
		dry   bool
		takes time.Duration // the whole run; 0 means the limit for each of two tasks
	}{
		"retries":           {step: testserver.On("RETR", busy)},
		"silent":            {step: testserver.On("RETR", silence)},
		"silent at login":   {step: testserver.On("USER", silence)},
		"data stops":        {step: testserver.On("RETR", testserver.Reply("150 Yes."), testserver.Data("half"), silence)},
		"asks for time":     {step: testserver.On("SIZE", silence), o: download.Options{Existing: download.Newer}},
		"plans":             {step: testserver.On("SIZE", silence), o: download.Options{Existing: download.Newer}, dry: true},
		"listing":           {step: testserver.On("MLSD", busy), tree: true},
		"listing is silent": {step: testserver.On("MLSD", silence), tree: true},
		"asks for times": {step: both(testserver.On("LIST", testserver.Transfer("-rw-r--r-- 1 u g 8 Jan 1 2020 f\r\n")), testserver.On("SIZE", silence)),
			o: download.Options{Existing: download.Newer}, tree: true, takes: 4 * limit}, // for each directory and the file in it
	} {
		t.Run(name, func(t *testing.T) {
			tt.o.Retries = 1000
			inTurn(t, 2, tt.step, tt.tree, download.RunOptions{Each: tt.o, Timeout: limit, Dry: tt.dry}, func(s *stand, took time.Duration) {
				if took != cmp.Or(tt.takes, 2*limit) {
					t.Errorf("the run took %v, want %v", took, cmp.Or(tt.takes, 2*limit))
				}
				if failed := s.failures(); len(failed) != 2 || !strings.Contains(strings.Join(failed, "\n"), schedule.ErrLate.Error()) {
					t.Errorf("got %q, want %v twice", failed, schedule.ErrLate)
				}
			})
		})
	}
}

// TestServerGivenUp checks that a run gives up a server that served none of three files in a row, but not for replies
// about single files.
func TestServerGivenUp(t *testing.T) {
	t.Parallel()
	const files = 30
	begin, n := testserver.Reply("150 Yes."), new(atomic.Int32)
	refuseTwoOfThree := func(c *testserver.Conn) error {
		if n.Add(1)%3 != 0 {
			return silence(c)
		}
		return testserver.Transfer("contents")(c)
	}
	for name, tt := range map[string]struct {
		step  testserver.Step
		tree  bool
		tried int // files tried
	}{
		"no reply":               {testserver.On("RETR", silence), false, 3},
		"no data":                {testserver.On("RETR", begin, ftptest.AcceptData(), silence), false, 3},
		"half the data":          {testserver.On("RETR", begin, testserver.Data("half"), silence), false, 3},
		"no final reply":         {testserver.On("RETR", begin, testserver.Data("contents", testserver.Closed), silence), false, 3},
		"closed":                 {testserver.On("RETR", testserver.EndControl(testserver.Closed)), false, 3},
		"421":                    {testserver.On("RETR", testserver.Reply("421 Timeout."), testserver.EndControl(testserver.Closed)), false, 3},
		"no data port":           {both(testserver.On("EPSV", testserver.Reply("229 (|||1|)")), testserver.On("PASV", testserver.Reply("227 (127,0,0,1,0,1)"))), false, 3},
		"425":                    {testserver.On("RETR", testserver.Reply("425 Can't open data connection.")), false, 3},
		"no reply to SIZE":       {testserver.On("SIZE", silence), false, 3},
		"no reply to CWD":        {testserver.On("CWD", silence), false, 3},
		"no login":               {testserver.On("PASS", testserver.Reply("530 No.")), false, 1}, // its password is not sent again
		"listings without reply": {testserver.On("MLSD", silence), true, 3},
		"refused":                {testserver.On("RETR", testserver.Reply("550 No.")), false, files},
		"busy":                   {testserver.On("RETR", testserver.Reply("450 Busy.")), false, files},
		"cut short":              {testserver.On("RETR", begin, testserver.Data("half", testserver.Closed), testserver.Reply("426 No.")), false, files},
		"no reply, now and then": {testserver.On("RETR", refuseTwoOfThree), false, files},
	} {
		t.Run(name, func(t *testing.T) {
			inTurn(t, files, tt.step, tt.tree, download.RunOptions{Each: download.Options{Retries: -1}}, func(s *stand, _ time.Duration) {
				tried := 0
				for _, o := range s.outcomes {
					if _, givenUp := errors.AsType[*schedule.GivenUp](o.Err); !givenUp {
						tried++
					}
				}
				if tried != tt.tried || len(s.outcomes) != files {
					t.Errorf("%d of %d files were tried, want %d: %s", tried, len(s.outcomes), tt.tried, s.failures()[0])
				}
			})
		})
	}
}

// TestDryServerGivenUp checks that a dry run gives up a server as a run does: the error of each file says so once, however
// many there are.
func TestDryServerGivenUp(t *testing.T) {
	const files = 30
	for name, step := range map[string]testserver.Step{
		"no login":             testserver.On("PASS", testserver.Reply("530 No.")),
		"no reply to SIZE":     testserver.On("SIZE", silence),
		"too many connections": testserver.On("", testserver.Reply("421 Too many connections."), testserver.EndControl(testserver.Closed)),
	} {
		t.Run(name, func(t *testing.T) {
			inTurn(t, files, step, false, download.RunOptions{Dry: true, Each: download.Options{Retries: -1}}, func(s *stand, _ time.Duration) {
				for _, o := range s.outcomes {
					times := 0
					for err := o.Err; err != nil; err = errors.Unwrap(err) {
						if _, ok := err.(*schedule.GivenUp); ok {
							times++
						}
					}
					if times > 1 || o.Err == nil {
						t.Fatalf("given up %d times: %v", times, o.Err)
					}
				}
				if len(s.outcomes) != files {
					t.Errorf("%d of %d files have ended", len(s.outcomes), files)
				}
			})
		})
	}
}

package batch_test

import (
	"cmp"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/internal/interop/ftptest"
	"example.com/ftpfetch/internal/retry"
	"example.com/ftpfetch/internal/schedule"
	"example.com/ftpfetch/testserver"
)

var silence = testserver.End(testserver.Stalled)

// both plays two steps.
func both(a, b testserver.Step) testserver.Step {
	return func(d *testserver.Dialogue) { a(d); b(d) }
}

// inTurn runs n tasks, one after another, on a server that plays step. The clock is simulated.
func inTurn(t *testing.T, n int, step testserver.Step, tree bool, o batch.Options, check func(s *stand, took time.Duration)) {
	synctest.Test(t, func(t *testing.T) {
		network := ftptest.NewNetwork()
		srv := network.NewScript(t, testserver.Honest("contents"), step)
		s := newClientStand(t)
		s.client.Dial, s.options = network.Dial, o
		s.options.Jobs = 1
		var tasks []batch.Task
		for i := range n {
			name := fmt.Sprint(i)
			task := fileOf(parse(t, srv.URL("/d/"+name)), name)
			if tree {
				task.Tree = &batch.Tree{}
				s.write(name+"/f", "contents", time.Unix(0, 0))
			}
			tasks = append(tasks, task)
		}
		begun := time.Now()
		s.run(t.Context(), tasks...)
		check(s, time.Since(begun))
	})
}

// TestBound checks that Options.Timeout ends every URL at its time, with all that is done for it, and that the wait for a
// connection does not count.
func TestBound(t *testing.T) {
	retry.Wait = retry.Sleep
	defer func() { retry.Wait = atOnce }()
	const limit = 10 * time.Second
	busy := testserver.Reply("450 Busy.")
	for name, tt := range map[string]struct {
		step  testserver.Step
		o     download.Options
		tree  bool
		takes time.Duration // all of it; 0 means the limit for each of two tasks
	}{
		"retries":           {step: testserver.On("RETR", busy)},
		"silent":            {step: testserver.On("RETR", silence)},
		"silent at login":   {step: testserver.On("USER", silence)},
		"data stops":        {step: testserver.On("RETR", testserver.Reply("150 Yes."), testserver.Data("half"), silence)},
		"asks for time":     {step: testserver.On("SIZE", silence), o: download.Options{Newer: true}},
		"listing":           {step: testserver.On("MLSD", busy), tree: true},
		"listing is silent": {step: testserver.On("MLSD", silence), tree: true},
		"asks for times": {step: both(testserver.On("LIST", testserver.Transfer("-rw-r--r-- 1 u g 8 Jan 1 2020 f\r\n")), testserver.On("SIZE", silence)),
			o: download.Options{Newer: true}, tree: true, takes: 4 * limit}, // for each directory, then for the file in it
	} {
		t.Run(name, func(t *testing.T) {
			tt.o.Retries = 1000
			inTurn(t, 2, tt.step, tt.tree, batch.Options{Each: tt.o, Timeout: limit}, func(s *stand, took time.Duration) {
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

// TestServerGivenUp checks that a server is given up after three files in a row for which it did nothing, and that replies
// about single files give up none.
func TestServerGivenUp(t *testing.T) {
	const files = 30
	begin, n := testserver.Reply("150 Yes."), 0
	refuseTwoOfThree := func(c *testserver.Conn) error {
		if n++; n%3 != 0 {
			return silence(c)
		}
		return testserver.Transfer("contents")(c)
	}
	for name, tt := range map[string]struct {
		step  testserver.Step
		tree  bool
		tried int // files
	}{
		"no reply":               {testserver.On("RETR", silence), false, 3},
		"no data":                {testserver.On("RETR", begin, ftptest.AcceptData(), silence), false, 3},
		"half the data":          {testserver.On("RETR", begin, testserver.Data("half"), silence), false, 3},
		"no final reply":         {testserver.On("RETR", begin, testserver.Data("contents", testserver.Closed), silence), false, 3},
		"closed":                 {testserver.On("RETR", testserver.End(testserver.Closed)), false, 3},
		"421":                    {testserver.On("RETR", testserver.Reply("421 Timeout."), testserver.End(testserver.Closed)), false, 3},
		"no data port":           {both(testserver.On("EPSV", testserver.Reply("229 (|||1|)")), testserver.On("PASV", testserver.Reply("227 (127,0,0,1,0,1)"))), false, 3},
		"425":                    {testserver.On("RETR", testserver.Reply("425 Can't open data connection.")), false, 3},
		"no reply to SIZE":       {testserver.On("SIZE", silence), false, 3},
		"no reply to CWD":        {testserver.On("CWD", silence), false, 3},
		"no login":               {testserver.On("PASS", testserver.Reply("530 No.")), false, 3},
		"listings without reply": {testserver.On("MLSD", silence), true, 3},
		"refused":                {testserver.On("RETR", testserver.Reply("550 No.")), false, files},
		"busy":                   {testserver.On("RETR", testserver.Reply("450 Busy.")), false, files},
		"cut short":              {testserver.On("RETR", begin, testserver.Data("half", testserver.Closed), testserver.Reply("426 No.")), false, files},
		"no reply, now and then": {testserver.On("RETR", refuseTwoOfThree), false, files},
	} {
		t.Run(name, func(t *testing.T) {
			inTurn(t, files, tt.step, tt.tree, batch.Options{Each: download.Options{Retries: -1}}, func(s *stand, _ time.Duration) {
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

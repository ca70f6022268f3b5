package batch_test

import (
	"cmp"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/internal/interop/ftptest"
	"example.com/ftpfetch/internal/retry"
	"example.com/ftpfetch/internal/schedule"
	"example.com/ftpfetch/testserver"
)

// TestBound checks that Options.Timeout ends every URL at its time, with all that is done for it, and that the wait for a
// connection does not count.
func TestBound(t *testing.T) {
	retry.Wait = retry.Sleep
	defer func() { retry.Wait = atOnce }()
	const limit = 10 * time.Second
	silence := testserver.End(testserver.Stalled)
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
			synctest.Test(t, func(t *testing.T) {
				network := ftptest.NewNetwork()
				srv := network.NewScript(t, testserver.Honest("contents"), tt.step)
				s := newClientStand(t)
				s.client.Dial = network.Dial
				s.options = batch.Options{Jobs: 1, Each: tt.o, Timeout: limit}
				s.options.Each.Retries = 1000
				var tasks []batch.Task
				for _, name := range []string{"a", "b"} {
					task := batch.Task{Item: manifest.Item{Path: name}}
					task.URLs = append(task.URLs, parse(t, srv.URL("/"+name)))
					if tt.tree {
						task.Tree = &batch.Tree{}
						s.write(name+"/f", "contents", time.Unix(0, 0))
					}
					tasks = append(tasks, task)
				}
				begun := time.Now()
				s.run(t.Context(), tasks...)
				if took := time.Since(begun); took != cmp.Or(tt.takes, 2*limit) {
					t.Errorf("the run took %v, want %v", took, cmp.Or(tt.takes, 2*limit))
				}
				if failed := s.failures(); len(failed) != 2 || !strings.Contains(strings.Join(failed, "\n"), schedule.ErrLate.Error()) {
					t.Errorf("got %q, want %v twice", failed, schedule.ErrLate)
				}
			})
		})
	}
}

// both plays two steps.
func both(a, b testserver.Step) testserver.Step {
	return func(d *testserver.Dialogue) { a(d); b(d) }
}

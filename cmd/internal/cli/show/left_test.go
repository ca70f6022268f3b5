package show

import (
	"fmt"
	"io/fs"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/urlparse"
)

// transfer is a simulated transfer of a size, whose rate in bytes per second depends on the time in seconds.
type transfer struct {
	name  string
	total float64
	rate  func(t float64) float64
	step  float64 // seconds between two updates
	// From this time on, the time left may differ from the true one by this factor.
	from, factor float64
	most         float64 // the longest time left that is shown, in seconds
}

var transfers = []transfer{
	{"steady", 100e6, func(float64) float64 { return 1e6 }, 0.25, 3, 1.05, 98},
	{"steady, over half a second at a time", 100e6, func(float64) float64 { return 1e6 }, 0.5, 3, 1.05, 98},
	{"steady, over seconds at a time", 100e6, func(float64) float64 { return 1e6 }, 3, 6, 1.05, 98},
	{"a slow start", 200e6, func(t float64) float64 { return math.Min(10e6, 1e4*math.Pow(2, t/0.2)) }, 0.25, 8, 1.5, 40},
	{"two slow seconds", 170e6, func(t float64) float64 { return 2e5 + 9e6*above(t, 2) }, 0.25, 12, 2, 60},
	{"ten slow seconds", 400e6, func(t float64) float64 { return 1e6 + 9e6*above(t, 10) }, 0.25, 30, 1.4, 400},
	{"slower from the middle on", 200e6, func(t float64) float64 { return 4e6 - 3e6*above(t, 20) }, 0.25, 50, 1.4, 130},
	{"a stall of twenty seconds", 100e6, func(t float64) float64 { return 1e6 * (1 - above(t, 20) + above(t, 40)) }, 0.25, 70, 1.5, 500},
	{"a rate that swings", 100e6, func(t float64) float64 { return 1e6 + 0.6e6*math.Sin(t*4) }, 0.25, 6, 1.25, 110},
	{"fits and starts", 100e6, func(t float64) float64 { return 2e6 * above(math.Mod(t, 2), 1) }, 0.25, 20, 1.35, 130},
}

func above(t, limit float64) float64 {
	if t >= limit {
		return 1
	}
	return 0
}

// TestTimeLeft checks, for simulated transfers, that no time left is shown in the first three seconds, that it never
// jumps, and that it is right soon after the rate has become steady.
func TestTimeLeft(t *testing.T) {
	for _, tt := range transfers {
		var done []float64 // at each step
		for sum := 0.0; sum < tt.total; sum += tt.rate(float64(len(done))*tt.step) * tt.step {
			done = append(done, sum)
		}
		var s speed
		last, at := 0.0, 0.0
		for i, n := range done {
			now := float64(i) * tt.step
			s.update(int64(n), time.Unix(0, int64(now*1e9)))
			if i%2 == 1 { // a row is drawn less often
				continue
			}
			left := (tt.total - n) / s.trend
			truth := float64(len(done)-i) * tt.step
			most := math.Pow(1.3, max(1, now-at)) // between two rows
			text := fmt.Sprintf("%s, after %.2f s of %.0f: %.0f s left, before %.0f", tt.name, now, now+truth, left, last)
			switch shown := s.left(int64(n), int64(tt.total)) != ""; {
			case !shown:
				if now >= worthless+tt.step {
					t.Errorf("%s: not shown", text)
				}
				continue
			case now < worthless:
				t.Errorf("%s: too early", text)
			case last > 0 && (left > last*most+1 || left < (last-(now-at))/most-1):
				t.Errorf("%s: it jumps", text)
			case left > tt.most:
				t.Errorf("%s: more than %.0f", text, tt.most)
			case now >= tt.from && truth > 5 && (left > truth*tt.factor+tt.step || left < truth/tt.factor-tt.step):
				t.Errorf("%s: not %.0f", text, truth)
			}
			last = left
			at = now
		}
	}
}

// TestWithoutHost checks that the error for a host that is not reached shows nothing that may be the end of a password.
func TestWithoutHost(t *testing.T) {
	for _, tt := range []struct {
		url   string
		stage ftpexec.Stage
		want  string
	}{
		{"ftp://me:p@ss/word@host/f", ftpexec.StageConnect, "ftp://me:***@host/f"},
		{"ftp://me:p@ss/w/o/rd@host/d/f", ftpexec.StageConnect, "ftp://me:***@host/d/f"},
		{"ftp://me:p@s/s@w/ord@host/f", ftpexec.StageConnect, "ftp://me:***@host/f"},
		{"ftp://me:p@ss:2121/word@host/f", ftpexec.StageConnect, "ftp://me:***@host/f"},
		{"ftp://me:p@host/a@b", ftpexec.StageTransfer, "ftp://me:***@host/a%40b"},
		{"ftp://me@host/a@b", ftpexec.StageConnect, "ftp://me@host/a%40b"},
		{"ftp://me:p@host/f", ftpexec.StageConnect, "ftp://me:***@host/f"},
		{"ftp://host/a@b", ftpexec.StageConnect, "ftp://host/a%40b"},
	} {
		s := newStand(Plain)
		u := must.Get(urlparse.Parse(tt.url))(t)
		s.Failed(u.Redacted(), &ftpexec.Error{Stage: tt.stage, Err: ftpexec.ErrConnect}, "")
		if got, _, _ := strings.Cut(s.out.String(), ": cannot"); got != "ftpfetch: "+tt.want {
			t.Errorf("%s: got %s, want %s", tt.url, got, tt.want)
		}
	}
}

// TestNarrate checks what a terminal without rows is told before data flows: each wait once.
func TestNarrate(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := newStand(Plain)
		f := s.lone("f")
		stop := s.narrate(f.Run)
		told := func(want string) {
			t.Helper()
			<-time.After(5 * narration)
			synctest.Wait()
			defer s.lock()()
			s.compare(t, want)
		}
		trace := s.Trace()
		if trace != nil {
			t.Error("lines in a file are narrated")
		}
		told("h: connecting\n")
		func() {
			defer s.lock()()
			s.waits.what = "waiting for the server's greeting"
		}()
		told("h: waiting for the server's greeting\n")
		f.update(1, 2)
		told("")
		stop()
	})
}

// TestDue checks when lines about progress come.
func TestDue(t *testing.T) {
	for _, tt := range []struct {
		mode    Mode
		watched bool
		want    string // seconds at which a line comes
	}{
		{Plain, false, "[10 30 70 150 270 390]"},
		{Plain, true, "[2 6 14 30 62 126 246 366]"},
		{Bar, false, "[]"},
		{None, false, "[]"},
	} {
		var c clock
		c.last = time.Unix(0, 0)
		var at []int
		for second := range 400 {
			if c.due(time.Unix(int64(second), 0), tt.mode, tt.watched) {
				at = append(at, second)
			}
		}
		if got := fmt.Sprint(at); got != tt.want {
			t.Errorf("%s, %v: got %s, want %s", tt.mode, tt.watched, got, tt.want)
		}
	}
}

// TestUnmade checks that a directory that could not be made here is not called unlisted.
func TestUnmade(t *testing.T) {
	local := localfile.Failure("d/x", "cannot be created", fs.ErrPermission)
	for _, tt := range []struct {
		errs []error
		want string
	}{
		{[]error{local}, "0 of 0 complete, 1 directory could not be made here\n"},
		{[]error{local, local}, "0 of 0 complete, 2 directories could not be made here\n"},
		{[]error{lost}, "0 of 0 complete, 1 directory could not be fully listed\n"},
		{[]error{lost, local}, "0 of 0 complete, 1 directory could not be fully listed, 1 directory could not be made here\n"},
	} {
		s := newStand(Plain)
		r := s.Run("", -1, -1)
		for _, err := range tt.errs {
			task := &download.Task{URLs: []*urlparse.URL{must.Get(urlparse.Parse("ftp://h/d/"))(t)}, Path: "d"}
			r.Event(download.Event{Kind: download.Ended, Err: err, Task: task})
		}
		s.out.Reset()
		r.End(download.Totals{Unlisted: int64(len(tt.errs))}, 0)
		s.compare(t, tt.want)
	}
}

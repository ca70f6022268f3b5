package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

// stand is a printer with a clock that the test moves.
type stand struct {
	*printer
	out   bytes.Buffer
	mu    sync.Mutex // a bar reads the clock too
	clock time.Time
}

func newStand(mode progressMode) *stand {
	s := &stand{clock: time.Unix(0, 0)}
	s.printer = &printer{
		ctx: context.Background(), patience: time.Minute,
		err: &stream{w: &s.out}, display: display{progress: mode}, now: s.time,
	}
	return s
}

// after moves the clock.
func (s *stand) after(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.clock = s.clock.Add(d)
}

func (s *stand) time() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.clock
}

// compare compares what was printed since the last call.
func (s *stand) compare(t *testing.T, want string) {
	t.Helper()
	if got := s.out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	s.out.Reset()
}

var lost = &ftpexec.Error{Op: "RETR x", URL: "ftp://u:***@h/x", Err: ftpexec.ErrLost}

func TestLineMeter(t *testing.T) {
	s := newStand(progressPlain)
	m := s.newMeter(transfer{name: "a\x1bfile"}, false)
	for _, step := range []struct {
		after       time.Duration
		done, total int64
	}{
		{0, 0, 1000}, {9 * time.Second, 90, 1000}, {time.Second, 100, 1000}, {time.Second, 110, 1000},
		{9 * time.Second, 200, 1000}, {10 * time.Second, 300, -1},
	} {
		s.after(step.after)
		m.update(step.done, step.total)
	}
	m.event(download.Event{Kind: download.Retrying, Err: lost, Try: 2, Tries: 5, Wait: 1500 * time.Millisecond})
	m.event(download.Event{Kind: download.Restarted, Text: "begins\nanew\x1b"})
	s.after(1250 * time.Millisecond)
	m.end(download.Result{Size: 1000}, nil)
	s.compare(t, `a\x1bfile: 100 of 1000 bytes (10%), 10 B/s, 1:30 left
a\x1bfile: 200 of 1000 bytes (20%), 10 B/s, 1:20 left
a\x1bfile: 300 bytes so far, 10 B/s
a\x1bfile: RETR x: connection lost; trying again in 1.5 s (2 of 5)
a\x1bfile: begins / anew\x1b
a\x1bfile: 1000 bytes in 31.2 s
`)
	m.end(download.Result{Size: 1, Verified: "md5 from\x1b"}, nil)
	s.compare(t, `a\x1bfile: 1 byte in 31.2 s (verified: md5 from\x1b)`+"\n")
	m.end(download.Result{Size: 500}, errors.New("failed"))
	s.compare(t, "")
	for reason, want := range map[download.Reason]string{
		download.ReasonExists:   "already exists",
		download.ReasonNotNewer: "not newer on the server",
		download.ReasonComplete: "already complete",
	} {
		m.end(download.Result{Skipped: true, Reason: reason}, nil)
		s.compare(t, `a\x1bfile: `+want+", left alone\n")
	}
}

// TestMode checks how transfers are shown.
func TestMode(t *testing.T) {
	tests := []struct {
		set                                  progressMode
		quiet, verbose, terminal, toTerminal bool
		want                                 progressMode
	}{
		{want: progressPlain},
		{terminal: true, want: progressBar},
		{terminal: true, verbose: true, want: progressPlain},
		{terminal: true, toTerminal: true, want: progressNone},
		{terminal: true, quiet: true, want: progressNone},
		{set: progressBar, want: progressBar},
		{set: progressBar, verbose: true, want: progressBar},
		{set: progressBar, toTerminal: true, want: progressBar},
		{set: progressPlain, terminal: true, want: progressPlain},
		{set: progressJSON, terminal: true, want: progressJSON},
		{set: progressJSON, quiet: true, want: progressNone},
		{set: progressNone, terminal: true, want: progressNone},
	}
	for _, tt := range tests {
		p := &printer{display: display{progress: tt.set, quiet: tt.quiet, verbose: tt.verbose}, err: &stream{terminal: tt.terminal}}
		if got := p.mode(tt.toTerminal); got != tt.want {
			t.Errorf("%+v: got %q", tt, got)
		}
	}
}

// TestNoMeter reports only a file that was left alone, and not even that with -q.
func TestNoMeter(t *testing.T) {
	s := newStand(progressNone)
	m := s.newMeter(transfer{name: "f"}, false)
	m.update(1, 2)
	m.event(download.Event{Kind: download.Retrying, Err: lost})
	m.end(download.Result{Size: 2}, nil)
	s.compare(t, "")
	m.end(download.Result{Skipped: true}, nil)
	s.compare(t, "f: already exists, left alone\n")
	s.quiet = true
	m.end(download.Result{Skipped: true}, nil)
	s.compare(t, "")
}

// TestJSONMeter follows a file from start to end, with a retry.
func TestJSONMeter(t *testing.T) {
	s := newStand(progressJSON)
	u, err := urlparse.Parse("ftp://u:secret@h/x")
	if err != nil {
		t.Fatal(err)
	}
	m := s.newMeter(newTransfer(u, "d/x\x1b\xff"), false)
	m.event(download.Event{Kind: download.Resumed, Done: 100, Text: "resuming from byte 100"})
	s.after(time.Second)
	m.update(100, 1000)
	s.after(900 * time.Millisecond)
	m.update(290, 1000) // too soon
	s.after(100 * time.Millisecond)
	m.update(300, 1000)
	m.event(download.Event{Kind: download.Retrying, Err: lost, Try: 1, Tries: 5, Wait: 1500 * time.Millisecond})
	s.after(1500 * time.Millisecond)
	m.update(400, 1000)
	s.after(500 * time.Millisecond)
	m.update(1000, 1000)
	m.end(download.Result{Size: 1000, Resumed: 100, Verified: "md5 in x.md5"}, nil)
	const head, of = `","version":1,"time":"1970-01-01T00:00:`, `"url":"ftp://u:***@h/x","path":"d/x\u001b\ufffd"`
	s.compare(t, strings.NewReplacer("<", `{"event":"`, "@", head, "#", `Z",`+of).Replace(
		`<note@00.000#,"text":"resuming from byte 100"}
<start@01.000#,"size":1000,"offset":100,"attempt":1}
<progress@02.000#,"size":1000,"offset":100,"received":300,"rate":211,"attempt":1}
<retry@02.000#,"size":1000,"offset":100,"received":300,"attempt":2,"delay":1.5,"error":"RETR x: connection lost","code":56}
<progress@03.500#,"size":1000,"offset":100,"received":400,"rate":120,"attempt":2}
<done@04.000#,"size":1000,"offset":100,"received":1000,"rate":300,"attempt":2,"seconds":4,"verified":"md5 in x.md5"}
`))
}

// TestJSONEnds checks transfers that end without progress events.
func TestJSONEnds(t *testing.T) {
	s := newStand(progressJSON)
	of := transfer{url: "ftp://h/x", path: "x", name: "x"}
	const head = `","version":1,"time":"1970-01-01T00:00:00.000Z","url":"ftp://h/x"`
	s.newMeter(of, false).end(download.Result{Size: 5, Skipped: true}, nil)
	s.compare(t, `{"event":"done`+head+`,"path":"x","size":5,"skipped":true}`+"\n")

	s.newMeter(of, false).end(download.Result{}, nil) // an empty file, or one that took no time
	s.compare(t, `{"event":"start`+head+`,"path":"x","size":0,"offset":0,"attempt":1}
{"event":"done`+head+`,"path":"x","size":0,"offset":0,"received":0,"rate":0,"attempt":1,"seconds":0}
`)
	m := s.newMeter(of, false)
	m.update(3, -1)
	s.out.Reset()
	m.update(4, -1)
	m.end(download.Result{}, context.Canceled)
	s.compare(t, "")
	s.failed("ftp://h/x", &SignalError{os.Interrupt}, "")
	s.compare(t, `{"event":"error`+head+`,"path":"x","offset":3,"received":4,"attempt":1,"error":"interrupted","code":130}`+"\n")
	s.failed("ftp://h/x", lost, "") // the earlier state is gone
	s.compare(t, `{"event":"error`+head+`,"error":"RETR x: connection lost","code":56}`+"\n")
	_, err := urlparse.Parse("ftp://u:secret@h/a b")
	s.failed("", err, "")
	if got := s.out.String(); !strings.Contains(got, `"url":"ftp://u:***@h/a b"`) || !strings.Contains(got, `"code":3}`) {
		t.Errorf("malformed: %s", got)
	}
}

// TestBarMeter checks that messages appear above the bar, and that a line that says
// what happened takes its place.
func TestBarMeter(t *testing.T) {
	s := newStand(progressBar)
	for _, tt := range []struct {
		err  error
		done download.Result
		want string
	}{
		{err: lost},
		{done: download.Result{Size: 4096, Verified: "md5 in x.md5"}, want: "d/name: 4096 bytes in 2.0 s (verified: md5 in x.md5)\n"},
		{done: download.Result{Skipped: true}, want: "d/name: already exists, left alone\n"},
	} {
		m := s.newMeter(transfer{name: "d/name"}, false)
		m.update(0, 4096)
		s.after(time.Second)
		m.update(1024, 4096)
		m.event(download.Event{Kind: download.Retrying, Err: lost, Try: 1, Tries: 5, Wait: time.Second})
		s.after(time.Second)
		m.end(tt.done, tt.err)
		got := s.out.String()
		for _, want := range []string{
			"d/name: RETR x: connection lost; trying again in 1.0 s (1 of 5)\n", "name [=", "] ", " 1.0 KiB / 4.0 KiB ", " 25 %", " 1.0 KiB/s", "  try 2\n",
		} {
			if !strings.Contains(got, want) {
				t.Errorf("no %q in %q", want, got)
			}
		}
		if want := "\r\x1b[1A\x1b[J" + tt.want; !strings.HasSuffix(got, want) {
			t.Errorf("%q does not end with %q", got, want)
		}
		s.out.Reset()
		s.line("next")
		s.compare(t, "next\n")
	}
}

// TestBarsTogether shows several bars and lines at the same time.
func TestBarsTogether(t *testing.T) {
	s := newStand(progressBar)
	var meters []meter
	for i := range int64(5) {
		m := s.newMeter(transfer{name: fmt.Sprint("file", i)}, false)
		m.update(i, 100+i)
		meters = append(meters, m)
	}
	s.after(time.Second)
	var files sync.WaitGroup
	for i, m := range meters {
		files.Go(func() {
			s.line("line %d", i)
			m.end(download.Result{Size: int64(100 + i)}, nil)
		})
	}
	files.Wait()
	got := s.out.String()
	for i := range 5 {
		for _, want := range []string{fmt.Sprint("line ", i, "\n"), fmt.Sprintf("file%d: 10%d bytes in 1.0 s\n", i, i)} {
			if strings.Count(got, want) != 1 {
				t.Errorf("%d times %q", strings.Count(got, want), want)
			}
		}
		if want := fmt.Sprintf(" %d B / 10%d B ", i, i); !strings.Contains(got, want) {
			t.Errorf("no %q", want)
		}
	}
}

// TestJSONOffsetFalls checks that the offset falls even if a transfer starts
// over between two updates.
func TestJSONOffsetFalls(t *testing.T) {
	s := newStand(progressJSON)
	m := s.newMeter(transfer{url: "ftp://h/x", path: "x", name: "x"}, false)
	m.update(100, 1000)
	m.event(download.Event{Kind: download.Restarted, Text: "starting over"})
	m.update(1000, 1000)
	m.end(download.Result{Size: 1000}, nil)
	if got := s.out.String(); !strings.Contains(got, `"size":1000,"offset":0,"received":1000`) {
		t.Error(got)
	}
}

// TestMillis checks that no event has nine digits of a second.
func TestMillis(t *testing.T) {
	if got := millis(1343736168); got != 1.344 {
		t.Errorf("got %v", got)
	}
}

package show

import (
	"bytes"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ftpfetch/docs"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// stand is a printer with a clock that the test moves.
type stand struct {
	*Printer
	out   bytes.Buffer
	clock atomic.Int64 // the drawing goroutine of a bar reads it too
}

func newStand(mode Mode) *stand {
	s := &stand{}
	s.Printer = New(nil, &s.out, func(err error) (string, int) { return strings.TrimPrefix(err.Error(), "ftp://u:***@h/x: "), 56 })
	s.Progress, s.now = mode, func() time.Time { return time.Unix(0, s.clock.Load()) }
	return s
}

// after advances the clock.
func (s *stand) after(d time.Duration) { s.clock.Add(int64(d)) }

// compare compares what was printed since the last call with want.
func (s *stand) compare(t *testing.T, want string) {
	t.Helper()
	if got := s.out.String(); got != want {
		t.Errorf("got\n%swant\n%s", got, want)
	}
	s.out.Reset()
}

// shownFile is a file of a run with many files, or a lone file.
type shownFile struct {
	*Run
	t *download.Task
}

func (s *stand) lone(path string) shownFile { return s.Run(path, 1, -1).one(path) }

// one starts a file of a run.
func (r *Run) one(path string) shownFile {
	u, err := urlparse.Parse("ftp://u:secret@h/x")
	if err != nil {
		panic(err)
	}
	f := shownFile{r, &download.Task{URLs: []*urlparse.URL{u}, Path: path}}
	f.happens(download.Event{Kind: download.Started})
	return f
}

func (f shownFile) happens(e download.Event) { e.Task = f.t; f.Event(e) }

func (f shownFile) update(done, total int64) {
	f.happens(download.Event{Kind: download.Progress, Done: done, Total: total})
}

func (f shownFile) end(done download.Result, err error) {
	f.Event(download.Event{Kind: download.Ended, Err: err, Task: f.t, Result: done})
}

// counts gives a run its current totals.
func (r *Run) counts(t download.Totals, done, size, received int64) {
	r.received = received
	r.Event(download.Event{Kind: download.Progress, Done: done, Total: size, Totals: t})
}

var lost = &ftpexec.Error{Op: "RETR x", URL: "ftp://u:***@h/x", Err: ftpexec.ErrLost}
var retries = download.Event{Err: lost, Text: "2 of 5", Wait: 1500 * time.Millisecond}

// TestSilentFile checks that one of many files costs little if nothing of it is shown.
func TestSilentFile(t *testing.T) {
	for _, mode := range []Mode{Auto, None} {
		r := newStand(mode).Run("", 10, -1)
		f := r.one("f")
		if n := testing.AllocsPerRun(100, func() {
			f.happens(download.Event{Kind: download.Started})
			f.update(0, 5)
			f.update(5, 5)
			f.end(download.Result{Size: 5}, nil)
		}); n > 3 {
			t.Errorf("%s: %.0f allocations", mode, n)
		}
	}
}

// TestPlain follows one file in plain lines, whose intervals double, and files of which little or nothing is shown.
func TestPlain(t *testing.T) {
	s := newStand(Plain)
	f := s.lone("a\x1bfile")
	for _, step := range [][3]int64{{0, 0, 1000}, {9, 90, 1000}, {1, 100, 1000}, {19, 290, 1000}, {1, 300, 1000}, {40, 700, -1}} {
		s.after(time.Duration(step[0]) * time.Second)
		f.update(step[1], step[2])
	}
	f.happens(retries)
	f.happens(download.Event{Kind: download.Noted, Text: "begins\nanew\x1b"})
	s.after(1250 * time.Millisecond)
	f.end(download.Result{Size: 1000}, nil)
	s.compare(t, `a\x1bfile: 1:30 left, 10 B/s, 100 B of 1000 B
a\x1bfile: 1:10 left, 10 B/s, 300 B of 1000 B
a\x1bfile: 10 B/s, 700 B
a\x1bfile: connection lost; trying again in 1.5 s (2 of 5)
a\x1bfile: begins / anew\x1b
a\x1bfile: 1000 B in 71.2 s, 14 B/s
`)
	for _, tt := range []struct {
		mode  Mode
		quiet bool
		done  download.Result
		want  string
	}{
		{Plain, false, download.Result{Size: 1, Verified: "md5 from\x1b"}, `a\x1bfile: 1 B in 0.00 s (verified: md5 from\x1b)` + "\n"},
		{Plain, false, download.Result{Left: "already exists"}, `a\x1bfile: already exists, left alone` + "\n"},
		{None, false, download.Result{Left: "already exists"}, `a\x1bfile: already exists, left alone` + "\n"},
		{None, false, download.Result{Size: 2}, ""},
		{None, true, download.Result{Left: "already exists"}, ""},
	} {
		s.Progress, s.Quiet = tt.mode, tt.quiet
		f := s.lone("a\x1bfile")
		if tt.mode == None {
			f.update(1, 2)
			f.happens(retries)
		}
		f.end(tt.done, nil)
		s.compare(t, tt.want)
	}
	s.Quiet = false
	for kept, want := range map[int64]string{0: "", 1: "; 1 B kept: the same command resumes", 66270000: "; 63.2 MiB kept: the same command resumes"} {
		s.lone("f").end(download.Result{Kept: kept}, lost)
		s.compare(t, "ftpfetch: ftp://u:***@h/x: connection lost"+want+"\n")
	}
}

// TestMode checks how transfers are shown.
func TestMode(t *testing.T) {
	for _, tt := range []struct {
		set                                  Mode
		quiet, verbose, terminal, toTerminal bool
		want                                 Mode
	}{
		{want: Plain},
		{terminal: true, want: Bar},
		{terminal: true, verbose: true, want: Plain},
		{terminal: true, toTerminal: true, want: None},
		{terminal: true, quiet: true, want: None},
		{set: Bar, want: Bar},
		{set: Bar, verbose: true, want: Bar},
		{set: Bar, toTerminal: true, want: Bar},
		{set: Plain, terminal: true, want: Plain},
		{set: JSON, terminal: true, want: JSON},
		{set: JSON, quiet: true, want: None},
		{set: None, terminal: true, want: None},
	} {
		p := New(nil, screen(tt.terminal), nil)
		p.Progress, p.Quiet, p.Verbose = tt.set, tt.quiet, tt.verbose
		if got := p.mode(tt.toTerminal); got != tt.want {
			t.Errorf("%+v: got %q", tt, got)
		}
	}
}

// screen is a stream that may be a terminal.
type screen bool

func (s screen) IsTerminal() bool          { return bool(s) }
func (screen) Write(b []byte) (int, error) { return len(b), nil }

// TestJSON follows a file from start to end, with a retry, and files that end without progress.
func TestJSON(t *testing.T) {
	const head, of = `","version":1,"time":"1970-01-01T00:00:`, `"url":"ftp://u:***@h/x","path":"d/x\u001b\ufffd"`
	want := strings.NewReplacer("<", `{"event":"`, "~", head, "#", `Z",`+of)
	const path = "d/x\x1b\xff"
	s := newStand(JSON)
	f := s.lone(path)
	f.happens(download.Event{Kind: download.Noted, Text: "resuming from byte 100"})
	s.after(time.Second)
	f.update(100, 1000)
	s.after(900 * time.Millisecond)
	f.update(290, 1000) // too soon
	s.after(100 * time.Millisecond)
	f.update(300, 1000)
	f.happens(retries)
	s.after(1500 * time.Millisecond)
	f.update(400, 1000)
	s.after(500 * time.Millisecond)
	f.update(1000, 1000)
	f.end(download.Result{Size: 1000, Resumed: 100, Verified: "md5 in x.md5"}, nil)
	s.compare(t, want.Replace(`<note~00.000#,"text":"resuming from byte 100"}
<start~01.000#,"size":1000,"offset":100,"attempt":1}
<progress~02.000#,"size":1000,"offset":100,"received":300,"rate":211,"attempt":1}
<retry~02.000#,"size":1000,"offset":100,"received":300,"attempt":2,"delay":1.5,"error":"connection lost","code":56}
<progress~03.500#,"size":1000,"offset":100,"received":400,"rate":120,"attempt":2}
<done~04.000#,"size":1000,"offset":100,"received":1000,"rate":225,"attempt":2,"seconds":4,"verified":"md5 in x.md5"}
`))
	s = newStand(JSON)
	s.lone(path).end(download.Result{Size: 5, Left: "already exists"}, nil)
	s.lone(path).end(download.Result{}, nil) // an empty file, or one that took no time
	f = s.lone(path)
	f.update(100, -1)
	f.happens(download.Event{Kind: download.Noted, Text: "starting over"})
	f.update(4, -1) // the offset falls even if a transfer starts over between two updates
	f.end(download.Result{}, lost)
	s.Failed("ftp://h/x", lost, "") // the earlier file is forgotten
	_, err := urlparse.Parse("ftp://u:secret@h/a b")
	s.Failed("", err, "")
	s.compare(t, want.Replace(`<done~00.000#,"size":5,"skipped":true}
<start~00.000#,"size":0,"offset":0,"attempt":1}
<done~00.000#,"size":0,"offset":0,"received":0,"rate":0,"attempt":1,"seconds":0}
<start~00.000#,"offset":100,"attempt":1}
<note~00.000#,"text":"starting over"}
<error~00.000#,"offset":4,"received":4,"attempt":1,"error":"connection lost","code":56}
<error~00.000Z","url":"ftp://h/x","error":"connection lost","code":56}
<error~00.000Z","url":"ftp://u:***@h/a b","error":"`+err.Error()+`","code":56}
`))
}

// TestRunPlain checks that the intervals between lines about all files grow.
func TestRunPlain(t *testing.T) {
	s := newStand(Plain)
	r := s.Run("", 3, 300)
	for range 4000 { // seconds
		s.after(time.Second)
		r.counts(download.Totals{Files: 3, Complete: 1}, 100, 300, 1)
	}
	if n := strings.Count(s.out.String(), "\n"); n != 36 { // after 10, 30, 70 and 150 s, then every two minutes
		t.Errorf("%d lines in 4000 s, want 36", n)
	}
	s.out.Reset()
	r.links, r.before = 1, 1
	r.End(download.Totals{Files: 3, Complete: 1, Failed: 1, Unlisted: 1, Listing: 1}, 0)
	s.compare(t, "1 of 3 complete, 1 already there, 1 failed, 2 directories could not be fully listed, 1 link not followed: 1 B in 1 h 6 min, 0 B/s\n")
}

// TestNotStarted shows a retry of a file that was not started, as in a dry run.
func TestNotStarted(t *testing.T) {
	s := newStand(Plain)
	f := s.Run("", 2, -1).one("a")
	again := retries
	again.Kind = download.Noted
	again.Task = &download.Task{URLs: f.t.URLs, Path: "b"}
	f.Event(again)
	s.compare(t, "b: connection lost; trying again in 1.5 s (2 of 5)\n")
}

// TestFailedAgain checks that the end names the failed files again, at most ten, if their messages may have scrolled
// away.
func TestFailedAgain(t *testing.T) {
	for _, tt := range []struct {
		fail  int
		after time.Duration
		want  string
	}{
		{12, time.Second, "ftpfetch: ... and 7 more: --report FILE has them all\n"},
		{1, time.Minute, "failed: f\n"},
		{12, time.Minute, "ftpfetch: ... and 7 more: --report FILE has them all\n" + strings.Repeat("failed: f\n", 10) + "... and 2 more: --report FILE has them all\n"},
	} {
		s := newStand(Plain)
		r := s.Run("", 20, -1)
		for range tt.fail {
			r.one("f").end(download.Result{}, lost)
		}
		s.after(tt.after)
		s.out.Reset()
		r.End(download.Totals{Files: 20, Failed: int64(tt.fail)}, 0)
		s.compare(t, tt.want+fmt.Sprintf("0 of 20 complete, %d failed\n", tt.fail))
	}
}

// TestRunJSON checks the events about all files.
func TestRunJSON(t *testing.T) {
	s := newStand(JSON)
	r := s.Run("", -1, -1)
	r.counts(download.Totals{Files: 2, Listing: 1}, 0, -1, 0)
	s.after(time.Second)
	r.counts(download.Totals{Files: 2, Listing: 1}, 0, -1, 0)
	s.after(time.Second / 2)
	r.counts(download.Totals{Files: 3}, 0, 30, 0) // too soon
	s.after(time.Second / 2)
	r.counts(download.Totals{Files: 3, Complete: 1}, 10, 30, 10)
	r.received = 20
	r.End(download.Totals{Files: 3, Complete: 2, Failed: 1}, 0)
	s.compare(t, `{"event":"total","version":1,"time":"1970-01-01T00:00:01.000Z","received":0,"rate":0,"files":2,"complete":0,"failed":0}
{"event":"total","version":1,"time":"1970-01-01T00:00:02.000Z","size":30,"received":10,"rate":5,"files":3,"complete":1,"failed":0}
{"event":"end","version":1,"time":"1970-01-01T00:00:02.000Z","size":30,"received":20,"rate":10,"seconds":2,"files":3,"complete":2,"failed":1}
`)
}

// TestDialogue checks that a line of the dialogue names its connection.
func TestDialogue(t *testing.T) {
	s := newStand(Plain)
	s.Verbose = true
	trace := s.Trace()
	trace.Wait(ftpexec.WaitInfo{Address: "h:21"})
	trace.GotConn(ftpexec.ConnInfo{Conn: 1, Address: "h:21", Remote: "127.0.0.1:21"})
	trace.GotConn(ftpexec.ConnInfo{Conn: 1, Reused: true})
	trace.Command(ftpexec.CommandInfo{Conn: 1, Text: "USER u"})
	trace.Command(ftpexec.CommandInfo{Conn: 1, Text: "CWD d", Joined: true})
	trace.GotConn(ftpexec.ConnInfo{Conn: 2, Address: "h:21", Remote: "127.0.0.1:8080", Proxied: true})
	trace.Secured(ftpexec.SecuredInfo{Conn: 2, TLS: tls.ConnectionState{Version: tls.VersionTLS13}})
	trace.Command(ftpexec.CommandInfo{Conn: 2, Text: "RETR g"})
	trace.Reply(ftpexec.ReplyInfo{Conn: 2, Code: 150, Lines: []string{"150-yes", "150 no"}})
	trace.Note(ftpexec.NoteInfo{Conn: 2, Text: "note"})
	trace.Command(ftpexec.CommandInfo{Conn: 1, Text: strings.Repeat("x", 5000)})
	trace.Command(ftpexec.CommandInfo{Text: "GET a"})
	s.compare(t, `* all connections that the server may have are in use: waiting for one
* connected to 127.0.0.1:21
> USER u
>> CWD d
* [2] connected to h:21 through the proxy at 127.0.0.1:8080
* [2] TLS 1.3 established
> [2] RETR g
< [2] 150-yes
< [2] 150 no
* [2] note
> `+strings.Repeat("x", 1000)+`...
> GET a
`)
}

// TestEventsAreDocumented checks that docs/progress.md and the man page name every field, and that the document's events
// are written as the command writes them.
func TestEventsAreDocumented(t *testing.T) {
	text, err := os.ReadFile("../../../../docs/progress.md")
	events := regexp.MustCompile(`(?m)^\{"event".*\n`).FindAll(text, -1)
	if err != nil || len(events) < 4 {
		t.Fatalf("docs/progress.md has %d events (%v)", len(events), err)
	}
	_, man, _ := strings.Cut(docs.Man, ".SH EVENTS\n")
	for f := range reflect.TypeFor[event]().Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if !regexp.MustCompile(`(?m)^\| [^|]*\x60`+name+`\x60`).Match(text) || !strings.Contains(man, name) {
			t.Errorf("%s is not in docs/progress.md or the man page", name)
		}
	}
	for _, line := range events {
		var e event
		if err := json.Unmarshal(line, &e); err != nil || !bytes.Equal(printable.JSON(e), line) {
			t.Errorf("docs/progress.md has\n%swant\n%s (%v)", line, printable.JSON(e), err)
		}
	}
}

// TestNote checks that a waiting run says so, that other notes need -v, and that -q silences them.
func TestNote(t *testing.T) {
	for flag, want := range map[string]string{
		"": "text\nftpfetch: warning: text\n", "-v": "text\n* text\nftpfetch: warning: text\n", "-q": "ftpfetch: warning: text\n",
	} {
		s := newStand(Plain)
		s.Verbose, s.Quiet = flag == "-v", flag == "-q"
		s.Note(Notice, "text")
		s.Note(Detail, "text")
		s.Note(Warning, "text")
		s.compare(t, want)
	}
}

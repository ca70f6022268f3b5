package show

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
)

// TestTyping checks that the time in which a prompt waits for the user counts in no rate of what waits for the answer.
// It counts for other files.
func TestTyping(t *testing.T) {
	s := newStand(JSON)
	typed := func() { s.Alone(func() { s.after(time.Minute) }) }
	f := s.lone("x")
	s.after(time.Second)
	typed()
	s.after(time.Second)
	f.update(0, 1000)
	f.end(download.Result{Size: 1000}, nil)
	if got := s.out.String(); !strings.Contains(got, `"rate":500,"attempt":1,"seconds":2`) {
		t.Errorf("a lone file: %s", got)
	}
	for _, flows := range []bool{false, true} {
		r := s.Run("", 2, -1)
		waits, other := r.one("a"), r.one("b")
		if flows {
			other.update(0, 1000)
		}
		s.Alone(func() {
			s.after(time.Minute)
			if flows {
				other.update(600, 1000)
			}
		})
		s.after(time.Second)
		waits.update(0, 600)
		waits.update(600, 600)
		waits.end(download.Result{Size: 600}, nil)
		s.out.Reset()
		r.End(download.Totals{Files: 2, Complete: 2}, 0)
		want := `"received":600,"rate":600,"complete":2`
		if flows { // over 61 seconds
			want = `"received":1200,"rate":19,"complete":2`
		}
		if got := regexp.MustCompile(`"files":2,|"failed":0|"seconds":\d+,`).ReplaceAllString(s.out.String(), ""); !strings.Contains(got, want) {
			t.Errorf("another file flows %t: %s, want %s", flows, got, want)
		}
	}
}

// TestWaits checks that before data flows, the last line says what the run waits for, and not what was sent last.
func TestWaits(t *testing.T) {
	s := newStand(Plain)
	s.Verbose = true
	trace := s.Trace()
	sent := func(conn int, text string) func() {
		return func() { trace.Command(ftpexec.CommandInfo{Conn: conn, Text: text}) }
	}
	got := func(conn, code int) func() {
		return func() { trace.Reply(ftpexec.ReplyInfo{Conn: conn, Code: code}) }
	}
	for _, tt := range []struct {
		event func()
		want  string
	}{
		{func() {}, "connecting"},
		{func() { trace.GotConn(ftpexec.ConnInfo{Conn: 1}) }, "connected, waiting for the server's greeting"},
		{got(1, 220), "waiting for the server"},
		{sent(1, "USER me"), "waiting for the reply to USER me"},
		{sent(1, "CWD pub"), "waiting for the reply to USER me"},
		{sent(1, "MDTM f"), "waiting for the reply to USER me"},
		{got(1, 230), "waiting for the reply to CWD pub"},
		{sent(2, "USER me"), "waiting for the reply to USER me"},
		{got(1, 250), "waiting for the reply to MDTM f"},
		{func() { trace.GotConn(ftpexec.ConnInfo{Conn: 3, Reused: true}) }, "waiting for the reply to MDTM f"},
		{got(1, 213), "waiting for the server"},
		{sent(1, "RETR f"), "waiting for the reply to RETR f"},
		{got(1, 150), "waiting for the first data"},
		{got(1, 226), "waiting for the server"},
		{func() { trace.Note(ftpexec.NoteInfo{Text: "connected to\nnothing"}) }, "connected to / nothing"},
		{func() { trace.Wait(ftpexec.WaitInfo{}) },
			"all connections that the server may have are in use: waiting for one"},
		{sent(0, "GET ftp://h/f"), "waiting for the reply to GET ftp://h/f"},
		{sent(0, "Authorization: ********"), "waiting for the reply to GET ftp://h/f"},
		{got(0, 200), "waiting for the server"},
	} {
		tt.event()
		if got := s.waits.String(); got != tt.want {
			t.Errorf("%q, want %q", got, tt.want)
		}
	}
}

// TestVerifiedInAll checks that the last line counts the files whose digest was verified.
func TestVerifiedInAll(t *testing.T) {
	s := newStand(Plain)
	r := s.Run("", 4, -1)
	r.one("a").end(download.Result{Size: 1, Verified: "md5 in x.md5"}, nil)
	r.one("b").end(download.Result{Size: 1, Left: "is complete", Verified: "md5 in x.md5"}, nil)
	r.one("c").end(download.Result{Size: 1}, nil)
	r.one("d").end(download.Result{Verified: "md5 in x.md5"}, lost)
	s.out.Reset()
	r.End(download.Totals{Files: 4, Complete: 3, Failed: 1}, 0)
	if got := s.out.String(); !strings.HasPrefix(got, "3 of 4 complete, 1 already there, 2 verified, 1 failed: ") {
		t.Error(got)
	}
}

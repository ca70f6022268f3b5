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
	d := new(dialogue)
	for _, tt := range []struct {
		mark, text string
		conn       int
		want       string
	}{
		{"", "", 0, "connecting"},
		{"*", "connected to 127.0.0.1:21", 1, "connected, waiting for the server's greeting"},
		{"<", "220-Welcome", 1, "waiting for the server"},
		{"<", "220 ready", 1, "waiting for the server"},
		{">", "USER me", 1, "waiting for the reply to USER me"},
		{">>", "CWD pub", 1, "waiting for the reply to USER me"},
		{">>", "MDTM f", 1, "waiting for the reply to USER me"},
		{"<", "230 logged in", 1, "waiting for the reply to CWD pub"},
		{"<", "250-a", 1, "waiting for the reply to CWD pub"},
		{">", "USER me", 2, "waiting for the reply to USER me"},
		{"<", "250 b", 1, "waiting for the reply to MDTM f"},
		{"<", "213 2026", 1, "waiting for the server"},
		{">", "RETR f", 1, "waiting for the reply to RETR f"},
		{"<", "150 opening", 1, "waiting for the first data"},
		{"<", "226 done", 1, "waiting for the server"},
		{"*", "all connections that the server may have are in use: waiting for one", 0, "all connections that the server may have are in use: waiting for one"},
		{">", "GET ftp://h/f", 0, "waiting for the reply to GET ftp://h/f"},
		{">>", "Authorization: ********", 0, "waiting for the reply to GET ftp://h/f"},
		{"<", "HTTP 200 OK", 0, "waiting for the server"},
	} {
		if tt.mark != "" {
			d.add(ftpexec.Event{Mark: ftpexec.Mark(tt.mark), Text: tt.text, Conn: tt.conn})
		}
		if got := d.String(); got != tt.want {
			t.Errorf("after %s %s: %q, want %q", tt.mark, tt.text, got, tt.want)
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

package download

import (
	"context"
	"errors"
	"net"
	"strings"
	"syscall"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// The tests of this file are about sentences of docs/download.md that nothing else would miss.

// TestAskedOnceMore checks that a server that does not report what it reported before is asked once more, and then
// believed: the file starts over. If all bytes are there, they stay for a later run.
func TestAskedOnceMore(t *testing.T) {
	for _, tt := range []struct {
		verb, reply string
		from, to    int // the questions that it does not answer: one before the rest comes, one after it
		resumed     int64
		err         error
	}{
		{"MDTM", "450 busy", 1, 1, 100_000, nil},
		{"MDTM", "450 busy", 1, 2, 0, nil},
		{"SIZE", "550 no", 2, 2, 100_000, nil},
		{"MDTM", "450 busy", 2, 99, 0, ftpexec.ErrChanged},
		{"SIZE", "450 busy", 2, 99, 0, ftpexec.ErrChanged},
		{"SIZE", "550 no", 2, 99, 0, ftpexec.ErrChanged},
	} {
		k := newKit(t, map[string]string{"/f": body})
		k.leaves("/f", 100_000)
		asked := 0
		k.faulty(func(p *testserver.Conn) testserver.Action {
			if p.Verb == tt.verb {
				if asked++; asked >= tt.from && asked <= tt.to {
					return testserver.Reply(tt.reply)
				}
			}
			return nil
		})
		r, err := k.get("/f", Options{})
		if !errors.Is(err, tt.err) || r.Resumed != tt.resumed || err != nil && r.Kept != int64(len(body)) {
			t.Errorf("%+v: got %+v, %v", tt, r, err)
		}
		if err == nil {
			k.want(map[string]string{"f": body})
		}
	}
}

// TestReachedByAnEarlierRun checks that a server that an earlier run of the file has reached is tried again if it cannot
// be reached.
func TestReachedByAnEarlierRun(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.leaves("/f", 100_000)
	dials := 0
	k.c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if dials++; dials == 1 {
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	if r, err := k.get("/f", Options{}); err != nil || r.Resumed != 100_000 || len(k.waits) != 1 {
		t.Errorf("got %+v, %v after %d retries", r, err, len(k.waits))
	}
}

// TestTextKeepsNothing checks that in ASCII type a cut transfer starts over, and that a run that fails leaves nothing for
// a later one.
func TestTextKeepsNothing(t *testing.T) {
	text := strings.Repeat("a line\r\n", 10_000)
	broken := during(1, testserver.Do(testserver.Cut(20_000, testserver.Closed), testserver.Final(testserver.Reply("426 Broken"))))
	k := newKit(t, map[string]string{"/f": text})
	k.faulty(broken)
	r, err := k.get("/f;type=a", Options{})
	if rests := k.rests(); err != nil || len(k.waits) != 1 || len(rests) > 0 {
		t.Errorf("got %+v, %v after %d retries and REST %q", r, err, len(k.waits), rests)
	}
	k = newKit(t, map[string]string{"/f": text})
	k.faulty(broken)
	if r, err := k.get("/f;type=a", Options{Retries: -1}); err == nil || r.Kept != 0 {
		t.Errorf("got %+v, %v", r, err)
	}
	k.want(map[string]string{})
}

// TestSkippedIsCompared checks that a file that Skip leaves alone is compared with what was given, and that the server is
// not asked for more.
func TestSkippedIsCompared(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.write("f", "another")
	for _, tt := range []struct {
		o    Options
		want error
	}{
		{Options{}, nil},
		{Options{Verify: true}, nil},
		{Options{Sum: sum(t, "sha256:"+sha256Of("another"))}, nil},
		{Options{Size: new(int64(7))}, nil},
		{Options{Sum: sum(t, "sha256:"+sha256Of(body))}, ErrDigest},
		{Options{Size: new(int64(8))}, ftpexec.ErrChanged},
		{Options{Size: new(int64(8)), Sum: sum(t, "sha256:"+sha256Of("another"))}, ftpexec.ErrChanged},
	} {
		tt.o.Skip = true
		r, err := k.get("/f", tt.o)
		if !errors.Is(err, tt.want) || (r.Verified != "") != (err == nil && tt.o.Sum.Algorithm != "") {
			t.Errorf("%+v: got %+v, %v", tt.o, r, err)
		}
	}
	if n := len(k.Commands()); n != 0 {
		t.Errorf("the server received %d commands", n)
	}
	k.want(map[string]string{"f": "another"})
}

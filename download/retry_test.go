package download

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

func TestRetry(t *testing.T) {
	var busy atomic.Bool
	tests := []struct {
		what  string
		fault failure
		waits int
		err   error
		rests []string
	}{
		{"cut once", cut(1, 100_000), 1, nil, []string{"100000"}},
		{"cut each 100000", always("RETR", testserver.EndDataAfter(100_000+overlapSize, testserver.Closed)), 2, nil, []string{"100512", "200512"}},
		{"reset", always("RETR", testserver.EndDataAfter(0, testserver.Reset)), 5, ftpexec.ErrTruncated, nil},
		{"closed before the first greeting", on("", 1, 1, testserver.EndControl(testserver.Closed)), 1, nil, nil},
		{"reset before two greetings", on("", 1, 2, testserver.EndControl(testserver.Reset)), 2, nil, nil},
		{"never a greeting", on("", 1, 99, testserver.EndControl(testserver.Closed)), 2, ftpexec.ErrLost, nil},
		{"421", replies("RETR", "421 Going down"), 5, ftpexec.ErrLost, nil},
		{"450", replies("RETR", "450 Busy"), 5, ftpexec.ErrNotFound, nil},
		{"too many users", replies("PASS", "530 Sorry, too many users"), 5, ftpexec.ErrLogin, nil},
		{"wrong password", replies("PASS", "530 Login incorrect"), 0, ftpexec.ErrLogin, nil},
		{"absent", replies("RETR", "550 No such file"), 0, ftpexec.ErrRefused, nil},
		{"no directory", replies("CWD", "550 No"), 0, ftpexec.ErrRefused, nil},
		{"450 to REST", func(p *testserver.Conn) testserver.Action {
			if p.Verb == "REST" && !busy.Swap(true) {
				return testserver.Reply("450 Busy")
			}
			return cut(1, 100_000)(p)
		}, 2, nil, []string{"100000", "100000"}},
		{"421 to REST", func(p *testserver.Conn) testserver.Action {
			if p.Verb == "REST" && p.Num == 2 {
				return testserver.Sequence(testserver.Reply("421 Not now"), testserver.EndControl(testserver.Closed))
			}
			return cut(1, 100_000)(p)
		}, 2, nil, []string{"100000", "100000"}},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			k := newKit(t, map[string]string{"/d/f": body})
			k.faulty(tt.fault)
			r, err := k.get("/d/f", Options{})
			if tt.err == nil && err != nil || tt.err != nil && err == nil || len(k.waits) != tt.waits || r.Retries != tt.waits {
				t.Errorf("got %v after %d retries and waits of %v, want %v after %d", err, r.Retries, k.waits, tt.err, tt.waits)
			}
			if got := k.rests(); !slices.Equal(got, tt.rests) {
				t.Errorf("REST %q, want %q", got, tt.rests)
			}
			if err == nil {
				k.want(map[string]string{"f": body})
			}
		})
	}
}

// TestRetryUnreached makes a server unreachable until the second retry.
func TestRetryUnreached(t *testing.T) {
	noHost := &net.DNSError{Err: "no such host", Name: "h", IsNotFound: true}
	for _, tt := range []struct {
		err error
		o   Options
		may bool // the run retries
	}{
		{syscall.ECONNREFUSED, Options{}, false}, {syscall.ECONNREFUSED, Options{RetryUnreached: true}, true},
		{syscall.ENETUNREACH, Options{}, false}, {syscall.ENETUNREACH, Options{RetryUnreached: true}, true},
		{syscall.ETIMEDOUT, Options{}, false}, {syscall.ETIMEDOUT, Options{RetryUnreached: true}, true},
		{syscall.ETIMEDOUT, Options{Retries: 5}, false}, {syscall.ETIMEDOUT, Options{Retries: 2, RetryUnreached: true}, true},
		{noHost, Options{}, false}, {noHost, Options{RetryUnreached: true}, false},
	} {
		k := newKit(t, map[string]string{"/f": body})
		dials := 0
		k.c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
			if dials++; dials <= 2 {
				return nil, &net.OpError{Op: "dial", Net: network, Err: tt.err}
			}
			return new(net.Dialer).DialContext(ctx, network, address)
		}
		_, err := k.get("/f", tt.o)
		want := 0
		if tt.may {
			want = 2
		}
		if (err == nil) != tt.may || err != nil && !errors.Is(err, tt.err) || len(k.waits) != want {
			t.Errorf("%v, Retries %d, RetryUnreached %v: %v after %d retries, want %d", tt.err, tt.o.Retries, tt.o.RetryUnreached, err, len(k.waits), want)
		}
		k.c.CloseIdleConnections()
		dials = 0
		if _, err := k.get("/f", Options{Retries: -1, RetryUnreached: true, Existing: Overwrite}); !errors.Is(err, tt.err) || len(k.waits) > 0 {
			t.Errorf("%v without retries: %v after %d", tt.err, err, len(k.waits))
		}
	}
}

// TestRetryWaits checks the pauses between retries.
func TestRetryWaits(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.faulty(replies("RETR", "450 Busy"))
	if _, err := k.get("/f", Options{Retries: 8}); err == nil {
		t.Error("no error")
	}
	if len(k.waits) != 8 || len(k.events) != 8 {
		t.Fatalf("waits %v, events %v", k.waits, k.events)
	}
	for i, got := range k.waits {
		if mean := min(time.Second<<i, time.Minute); got < mean/2 || got > mean*3/2 {
			t.Errorf("wait %d is %v, want about %v", i, got, mean)
		}
		if e := k.events[i]; e.Kind != Noted || e.Text != fmt.Sprintf("%d of 8", i+1) || e.Wait != got || e.Err == nil {
			t.Errorf("event %d is %+v", i, e)
		}
	}
}

// TestRetryNever checks that a run does not retry after its context was cancelled.
func TestRetryNever(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	waiting(t, func(context.Context, time.Duration) error { t.Error("it waits"); return nil })
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := File(ctx, k.c, k.url("/f"), k.path("f"), nil); !errors.Is(err, context.Canceled) {
		t.Errorf("canceled: %v", err)
	}
	wantNames(t, k.dir)
}

// TestRetryWithoutREST checks that a run on a server without REST starts over, says so, and ends.
func TestRetryWithoutREST(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	without := replies("REST", "502 What?")
	k.faulty(func(p *testserver.Conn) testserver.Action {
		if p.Transfer == 1 {
			return testserver.EndDataAfter(1000, testserver.Closed)
		}
		return without(p)
	})
	if _, err := k.get("/f", Options{}); err != nil || !k.told(Noted, "cannot start in the middle") {
		t.Errorf("got %v, events %v", err, k.events)
	}
	k.want(map[string]string{"f": body})

	k.faulty(func(p *testserver.Conn) testserver.Action {
		if p.Verb == "RETR" {
			return testserver.EndDataAfter(1000, testserver.Closed)
		}
		return without(p)
	})
	if _, err := k.get("/f", Options{Existing: Overwrite}); !errors.Is(err, ftpexec.ErrFewer) || len(k.waits) != 1 { // twice the same
		t.Errorf("always cut: %v, waits %v", err, k.waits)
	}
}

// TestRetryOfChangingFile changes the size of the server's file at each try.
func TestRetryOfChangingFile(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	n := 0
	k.faulty(func(p *testserver.Conn) testserver.Action {
		switch p.Verb {
		case "MDTM":
			n++
			return testserver.Reply("213 " + kitTime.Add(time.Duration(n)*time.Second).Format("20060102150405"))
		case "RETR":
			return testserver.EndDataAfter(1000, testserver.Closed)
		}
		return nil
	})
	if _, err := k.get("/f", Options{}); !errors.Is(err, ftpexec.ErrChanged) {
		t.Errorf("got %v, want ftpexec.ErrChanged", err)
	}
	restarts := 0
	for _, e := range k.events {
		if strings.HasSuffix(e.Text, "starting over") {
			restarts++
		}
	}
	if restarts != 3 {
		t.Errorf("it started over %d times, want 3", restarts)
	}
}

// TestToCannotRetry changes the server's file, or makes the server refuse REST, after some bytes were written. To must
// not write any byte twice.
func TestToCannotRetry(t *testing.T) {
	tests := []struct {
		what, path string
		fault      failure
		err        error
	}{
		{"no REST", "/f", replies("REST", "502 What?"), ftpexec.ErrNoRestart},
		{"another time", "/f", on("MDTM", 2, 2, testserver.Reply("213 20220101000000")), ftpexec.ErrChanged},
		{"no size", "/f", replies("SIZE", "502 What?"), ftpexec.ErrTruncated},
		{"text", "/f;type=a", func(*testserver.Conn) testserver.Action { return nil }, ftpexec.ErrTruncated},
	}
	for _, tt := range tests {
		k := newKit(t, map[string]string{"/f": body})
		k.faulty(func(p *testserver.Conn) testserver.Action {
			if p.Transfer == 1 {
				return testserver.Sequence(testserver.EndDataAfter(1000, testserver.Closed), testserver.ReplaceReply(testserver.Reply("426 Broken")))
			}
			return tt.fault(p)
		})
		var got bytes.Buffer
		if _, err := To(t.Context(), k.c, k.url(tt.path), &got, nil); !errors.Is(err, tt.err) || got.Len() > 1000 {
			t.Errorf("%s: %d bytes, %v, want %v", tt.what, got.Len(), err, tt.err)
		}
	}
}

// TestRetryForgetsREST refuses a RETR after a REST, which the server then applies to the next RETR on the connection.
func TestRetryForgetsREST(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body, "/g": large})
	k.leaves("/f", 100_000)
	k.c.MaxIdle = 1
	k.faulty(replies("RETR", "450 Busy"))
	_, err := File(t.Context(), k.c, k.url("/f"), k.path("f"), &Options{Retries: -1})
	if !errors.Is(err, ftpexec.ErrRefused) && !errors.Is(err, ftpexec.ErrNotFound) {
		t.Errorf("got %v", err)
	}
	k.faulty(nil)
	if _, err := File(t.Context(), k.c, k.url("/g"), k.path("g"), &Options{Retries: -1}); err != nil || read(t, k.path("g")) != large {
		t.Errorf("the next file: %v", err)
	}
}

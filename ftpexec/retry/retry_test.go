package retry

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/ftpexec"
)

// failure returns an ftpexec.Error at a stage, wrapped.
func failure(stage ftpexec.Stage, code int, err error) error {
	return fmt.Errorf("wrapped: %w", &ftpexec.Error{Stage: stage, Code: code, Err: err})
}

// TestTemporary checks which errors are retried: if the server was reached before, if it was not, with Retries set, and
// with ReturnCrowded.
func TestTemporary(t *testing.T) {
	for _, tt := range []struct {
		err                               error
		reached, never, connect, returned bool
	}{
		{errors.New("other"), false, false, false, false},
		{&Judged{Err: errors.New("other"), Passes: true}, true, true, true, true},
		{&Judged{Err: failure("transfer", 450, ftpexec.ErrTimeout)}, false, false, false, false},
		{failure("transfer", 550, ftpexec.ErrNotFound), false, false, false, false},
		{failure("transfer", 426, ftpexec.ErrLost), true, true, true, true},
		{failure("connect", 0, ftpexec.ErrConnect), true, false, true, false},
		{failure("connect", 0, ftpexec.ErrLost), true, true, true, false},
		{failure("connect", 421, ftpexec.ErrTooMany), true, true, true, false},
		{failure("connect", 421, ftpexec.ErrRefused), true, true, true, true},
	} {
		for _, row := range []struct {
			name    string
			policy  Policy
			reached bool
			want    bool
		}{
			{"reached", Policy{}, true, tt.reached},
			{"never reached", Policy{}, false, tt.never},
			{"Unreached", Policy{Unreached: true}, false, tt.connect},
			{"ReturnCrowded", Policy{ReturnCrowded: true}, false, tt.returned},
		} {
			r := New(row.policy)
			r.Reached.Store(row.reached)
			if got := r.temporary(tt.err); got != row.want {
				t.Errorf("%v, %s: got %v, want %v", tt.err, row.name, got, row.want)
			}
		}
	}
}

var lost = failure("transfer", 426, ftpexec.ErrLost)

// TestAgain checks the tries and the waits: waits double up to a minute and vary by half, and bytes reset both.
func TestAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tries []int
		r := New(Policy{Retries: 9, Tell: func(_ error, try int, _ time.Duration) { tries = append(tries, try) }})
		for try := range 9 {
			mean := min(time.Second<<try, time.Minute)
			begun := time.Now()
			if err := r.Again(t.Context(), lost, 0); err != nil {
				t.Fatalf("try %d: %v", try, err)
			}
			if waited := time.Since(begun); waited < mean/2 || waited >= mean+mean/2 {
				t.Errorf("try %d waited %v, want about %v", try, waited, mean)
			}
		}
		if err := r.Again(t.Context(), lost, 0); err != lost {
			t.Errorf("after nine retries: got %v", err)
		}
		if err := r.Again(t.Context(), lost, leastBytes); err != nil {
			t.Errorf("after progress: got %v", err)
		}
		if got := fmt.Sprint(tries); got != "[1 2 3 4 5 6 7 8 9 1]" {
			t.Errorf("tries %v", got)
		}
	})
}

// TestNoProgress makes a server send a few bytes before each failure. They must count as progress for ten minutes, and
// then no longer.
func TestNoProgress(t *testing.T) {
	for _, tt := range []struct {
		bytes int64
		after time.Duration
		want  int // failures in a row in the end
	}{
		{1, leastTime - 2*time.Second, 1},
		{1, leastTime, 2},
		{0, 0, 2},
		{-1, 0, 2},
		{leastBytes - 1, leastTime, 1},
		{leastBytes - 2, leastTime, 2},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := New(Policy{})
			r.fail(1)
			<-time.After(tt.after)
			if got := r.fail(tt.bytes); got != tt.want {
				t.Errorf("%d bytes after %v: %d failures, want %d", tt.bytes, tt.after, got, tt.want)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) { // enough bytes begin a new period
		r := New(Policy{})
		for range 3 {
			<-time.After(leastTime)
			if got := r.fail(leastBytes); got != 1 {
				t.Errorf("enough bytes: %d failures", got)
			}
		}
		r.fail(1)
		<-time.After(leastTime)
		if got := r.fail(1); got != 2 {
			t.Errorf("two bytes in a period: %d failures", got)
		}
	})
}

// TestRepeated checks that the same refusal of two transfers in a row, both without a byte, ends the retries.
func TestRepeated(t *testing.T) {
	said := func(reply string, causes ...error) error {
		return &ftpexec.Error{Stage: "transfer", Code: 426, Reply: reply, Err: errors.Join(append(causes, ftpexec.ErrTruncated)...)}
	}
	const why = "426 Transfer aborted. Operation not permitted"
	for _, tt := range []struct {
		name  string
		errs  [2]error
		again bool
	}{
		{"twice", [2]error{said(why, ftpexec.ErrNoData), said(why, ftpexec.ErrNoData)}, false},
		{"two reasons", [2]error{said("426 broken", ftpexec.ErrNoData), said(why, ftpexec.ErrNoData)}, true},
		{"some bytes", [2]error{said(why), said(why)}, true},
		{"more than announced, twice", [2]error{said("", ftpexec.ErrMore), said("", ftpexec.ErrMore, errors.New("other size"))}, false},
		{"fewer than announced, twice", [2]error{said("226 x", ftpexec.ErrFewer), said("226 x", ftpexec.ErrFewer)}, false},
		{"fewer than announced, but others", [2]error{said("226 x", ftpexec.ErrFewer), said("226 x", ftpexec.ErrFewer, errors.New("5 of 8"))}, true},
		{"more, then fewer", [2]error{said("", ftpexec.ErrMore), said("", ftpexec.ErrFewer)}, true},
		{"some bytes of the second", [2]error{said(why, ftpexec.ErrNoData), said(why)}, true},
	} {
		synctest.Test(t, func(t *testing.T) {
			r := New(Policy{})
			r.Reached.Store(true)
			for i, err := range tt.errs {
				if got, want := r.Again(t.Context(), err, 0) == nil, i == 0 || tt.again; got != want {
					t.Errorf("%s: error %d is tried again: %v", tt.name, i+1, got)
				}
			}
		})
	}
}

// TestEnded checks that the cause of the end of a context becomes the reason of the error, before and during a wait,
// and that the rest of the error stays.
func TestEnded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		why := errors.New("why")
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Millisecond, func() { cancel(why) })
		for range 2 {
			refused := fmt.Errorf("wrapped: %w", &ftpexec.Error{Stage: "connect", Op: "connect", URL: "ftp://h/f", Code: 421, Reply: "421 later", Hint: "wait", Err: ftpexec.ErrTooMany})
			r := New(Policy{})
			err := r.Again(ctx, refused, 0)
			if !errors.Is(err, why) || !errors.Is(err, context.Canceled) || err.Error() != "ftp://h/f: why (421 later)" || r.temporary(err) {
				t.Errorf("got %v", err)
			}
			if err := r.Again(ctx, &Judged{Err: errors.New("other"), Passes: true}, 0); err != why {
				t.Errorf("an error of another kind: got %v", err)
			}
		}
	})
}

// TestDo checks how often Do calls the function, for each kind of Retries.
func TestDo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for retries, want := range map[int]int{-1: 1, 0: 6, 2: 3} {
			r := New(Policy{Retries: retries})
			calls := 0
			err := r.Do(t.Context(), func() error { calls++; return lost })
			if err != lost || calls != want || r.Reached.Load() {
				t.Errorf("%d retries: %d calls, %v", retries, calls, err)
			}
			if err := r.Do(t.Context(), func() error { return nil }); err != nil || !r.Reached.Load() {
				t.Errorf("success: %v", err)
			}
		}
	})
}

// TestNoService checks which errors are about the server.
func TestNoService(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want bool
	}{
		{nil, false},
		{fs.ErrNotExist, false},
		{failure("connect", 421, ftpexec.ErrTooMany), true},
		{failure("login", 530, ftpexec.ErrLogin), true},
		{failure("transfer", 425, ftpexec.ErrRefused), true},
		{failure("transfer", 0, ftpexec.ErrConnect), true},
		{failure("transfer", 0, ftpexec.ErrTimeout), true},
		{lost, true},
		{failure("transfer", 550, ftpexec.ErrNotFound), false},
		{failure("connect", 0, syscall.EMFILE), false},
	} {
		if got := NoService(tt.err); got != tt.want {
			t.Errorf("%v: got %v", tt.err, got)
		}
	}
}

package download

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ftpfetch/ftpexec"
)

// retrier decides whether and when to try again. It is safe for concurrent use.
type retrier struct {
	o       *Options
	reached atomic.Bool // the server has answered

	mu     sync.Mutex
	failed int // tries in a row without progress
}

func newRetrier(o *Options) *retrier { return &retrier{o: o} }

// pause returns how long to wait before the given try: about 1 s, twice as long each time, at most about 60 s. It varies
// by half, so that many clients do not return at the same moment.
func pause(try int) time.Duration {
	mean := min(time.Second<<min(try-1, 6), time.Minute)
	return mean/2 + rand.N(mean)
}

// again waits and returns nil if err is worth another try; else it returns err.
// Progress resets the count.
func (r *retrier) again(ctx context.Context, err error, progress bool) error {
	try, d := r.count(err, progress)
	if try == 0 {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx) // the end of ctx is the reason, not err
	}
	r.o.notify(Event{Kind: Retrying, Err: err, Try: try, Tries: *r.o.Retries, Wait: d})
	return r.o.Wait(ctx, d)
}

// count counts a failed try. It returns the number of the next try and how long to
// wait for it, or 0 if there is no next try.
func (r *retrier) count(err error, progress bool) (try int, wait time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if progress {
		r.failed = 0
	}
	if !r.temporary(err) || r.failed >= *r.o.Retries {
		return 0, 0
	}
	r.failed++
	return r.failed, pause(r.failed)
}

// final marks an error that must not be retried.
type final struct{ error }

func (e *final) Unwrap() error { return e.error }

// passing marks an error that may not recur.
type passing struct{ error }

func (e *passing) Unwrap() error { return e.error }

// temporary reports whether a retry may succeed after err. A server that was never
// reached is more likely a wrong address; see Options.RetryConnect. One that closes
// the connection before its greeting has been reached; if crowded errors go back to
// the caller, so does this one, which may be one.
func (r *retrier) temporary(err error) bool {
	var e *ftpexec.Error
	var last *final
	var first *passing
	if errors.As(err, &first) {
		return true
	}
	if errors.As(err, &last) || !errors.As(err, &e) || !e.Temporary() || r.o.ReturnCrowded && e.Crowded() {
		return false
	}
	return r.reached.Load() || r.o.RetryConnect || e.Stage != ftpexec.StageConnect || e.Reply != nil ||
		!r.o.ReturnCrowded && errors.Is(err, ftpexec.ErrLost)
}

// do calls f until it succeeds or fails for good.
func (r *retrier) do(ctx context.Context, f func() error) error {
	for {
		err := f()
		if err == nil {
			r.reached.Store(true)
			return nil
		}
		if err := r.again(ctx, err, false); err != nil {
			return err
		}
	}
}

// Retry calls f until it succeeds or fails for good, with the pauses and the
// number of retries of a download. Of o, which may be nil, it uses Retries,
// RetryConnect, Wait, Notify and ReturnCrowded.
func Retry(ctx context.Context, o *Options, f func() error) error {
	return newRetrier(o.orDefault(nil)).do(ctx, f)
}

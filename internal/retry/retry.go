// Package retry decides whether and when something on an FTP server is tried again.
package retry

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/guard"
	"example.com/ftpfetch/internal/local/localfile"
)

// Policy says what is retried.
type Policy struct {
	// Retries is the most retries in a row without progress; see Count. If it is not 0, a server that was never reached is
	// tried again too.
	Retries int
	// ReturnCrowded returns an [ftpexec.ErrTooMany] at once, for a caller that has other things to do.
	ReturnCrowded bool
	// Tell is called, if not nil, before each wait.
	Tell func(err error, try int, wait time.Duration)
}

// Count returns what a number of retries means: 0 is five, and less than 0 none.
func Count(n int) int {
	if n == 0 {
		return 5
	}
	return max(n, 0)
}

// Retrier counts the failures of one job. It is safe for concurrent use.
type Retrier struct {
	Policy
	Reached atomic.Bool // the server has answered

	mu     sync.Mutex
	failed int       // tries in a row without progress
	begun  time.Time // when the current period began
	bytes  int64     // that have come in it
}

// Fewer bytes than this in a period are no progress. Without that rule, a server that sends a few bytes and fails, again and
// again, would hold a job for ever. [ftpexec.Client.MinRate] asks the same of a connection.
const (
	leastBytes = 17 * 600
	leastTime  = 10 * time.Minute
)

// New returns a Retrier with p.
func New(p Policy) *Retrier {
	return &Retrier{Policy: p, begun: time.Now()}
}

// fail counts a failure after n bytes. It returns how many there were in a row without progress.
func (r *Retrier) fail(n int64) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.bytes += max(0, n)
	enough := r.bytes >= leastBytes
	late := time.Since(r.begun) >= leastTime
	if n > 0 && (enough || !late) {
		r.failed = 0
	}
	if enough && late {
		r.begun = time.Now()
		r.bytes = 0
	}
	r.failed++
	return r.failed
}

// Wait waits before a retry. A test replaces it.
var Wait = Sleep

// Again waits and returns nil if err, before which the last try brought n bytes, is worth another try; else it returns err.
// If ctx ends, an [ftpexec.Error] keeps all but its reason, which is the end of ctx.
// Progress resets the count. The wait is about 1 s, twice as long each time, at most about 60 s. It varies by half, so
// that many clients do not return at the same moment.
func (r *Retrier) Again(ctx context.Context, err error, n int64) error {
	if !r.temporary(err) {
		return err
	}
	try := r.fail(n)
	switch {
	case try > Count(r.Retries):
		return err
	case ctx.Err() != nil:
		return ended(ctx, err)
	}
	mean := min(time.Second<<min(try-1, 6), time.Minute)
	wait := mean/2 + rand.N(mean)
	if r.Tell != nil {
		r.Tell(err, try, wait)
	}
	if stop := Wait(ctx, wait); stop == nil || ctx.Err() == nil {
		return stop
	}
	return ended(ctx, err)
}

// ended returns err with the end of ctx as its reason.
func ended(ctx context.Context, err error) error {
	last, ok := errors.AsType[*ftpexec.Error](err)
	if !ok {
		return context.Cause(ctx)
	}
	e := *last
	e.Err = guard.Stop(ctx)
	e.Hint = ""
	return &e
}

// Known marks an error as one that may pass, or may not, whatever the error says.
type Known struct {
	Err    error
	Passes bool
}

func (e *Known) Error() string { return e.Err.Error() }
func (e *Known) Unwrap() error { return e.Err }

// Retryable is what [ftpexec.Retryable] reports.
func (e *Known) Retryable() bool { return e.Passes }

// temporary reports whether a retry may succeed after err. If no server was ever reached, the address is probably wrong; see
// Policy.Retries. A server that closes the connection before its greeting has been reached. It may have too many
// connections, so with ReturnCrowded that is not retried either.
func (r *Retrier) temporary(err error) bool {
	if known, ok := errors.AsType[*Known](err); ok {
		return known.Passes
	}
	e, ok := errors.AsType[*ftpexec.Error](err)
	switch {
	case !ok || !ftpexec.Retryable(err):
		return false
	case r.ReturnCrowded && errors.Is(err, ftpexec.ErrTooMany):
		return false
	case r.Reached.Load() || r.Retries > 0:
		return true
	}
	reached := e.Stage != ftpexec.StageConnect || e.Code != 0
	return reached || !r.ReturnCrowded && errors.Is(err, ftpexec.ErrLost)
}

// Do calls f until it succeeds or fails for good.
func (r *Retrier) Do(ctx context.Context, f func() error) error {
	for err := f(); err != nil; err = f() {
		if err := r.Again(ctx, err, 0); err != nil {
			return err
		}
	}
	r.Reached.Store(true)
	return nil
}

// NoService reports whether err is about the server rather than about one file: it cannot be reached, refuses the login, or
// fails to answer or to send data. A run gives up a server after a few such errors in a row.
func NoService(err error) bool {
	e, ok := errors.AsType[*ftpexec.Error](err)
	if !ok || localfile.Failed(err) {
		return false
	}
	return e.Stage == ftpexec.StageConnect || e.Stage == ftpexec.StageLogin || e.Code == 425 ||
		errors.Is(err, ftpexec.ErrConnect) || errors.Is(err, ftpexec.ErrTimeout) ||
		errors.Is(err, ftpexec.ErrLost)
}

// Sleep waits for d, or until ctx ends.
func Sleep(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return context.Cause(ctx)
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Every calls f at each interval, and starts no goroutine before the first interval has passed. stop ends that, and waits
// for f to return. If f panics, stop panics: f may be a function of the caller, and stop is in the caller's goroutine.
func Every(interval time.Duration, f func()) (stop func()) {
	var calling sync.Mutex
	var timer *time.Timer
	var failed error
	ended := false
	calling.Lock() // until there is a timer
	defer calling.Unlock()
	timer = time.AfterFunc(interval, func() {
		calling.Lock()
		defer calling.Unlock()
		if ended || failed != nil {
			return
		}
		failed = guard.Do(func() error { f(); return nil })
		timer.Reset(interval)
	})
	return func() {
		timer.Stop()
		calling.Lock()
		defer calling.Unlock()
		ended = true
		if failed != nil {
			panic(failed)
		}
	}
}

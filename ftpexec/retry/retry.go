// Package retry decides whether and when to retry a request to an FTP server.
package retry

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/guard"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/timing"
)

// Policy says what to retry.
type Policy struct {
	Retries   int  // the maximum number of retries in a row without progress; see Count
	Unreached bool // also retry a server that was never reached
	// ReturnCrowded returns [ftpexec.ErrTooMany] at once, for a caller that can do other work meanwhile.
	ReturnCrowded bool
	// Tell, if not nil, is called before each wait.
	Tell func(err error, try int, wait time.Duration)
}

// Count returns the number of retries that n means: 0 means five, and less than 0 none.
func Count(n int) int {
	if n == 0 {
		return 5
	}
	return max(n, 0)
}

// Retrier counts the failures of one job. It is safe for concurrent use.
type Retrier struct {
	Policy
	Reached atomic.Bool // the server was reached

	mu     sync.Mutex
	failed int       // tries in a row without progress
	begun  time.Time // when the current period began
	bytes  int64     // bytes that arrived in it
	said   string    // how the last try ended, if the server thinks that it has done all; see outcome
}

// Fewer than leastBytes in leastTime are no progress. Without this rule, a server that sends a few bytes and fails,
// again and again, would hold a job for ever. [ftpexec.Client.MinRate] requires the same rate of a connection.
const (
	leastTime  = ftpexec.DefaultMinRateTime
	leastBytes = ftpexec.DefaultMinRate * int64(leastTime/time.Second)
)

// New returns a Retrier with p.
func New(p Policy) *Retrier {
	return &Retrier{Policy: p, begun: time.Now()}
}

// fail counts a failure after n bytes. It returns the number of failures in a row without progress.
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

// tooMany is the outcome of a transfer of more bytes than announced.
const tooMany = "more"

// outcome returns how a transfer ended that the server began and, as it thinks, ended well or for good: with the same
// refusal and without a byte, with more bytes than announced, however many, or with fewer that it confirms. It is "" for
// any other error.
func outcome(err error) string {
	e, ok := errors.AsType[*ftpexec.Error](err)
	switch {
	case !ok:
	case errors.Is(err, ftpexec.ErrNoData):
		return e.Reply
	case errors.Is(err, ftpexec.ErrMore):
		return tooMany
	case errors.Is(err, ftpexec.ErrFewer):
		return e.Err.Error()
	}
	return ""
}

// Anew forgets a transfer of too few bytes, because the server has another file now. A file that grows is another one each
// time, and stays too long.
func (r *Retrier) Anew() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.said != tooMany {
		r.said = ""
	}
}

// repeated reports whether two tries in a row had the same outcome. Nothing that passes was the cause.
func (r *Retrier) repeated(err error) bool {
	said := outcome(err)
	r.mu.Lock()
	defer r.mu.Unlock()
	again := said != "" && said == r.said
	r.said = said
	return again
}

// Again decides whether to retry after err. If so, it waits and returns nil; else it returns err. n is how many bytes
// the last try brought; progress resets the count of failures. If ctx ends, Again returns err with the end of ctx as
// the reason. The wait is about 1 s at first, doubles each time, and is at most about 60 s. It varies by half, so that
// many clients do not return at the same moment.
func (r *Retrier) Again(ctx context.Context, err error, n int64) error {
	if !r.temporary(err) {
		return err
	}
	try := r.fail(n)
	switch {
	case try > r.most(err):
		return err
	case r.repeated(err):
		return twice(err)
	case ctx.Err() != nil:
		return ended(ctx, err)
	}
	mean := min(time.Second<<min(try-1, 6), time.Minute)
	wait := mean/2 + rand.N(mean)
	if r.Tell != nil {
		r.Tell(err, try, wait)
	}
	if stop := timing.Wait(ctx, wait); stop == nil || ctx.Err() == nil {
		return stop
	}
	return ended(ctx, err)
}

// twice returns err, and says that it came twice.
func twice(err error) error {
	last, ok := errors.AsType[*ftpexec.Error](err)
	if !ok {
		return err
	}
	e := *last
	e.Err = fmt.Errorf("%w, twice in a row", e.Err)
	return &e
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

// Judged says whether an error may pass, whatever the error itself says.
type Judged struct {
	Err    error
	Passes bool
}

func (e *Judged) Error() string { return e.Err.Error() }
func (e *Judged) Unwrap() error { return e.Err }

// Retryable makes [ftpexec.Retryable] report Passes.
func (e *Judged) Retryable() bool { return e.Passes }

// MostClosed is how often to try again, without Unreached, if a server that was never reached closes the connection before
// its greeting. It may have too many connections, but there may also be no server behind what accepts them.
const MostClosed = 2

// most returns how often to try again after err.
func (r *Retrier) most(err error) int {
	e, ok := errors.AsType[*ftpexec.Error](err)
	most := Count(r.Retries)
	if ok && !r.Reached.Load() && !r.Unreached && e.Stage == ftpexec.StageConnect && e.Code == 0 {
		return min(MostClosed, most)
	}
	return most
}

// temporary reports whether a retry may succeed after err. If the server was never reached, the address is probably
// wrong; see Policy.Unreached. A server that closes the connection before its greeting was reached. It may have too many
// connections, so with ReturnCrowded temporary returns false for it too.
func (r *Retrier) temporary(err error) bool {
	if known, ok := errors.AsType[*Judged](err); ok {
		return known.Passes
	}
	e, ok := errors.AsType[*ftpexec.Error](err)
	switch {
	case !ok || !ftpexec.Retryable(err):
		return false
	case r.ReturnCrowded && errors.Is(err, ftpexec.ErrTooMany):
		return false
	case r.Reached.Load() || r.Unreached:
		return true
	}
	reached := e.Stage != ftpexec.StageConnect || e.Code != 0
	return reached || !r.ReturnCrowded && errors.Is(err, ftpexec.ErrLost)
}

// Do calls f until it succeeds or must not be retried.
func (r *Retrier) Do(ctx context.Context, f func() error) error {
	for err := f(); err != nil; err = f() {
		if err := r.Again(ctx, err, 0); err != nil {
			return err
		}
	}
	r.Reached.Store(true)
	return nil
}

// NoService reports whether err is about the server rather than about one file: the server cannot be reached, refuses
// the login, or does not reply or send data. A run gives up a server after a few such errors in a row. A server that has
// replied 2yz at the end of a transfer has done what it could, although no data came.
func NoService(err error) bool {
	e, ok := errors.AsType[*ftpexec.Error](err)
	if !ok || localfile.Failed(err) {
		return false
	}
	return e.Stage == ftpexec.StageConnect || e.Stage == ftpexec.StageLogin || e.Code == 425 ||
		errors.Is(err, ftpexec.ErrConnect) || errors.Is(err, ftpexec.ErrTimeout) ||
		errors.Is(err, ftpexec.ErrLost) && e.Code/100 != 2
}

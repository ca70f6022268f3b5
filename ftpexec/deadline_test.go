package ftpexec_test

import (
	"context"
	"errors"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/ftpexec"
)

// early is a context whose deadline passes an instant before it ends.
type early struct {
	context.Context
	deadline time.Time
}

func (e early) Deadline() (time.Time, bool) { return e.deadline, true }

// A dialer watches its context's deadline itself. If it is first to notice, the error is still the context's.
func TestDeadlineOfADialer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Microsecond, func() { cancel(context.DeadlineExceeded) })
		c := &ftpexec.Client{MaxIdle: -1, Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
		}}
		_, err := c.Do(early{ctx, time.Now()}, &ftpexec.Request{URL: parse(t, "ftp://h/f")})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the context's", err)
		}
	})
}

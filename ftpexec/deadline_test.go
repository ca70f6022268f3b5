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

// early is a context whose deadline is over an instant before it ends.
type early struct {
	context.Context
	deadline time.Time
}

func (e early) Deadline() (time.Time, bool) { return e.deadline, true }

// A dialer keeps its context's deadline by itself. Where it is the first to do so, that is the context's end.
func TestDeadlineOfADialer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancelCause(t.Context())
		time.AfterFunc(time.Microsecond, func() { cancel(context.DeadlineExceeded) })
		c := &ftpexec.Client{Dial: func(context.Context, string, string) (net.Conn, error) {
			return nil, &net.OpError{Op: "dial", Net: "tcp", Err: os.ErrDeadlineExceeded}
		}}
		_, err := c.Open(early{ctx, time.Now()}, parse(t, "ftp://h/f"))
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, want the context's", err)
		}
	})
}

package wire

import (
	"errors"
	"io"
	"net"
	"os"
	"testing"
	"testing/synctest"
	"time"
)

// A deadline that is set while a call waits takes effect, whether it is earlier, later or none.
func TestDeadlineSetMeanwhile(t *testing.T) {
	for _, tt := range []struct {
		set  time.Duration // from the beginning, after a second; 0: none
		want time.Duration // when the Read ends
	}{{-time.Hour, time.Second}, {2 * time.Second, 2 * time.Second}, {time.Hour, time.Hour}, {0, 24 * time.Hour}} {
		synctest.Test(t, func(t *testing.T) {
			here, there := net.Pipe()
			c := &timed{Conn: here}
			start := time.Now()
			_ = c.SetReadDeadline(start.Add(time.Minute))
			time.AfterFunc(time.Second, func() {
				at := time.Time{}
				if tt.set != 0 {
					at = start.Add(tt.set)
				}
				_ = c.SetReadDeadline(at)
			})
			time.AfterFunc(24*time.Hour, func() { there.Close() })
			want := os.ErrDeadlineExceeded
			if tt.set == 0 {
				want = io.EOF
			}
			if _, err := c.Read(make([]byte, 1)); !errors.Is(err, want) {
				t.Errorf("%v: got %v, want %v", tt.set, err, want)
			}
			if got := time.Since(start); got != tt.want {
				t.Errorf("%v: ended after %v, want %v", tt.set, got, tt.want)
			}
			here.Close()
			<-time.After(48 * time.Hour)
		})
	}
}

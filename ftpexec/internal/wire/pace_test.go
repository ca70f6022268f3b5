package wire

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// drip is a number of bytes that a server sends after a pause.
type drip struct {
	after time.Duration
	bytes int
}

// TestMinRate has a server send drips to a reader that pauses after each Read.
func TestMinRate(t *testing.T) {
	for _, tt := range []struct {
		name   string
		rate   int64
		reader time.Duration // its pause after each Read
		drips  []drip
		want   string        // the error; "" for none
		at     time.Duration // when the reader has it
	}{
		{name: "no least rate", drips: drips(10, 59*time.Second, 1)},
		{name: "no least rate, nothing comes", drips: []drip{{2 * time.Minute, 1}}, want: "timed out: no data for 1m", at: time.Minute},
		{name: "a byte a minute", rate: 1, drips: drips(10, 59*time.Second, 1), want: "timed out: 0 bytes in 30s, fewer than 1 per second", at: 30 * time.Second},
		{name: "just too slow", rate: 10, drips: drips(100, 1100*time.Millisecond, 10), want: "timed out: 270 bytes in 30s, fewer than 10 per second", at: 30 * time.Second},
		{name: "just fast enough", rate: 10, drips: drips(100, 1100*time.Millisecond, 12)},
		{name: "fast, then nothing", rate: 10, drips: []drip{{time.Second, 4000}, {40 * time.Second, 1}}, want: "timed out: 0 bytes in 30s, fewer than 10 per second", at: 31 * time.Second},
		{name: "a pause in between", rate: 10, drips: append(drips(50, time.Second, 20), append([]drip{{15 * time.Second, 1}}, drips(50, time.Second, 40)...)...)},
		{name: "a slow reader", rate: 10, reader: time.Hour, drips: drips(20, 0, 1)},
		{name: "a slow reader and a fast server", rate: 10, reader: time.Hour, drips: drips(100, 4*time.Second, 1)},
		{name: "a slow reader that has to wait all the same", rate: 10, reader: time.Hour, drips: append(drips(1, 4*time.Second, 1), drips(100, time.Hour+4*time.Second, 1)...),
			want: "timed out: 7 bytes in 30s, fewer than 10 per second", at: 7*(time.Hour+4*time.Second) + 2*time.Second},
	} {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				here, there := net.Pipe()
				var server sync.WaitGroup
				defer server.Wait()
				server.Go(func() {
					defer there.Close()
					for _, d := range tt.drips {
						<-time.After(d.after)
						if _, err := there.Write(make([]byte, d.bytes)); err != nil {
							return
						}
					}
				})
				c := New(Config{ConnectTimeout: time.Second, Timeout: time.Minute, MinRate: tt.rate, RateTime: 30 * time.Second})
				d := c.openData(t.Context(), func(context.Context) (net.Conn, error) { return here, nil })
				defer d.Close()
				start := time.Now()
				err := readAll(d, tt.drips, tt.reader)
				if tt.want == "" && err != nil || tt.want != "" && (!errors.Is(err, ErrTimeout) || err.Error() != tt.want) {
					t.Fatalf("error %v, want %q", err, tt.want)
				}
				if at := time.Since(start); tt.want != "" && at != tt.at {
					t.Errorf("after %v, want %v", at, tt.at)
				}
			})
		})
	}
}

// drips returns n equal drips.
func drips(n int, after time.Duration, bytes int) []drip {
	all := make([]drip, n)
	for i := range all {
		all[i] = drip{after, bytes}
	}
	return all
}

// readAll reads until the end, with a pause after each Read.
func readAll(r io.Reader, drips []drip, pause time.Duration) error {
	left := 0
	for _, d := range drips {
		left += d.bytes
	}
	for left > 0 {
		n, err := r.Read(make([]byte, 4096))
		if err != nil {
			return err
		}
		left -= n
		<-time.After(pause)
	}
	return nil
}

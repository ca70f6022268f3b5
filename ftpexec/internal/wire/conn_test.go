package wire

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// A failed data connection shortens the wait for the reply to its transfer, but for no other.
func TestFailedDataIsForgotten(t *testing.T) {
	here, there := net.Pipe()
	defer there.Close()
	c := New(Config{Timeout: time.Hour})
	if err := c.adopt(here); err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	failed := errors.New("refused")
	c.dataFailed(failed)
	if err := c.late(time.Hour); !errors.Is(err, failed) {
		t.Errorf("during its transfer: %v, want %v", err, failed)
	}
	stop := c.Begin(t.Context())
	defer stop()
	if err := c.late(time.Hour); !errors.Is(err, ErrTimeout) || errors.Is(err, failed) {
		t.Errorf("in the next operation: %v, want ErrTimeout", err)
	}
}

// A transfer may take long to start. Another reply of a flight that does not come is lost.
func TestPatience(t *testing.T) {
	size, mdtm, retr := Line{Text: "SIZE f"}, Line{Text: "MDTM f"}, Line{Text: "RETR f", Transfer: true}
	for _, tt := range []struct {
		out  []Line
		size int
		want time.Duration
	}{
		{[]Line{size, mdtm}, 2, time.Minute}, // no reply has come yet
		{[]Line{mdtm, retr}, 3, aheadTimeout},
		{[]Line{retr}, 3, time.Minute},
		{[]Line{size}, 1, time.Minute},
	} {
		c := &Conn{cfg: Config{Timeout: time.Minute}, out: tt.out, flightSize: tt.size}
		if got := c.patience(); got != tt.want {
			t.Errorf("%v of %d: %v, want %v", tt.out, tt.size, got, tt.want)
		}
	}
}

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

// Data connections offer the key exchange that the server has already accepted, because a HelloRetryRequest costs a
// round trip.
func TestDataTLSOffersTheAgreedKeyExchange(t *testing.T) {
	for _, tt := range []struct {
		name    string
		control tls.ConnectionState
		want    []tls.CurveID
	}{
		{"TLS 1.3", tls.ConnectionState{Version: tls.VersionTLS13, CurveID: tls.CurveP256}, []tls.CurveID{tls.CurveP256}},
		{"TLS 1.2", tls.ConnectionState{Version: tls.VersionTLS12, CurveID: tls.CurveP256}, []tls.CurveID{tls.X25519}},
		{"not known", tls.ConnectionState{Version: tls.VersionTLS13}, []tls.CurveID{tls.X25519}},
	} {
		config := &tls.Config{ServerName: "h", CurvePreferences: []tls.CurveID{tls.X25519}, ClientSessionCache: tls.NewLRUClientSessionCache(1)}
		got := dataTLS(config, tt.control)
		if !slices.Equal(got.CurvePreferences, tt.want) || got.ServerName != "h" || got.ClientSessionCache != config.ClientSessionCache {
			t.Errorf("%s: offers %v, want %v", tt.name, got.CurvePreferences, tt.want)
		}
	}
}

package ftpexec_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// A zero MinRate means 17 bytes a second over ten minutes, on every way of the data except a splice. A negative one
// means no limit.
func TestDefaultRate(t *testing.T) {
	for _, tt := range []struct {
		rate  int64
		over  time.Duration
		bytes int // that come every 30 seconds
		at    time.Duration
	}{
		{0, 0, 1, 10 * time.Minute}, {0, 0, 500, 10 * time.Minute}, {0, time.Minute, 600, 0}, {-1, 0, 1, 0},
		{1, time.Minute, 1, time.Minute},
	} {
		for _, verb := range []string{"RETR", "NLST", "MLSD"} {
			synctest.Test(t, func(t *testing.T) {
				network := ftptest.NewNetwork()
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				drip := func(c *testserver.Conn) error {
					for range 100 {
						select {
						case <-ctx.Done():
							return nil
						case <-time.After(30 * time.Second):
						}
						_ = testserver.Data(strings.Repeat("x", tt.bytes-1) + "\n")(c)
					}
					return nil
				}
				s := network.NewScript(t, testserver.Honest("").With("SIZE", testserver.Reply("502 unknown")).
					With(verb, testserver.Reply("150 x"), drip, testserver.Data("", testserver.Closed), testserver.Reply("226 fine")))
				c := &ftpexec.Client{Dial: network.Dial, MinRate: tt.rate, MinRateTime: tt.over}
				defer c.CloseIdleConnections()
				began, err := time.Now(), error(nil)
				switch verb {
				case "RETR":
					var r *ftpexec.Response
					if r, err = c.Get(t.Context(), s.URL("/f")); err == nil {
						_, err = io.Copy(io.Discard, r.Body)
						r.Body.Close()
					}
				case "NLST":
					_, err = list(t.Context(), c, parse(t, s.URL("/")))
				case "MLSD":
					for _, e := range c.Entries(t.Context(), parse(t, s.URL("/"))) {
						if err = e; !errors.Is(e, ftpexec.ErrLine) {
							break
						}
						err = nil
					}
				}
				if took := time.Since(began); errors.Is(err, ftpexec.ErrTimeout) != (tt.at > 0) || err != nil && took != tt.at || err == nil && took < 50*time.Minute {
					t.Errorf("%+v, %s of %d bytes: %v after %v", tt.rate, verb, tt.bytes, err, took)
				}
			})
		}
	}
}

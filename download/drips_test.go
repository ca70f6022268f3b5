package download

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/timing"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// drips is a server that sends at most n bytes of the file from the offset on, each bytes at a time after a pause,
// until ctx ends. Unless it has sent the whole file, it ends the data connection by end and the transfer by final.
func drips(ctx context.Context, contents string, pause time.Duration, n, each int, end testserver.Ending, final testserver.Action) testserver.Step {
	return func(d *testserver.Dialogue) {
		offset := 0
		testserver.Honest(contents).With("REST", func(c *testserver.Conn) error {
			offset, _ = strconv.Atoi(c.Arg)
			return testserver.Reply("350 fine")(c)
		}).With("RETR", testserver.Reply("150 x"), func(c *testserver.Conn) error {
			rest := contents[offset:]
			for some := range slices.Chunk([]byte(rest[:min(n, len(rest))]), each) {
				if err := timing.Sleep(ctx, pause); err != nil {
					return err
				}
				_ = testserver.Data(string(some))(c)
			}
			offset = 0
			if n >= len(rest) {
				return testserver.Sequence(testserver.Data("", testserver.Closed), testserver.Reply("226 fine"))(c)
			}
			return testserver.Sequence(testserver.Data("", end), final)(c)
		})(d)
	}
}

// TestDrips downloads from servers that send a byte now and then, so that each retry makes some progress. No download,
// to a file or to a writer, may last for ever, unless the caller allows it. A server that is just fast enough must not
// be given up.
func TestDrips(t *testing.T) {
	const size = 200_000
	type drip struct {
		pause   time.Duration
		n, each int
		end     testserver.Ending
	}
	for _, tt := range []struct {
		name  string
		rate  int64
		data  drip
		final testserver.Action
		ends  bool
	}{
		{"a byte every 59 seconds", 0, drip{59 * time.Second, size, 1, testserver.Closed}, testserver.Reply("226 fine"), true},
		{"a byte of its own, then silence", 0, drip{time.Millisecond, overlapSize + 1, overlapSize, testserver.Stalled}, testserver.Reply("226 fine"), true},
		{"a byte of its own, then a close", 0, drip{time.Millisecond, overlapSize + 1, overlapSize, testserver.Closed}, testserver.Reply("426 cut"), true},
		{"a byte of its own, then the end of the connection", 0, drip{time.Millisecond, overlapSize + 1, overlapSize, testserver.Reset}, testserver.EndControl(testserver.Closed), true},
		{"ten thousand bytes, then a close", 0, drip{time.Millisecond, 10_000, 1000, testserver.Closed}, testserver.Reply("426 cut"), false},
		{"a byte every 59 seconds, as is wanted", -1, drip{59 * time.Second, 2000, 1, testserver.Closed}, testserver.Reply("226 fine"), false},
	} {
		for _, file := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				timing.Wait = timing.Sleep
				defer func() { timing.Wait = atOnce }()
				network := ftptest.NewNetwork()
				contents := strings.Repeat("x", size)
				if tt.rate < 0 {
					contents = contents[:2000]
				}
				most := 48 * time.Hour
				if tt.ends {
					most = 3 * time.Hour
				}
				ctx, cancel := context.WithTimeout(t.Context(), most)
				defer cancel()
				s := network.NewScript(t, drips(ctx, contents, tt.data.pause, tt.data.n, tt.data.each, tt.data.end, tt.final))
				c := &ftpexec.Client{Dial: network.Dial, MinRate: tt.rate}
				defer c.CloseIdleConnections()
				began := time.Now()
				var err error
				if file {
					_, err = File(ctx, c, urlOf(t, s.URL("/f")), t.TempDir()+"/f", &Options{checkpoint: 100 * time.Hour})
				} else {
					_, err = To(ctx, c, urlOf(t, s.URL("/f")), new(strings.Builder), nil)
				}
				var e *ftpexec.Error
				took := time.Since(began)
				if ended := errors.As(err, &e) && ftpexec.Retryable(e); ended != tt.ends || !ended && err != nil {
					t.Errorf("%s (file: %v): %v after %v", tt.name, file, err, took)
				}
			})
		}
	}
}

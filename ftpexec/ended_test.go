package ftpexec_test

import (
	"context"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/interop/ftptest"
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/internal/rules/night"
	"example.com/ftpfetch/testserver"
)

// ends is how often each test interrupts a transfer, atOnce how many transfers run side by side. The fault that they
// look for depends on the order in which goroutines run.
var ends = night.Or(96, 600)

const atOnce = 32

// An interruption closes the control connection. A server then ends its data in an orderly way, which looks like the
// end of the file if the final reply came early and no size is known. It must not count as the end.
func TestInterruptedIsNotTheEnd(t *testing.T) {
	unsized := testserver.Honest("").With("SIZE", testserver.Reply("500 what")).With("MLST", testserver.Reply("500 what"))
	ways := []struct {
		name, path string
		retrieve   func(t *testing.T, r *ftpexec.Response) error
	}{
		{"read", "/a/f", func(_ *testing.T, r *ftpexec.Response) error {
			_, err := io.ReadAll(r.Body)
			return err
		}},
		{"straight", "/a/f", func(t *testing.T, r *ftpexec.Response) error {
			f := must.Get(os.Create(filepath.Join(t.TempDir(), "f")))(t)
			defer f.Close()
			_, err := io.Copy(f, r.Body)
			return err
		}},
		{"text", "/a/f;type=a", func(_ *testing.T, r *ftpexec.Response) error {
			_, err := io.ReadAll(r.Body)
			return err
		}},
		{"listing", "/a/", nil},
	}
	for _, way := range ways {
		t.Run(way.name, func(t *testing.T) {
			end := make(chan func(), atOnce)
			early := []testserver.Action{testserver.Reply("226 x"), testserver.Data("a\r\nb\r\nc"),
				ftptest.Call(func() { (<-end)() }), testserver.Data("", testserver.Stalled)}
			s := testserver.New(t, nil, unsized, testserver.On("RETR", early...), testserver.On("NLST", early...))
			var believed atomic.Int32
			sideBySide(func() {
				ctx, cancel := context.WithCancelCause(t.Context())
				defer cancel(nil)
				came := newArrivals()
				var c ftpexec.Client
				if way.retrieve == nil { // for a file this much has come once it is open
					c.Dial = came.dial
				}
				defer c.CloseIdleConnections()
				end <- func() { came.wait(); cancel(errStop) }
				if err := interrupted(ctx, t, &c, s.URL(way.path), came, way.retrieve); !errors.Is(err, errStop) {
					believed.Add(1)
					t.Logf("got %v, want that it was stopped", err)
				}
			})
			if n := believed.Load(); n > 0 {
				t.Errorf("%d of %d interruptions were not reported", n, ends)
			}
		})
	}
}

// sideBySide calls f ends times, atOnce at the same time.
func sideBySide(f func()) {
	var running sync.WaitGroup
	for range atOnce {
		running.Go(func() {
			for range ends / atOnce {
				f()
			}
		})
	}
	running.Wait()
}

var errStop = errors.New("stop")

func interrupted(ctx context.Context, t *testing.T, s *ftpexec.Client, url string, came *arrivals, retrieve func(*testing.T, *ftpexec.Response) error) error {
	if retrieve == nil {
		_, err := list(ctx, s, parse(t, url))
		return err
	}
	r, err := s.Do(ctx, &ftpexec.Request{URL: parse(t, url)})
	if err != nil {
		return err
	}
	defer r.Body.Close()
	close(came.some)
	return retrieve(t, r)
}

// Body.Close ends a Read on another goroutine. That does not count as the end either.
func TestCloseBodyElsewhere(t *testing.T) {
	came := newArrivals()
	s := testserver.New(t, nil, testserver.Honest("").With("SIZE", testserver.Reply("500 what")),
		testserver.On("RETR", testserver.Reply("226 x"), testserver.Data("con", testserver.Stalled)))
	r := must.Get((&ftpexec.Client{MaxIdle: -1, Dial: came.dial}).Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("/a/f"))}))(t)
	go func() {
		came.wait()
		r.Body.Close()
	}()
	if got, err := io.ReadAll(r.Body); err == nil || errors.Is(err, net.ErrClosed) {
		t.Errorf("got %q, %v, want an error that says what happened", got, err)
	}
	r.Body.Close()
}

package ftpexec_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// big is several chunks long, and not a multiple of any buffer's size.
var big = strings.Repeat("0123456789abcdef", 3<<16) + "end"

func TestWriteTo(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/big": big, "/empty": ""}})
	for path, want := range map[string]string{"/big": big, "/empty": ""} {
		for name, open := range map[string]func(t *testing.T) (io.Writer, func() string){"buffer": buffer, "file": file, "device": device} {
			t.Run(name+path, func(t *testing.T) {
				r := must.Get((&ftpexec.Client{MaxIdle: -1}).Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL(path))}))(t)
				defer r.Body.Close()
				w, contents := open(t)
				if n, err := io.Copy(w, r.Body); err != nil || n != int64(len(want)) || name != "device" && contents() != want {
					t.Errorf("copied %d bytes, %v; want %d", n, err, len(want))
				}
			})
		}
	}
}

func buffer(*testing.T) (io.Writer, func() string) {
	var b bytes.Buffer
	return &b, b.String
}

func file(t *testing.T) (io.Writer, func() string) {
	name := filepath.Join(t.TempDir(), "f")
	f := must.Get(os.Create(name))(t)
	t.Cleanup(func() { f.Close() })
	return f, func() string { b, _ := os.ReadFile(name); return string(b) }
}

// device returns a device. It refuses a splice, and then no byte may be lost.
func device(t *testing.T) (io.Writer, func() string) {
	null := must.Get(os.OpenFile(os.DevNull, os.O_WRONLY, 0))(t)
	t.Cleanup(func() { null.Close() })
	return null, nil
}

// WriteTo to a file also reports a damaged file.
func TestWriteToDetectsDamage(t *testing.T) {
	for _, tt := range []struct {
		name  string
		fault testserver.Action
		want  error
	}{
		{"cut, 226", testserver.EndDataAfter(2<<20, testserver.Closed), ftpexec.ErrTruncated},
		{"cut, 426", testserver.Sequence(testserver.EndDataAfter(2<<20, testserver.Closed), testserver.ReplaceReply(testserver.Reply("426 broken"))), ftpexec.ErrTruncated},
		{"reset", testserver.EndDataAfter(2<<20, testserver.Reset), ftpexec.ErrLost},
		{"whole, 451", testserver.ReplaceReply(testserver.Reply("451 disk")), ftpexec.ErrTruncated},
		{"wrong size", nil, ftpexec.ErrTruncated},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/big": big}, Fault: func(p *testserver.Conn) testserver.Action {
				switch {
				case p.Verb == "RETR":
					return tt.fault
				case p.Verb == "SIZE" && tt.name == "wrong size":
					return testserver.ReplaceReply(testserver.Reply("213 1000"))
				}
				return nil
			}})
			var n int64
			r, err := (&ftpexec.Client{MaxIdle: -1}).Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("/big"))})
			if err == nil { // a reset may come before the first byte is read
				defer r.Body.Close()
				w, _ := file(t)
				n, err = io.Copy(w, r.Body)
			}
			if !errors.Is(err, tt.want) {
				t.Errorf("copied %d of %d bytes with error %v, want %v", n, len(big), err, tt.want)
			}
		})
	}
}

// WriteTo returns an error of the writer unchanged, not as one of the server.
func TestWriteToReturnsTheWritersError(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/big": big}})
	name := filepath.Join(t.TempDir(), "f")
	must.Do(t, os.WriteFile(name, nil, 0o666))
	readOnly := must.Get(os.Open(name))(t)
	defer readOnly.Close()
	full := errors.New("disk full")
	for _, w := range []io.Writer{readOnly, failing{full}} {
		r := must.Get((&ftpexec.Client{MaxIdle: -1}).Do(t.Context(), &ftpexec.Request{URL: parse(t, s.URL("/big"))}))(t)
		_, err := io.Copy(w, r.Body)
		var e *ftpexec.Error
		if err == nil || errors.As(err, &e) {
			t.Errorf("%T: error %v, want the writer's", w, err)
		}
		r.Body.Close()
	}
}

type failing struct{ err error }

func (f failing) Write([]byte) (int, error) { return 0, f.err }

func TestASCII(t *testing.T) {
	for _, tt := range []struct{ name, wire, want string }{
		{"CR LF", "one\r\ntwo\r\n", "one\ntwo\n"},
		{"no end", "one\r\ntwo", "one\ntwo"},
		{"bare LF of a server that does not convert", "one\ntwo\n", "one\ntwo\n"},
		{"bare CR is CR NUL", "a\r\x00b\r\n", "a\rb\n"},
		{"CR CR LF", "a\r\r\n", "a\r\n"},
		{"CR at the end", "a\r", "a\r"},
		{"long", strings.Repeat("line\r\n", 50000), strings.Repeat("line\n", 50000)},
		{"bytes", "\xe9\x00\xff\r\n", "\xe9\x00\xff\n"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := testserver.New(t, nil, testserver.Honest(tt.wire))
			got, err := read(t.Context(), &ftpexec.Client{MaxIdle: -1}, parse(t, s.URL("/f;type=a")))
			want := tt.want
			if runtime.GOOS == "windows" {
				want = strings.ReplaceAll(want, "\n", "\r\n")
			}
			if err != nil || got != want {
				t.Errorf("got %.40q..., %v, want %.40q", got, err, want)
			}
		})
	}
}

// If neither SIZE nor the 150 gives the size, the client sends MLST at the end. If the server does not know MLST, the
// file still counts.
func TestSizeByMLST(t *testing.T) {
	for _, tt := range []struct {
		name, mlst string // "": no answer
		want       error
	}{
		{"does not answer", "", ftpexec.ErrTimeout},
		{"tells more", "250-Listing\r\n Type=file;Size=12;Modify=20260102030405; f\r\n250 End", ftpexec.ErrTruncated},
		{"tells the same", "250-Listing\r\n modify=20260102030405;size=8; f\r\n250 End", nil},
		{"is in the name", "250-Listing size=12;\r\n Type=file; x;size=12;y\r\n250 End;size=12;", nil},
		{"is on one line", "250 Size=12; f", nil},
		{"is not known", "500 what", nil},
		{"ends the connection", "421 what", ftpexec.ErrLost},
		{"is the reply after a second one", "550 broken\r\n250-x\r\n size=8; f\r\n250 End", ftpexec.ErrProtocol},
	} {
		runInMemory(t, tt.name, func(t *testing.T, network *ftptest.Network) {
			s := network.NewScript(t, testserver.Honest("contents"), testserver.On("SIZE", testserver.Reply("500 what")),
				testserver.On("RETR", testserver.Transfer("contents")), testserver.On("MLST", answer(tt.mlst)))
			got, err := read(t.Context(), &ftpexec.Client{MaxIdle: -1, Dial: network.Dial}, parse(t, s.URL("/f")))
			if !errors.Is(err, tt.want) || tt.want == nil && got != "contents" {
				t.Errorf("got %q, %v, want %v", got, err, tt.want)
			}
			if n := count(s.Commands(), "MLST f"); n != 1 {
				t.Errorf("MLST sent %d times: %q", n, s.Commands())
			}
		})
	}
}

// A size of 0 is a known size.
func TestEmptyFile(t *testing.T) {
	for contents, want := range map[string]error{"": nil, "x": ftpexec.ErrTruncated} {
		s := testserver.New(t, nil, testserver.Honest(""), testserver.On("RETR", testserver.Transfer(contents)))
		got, err := read(t.Context(), &ftpexec.Client{MaxIdle: -1}, parse(t, s.URL("/f")))
		if !errors.Is(err, want) || err == nil && got != "" {
			t.Errorf("%q: got %q, %v, want %v", contents, got, err, want)
		}
		if n := count(s.Commands(), "MLST f"); n != 0 {
			t.Errorf("%q: asked for the size with MLST", contents)
		}
	}
}

func answer(reply string) testserver.Action {
	if reply == "" {
		return testserver.EndControl(testserver.Stalled)
	}
	return testserver.Reply(reply)
}

// The least rate applies on every way that data can take.
func TestMinRate(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest("contents").
		With("RETR", testserver.Reply("150 x"), testserver.Data("con", testserver.Stalled)).
		With("NLST", testserver.Reply("150 x"), testserver.Data("a\r\nb", testserver.Stalled)))
	into := func(w io.Writer) func(context.Context, *ftpexec.Client, *urlparse.URL) error {
		return func(ctx context.Context, c *ftpexec.Client, u *urlparse.URL) error {
			r, err := c.Do(ctx, &ftpexec.Request{URL: u})
			if err != nil {
				return err
			}
			defer r.Body.Close()
			_, err = io.Copy(w, r.Body)
			return err
		}
	}
	f := must.Get(os.Create(t.TempDir() + "/f"))(t)
	defer f.Close()
	for _, tt := range []struct {
		name, url string
		do        func(context.Context, *ftpexec.Client, *urlparse.URL) error
	}{
		{"into a writer", s.URL("/f"), into(io.Discard)},
		{"into a file", s.URL("/f"), into(f)},
		{"TLS", strings.Replace(s.URL("/f"), "ftp:", "ftpes:", 1), into(f)},
		{"ASCII", s.URL("/f;type=a"), into(f)},
		{"listing", s.URL("/"), func(ctx context.Context, c *ftpexec.Client, u *urlparse.URL) error {
			_, err := list(ctx, c, u)
			return err
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := within(ample)
			c.TLSConfig = &tls.Config{RootCAs: s.RootCAs()}
			c.MinRate = 1000
			c.MinRateTime = 50 * time.Millisecond
			err := tt.do(t.Context(), c, parse(t, tt.url))
			var e *ftpexec.Error
			if !errors.Is(err, ftpexec.ErrTimeout) || !errors.As(err, &e) || !ftpexec.Retryable(e) ||
				!strings.Contains(err.Error(), "bytes in 50ms, fewer than 1000 per second") {
				t.Errorf("error %v, want ErrTimeout, temporary", err)
			}
		})
	}
}

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

// A transfer straight into a file gathers bytes. However few have come, they reach the file before the next ones are
// sent, and the server that sent them has not stalled.
func TestStraightTakesFewBytes(t *testing.T) {
	t.Parallel()
	const contents = "four"
	f := must.Get(os.Create(filepath.Join(t.TempDir(), "f")))(t)
	defer f.Close()
	steps := []testserver.Action{testserver.Reply("150 x")}
	for i := range contents {
		arrived := func() { waitForSize(t, f, i+1) }
		steps = append(steps, testserver.Data(contents[i:i+1]), ftptest.Call(arrived))
	}
	steps = append(steps, testserver.Data("", testserver.Closed), testserver.Reply("226 x"))
	s := testserver.New(t, nil, testserver.Honest(contents).With("SIZE", testserver.Reply("500 x")), testserver.On("RETR", steps...))
	c := ftpexec.Client{Timeout: 500 * time.Millisecond} // as long as a step, after which all that came is taken
	r := must.Get(c.Get(t.Context(), s.URL("/f")))(t)
	defer r.Body.Close()
	must.Get(io.Copy(f, r.Body))(t)
	if got, err := os.ReadFile(f.Name()); string(got) != contents || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
}

// waitForSize waits until f has size bytes.
func waitForSize(t *testing.T, f *os.File, size int) {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		if info, err := f.Stat(); err != nil || info.Size() >= int64(size) || t.Context().Err() != nil {
			return
		}
		<-tick.C
	}
}

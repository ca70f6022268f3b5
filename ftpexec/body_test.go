package ftpexec_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/interop/ftptest"
	"example.com/ftpfetch/internal/rules/must"
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
				n, err := io.Copy(w, r.Body)
				if err != nil || n != int64(len(want)) || name != "device" && contents() != want {
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

// device returns one that refuses a splice, which must lose no bytes.
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
		{"cut, 226", testserver.Cut(2<<20, testserver.Closed), ftpexec.ErrTruncated},
		{"cut, 426", testserver.Do(testserver.Cut(2<<20, testserver.Closed), testserver.Final(testserver.Reply("426 broken"))), ftpexec.ErrTruncated},
		{"reset", testserver.Cut(2<<20, testserver.Reset), ftpexec.ErrLost},
		{"whole, 451", testserver.Final(testserver.Reply("451 disk")), ftpexec.ErrTruncated},
		{"wrong size", nil, ftpexec.ErrTruncated},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/big": big}, Fault: func(p *testserver.Conn) testserver.Action {
				switch {
				case p.Verb == "RETR":
					return tt.fault
				case p.Verb == "SIZE" && tt.name == "wrong size":
					return testserver.Final(testserver.Reply("213 1000"))
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

// If neither SIZE nor the 150 tells the size, MLST is sent at the end. If the server does not know that, the file still counts.
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

func answer(reply string) testserver.Action {
	if reply == "" {
		return testserver.End(testserver.Stalled)
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
			c.MinRate = ftpexec.Rate{Bytes: 1000, Over: 50 * time.Millisecond}
			err := tt.do(t.Context(), c, parse(t, tt.url))
			var e *ftpexec.Error
			if !errors.Is(err, ftpexec.ErrTimeout) || !errors.As(err, &e) || !e.Temporary() ||
				!strings.Contains(err.Error(), "bytes in 50ms, fewer than 1000 per second") {
				t.Errorf("error %v, want ErrTimeout, temporary", err)
			}
		})
	}
}

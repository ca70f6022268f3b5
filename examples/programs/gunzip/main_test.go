package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// text is a megabyte, and compressed is about half as long.
var text, compressed = texts()

func texts() (plain, packed string) {
	octets := make([]byte, 1<<20)
	r := rand.New(rand.NewPCG(1, 2))
	for i := range octets {
		octets[i] = 'a' + byte(r.IntN(16))
	}
	var b bytes.Buffer
	z := gzip.NewWriter(&b)
	z.Write(octets)
	z.Close()
	return string(octets), b.String()
}

func serve(t *testing.T, contents string, fault func(*testserver.Conn) testserver.Action) *testserver.Server {
	return testserver.New(t, &testserver.Options{Tree: map[string]string{"/pub/f.gz": contents}, Fault: fault})
}

// TestBroken checks that a broken transfer resumes, and that the output does not show it.
func TestBroken(t *testing.T) {
	s := serve(t, compressed, func(c *testserver.Conn) testserver.Action {
		if c.Transfer == 1 {
			return testserver.Sequence(testserver.EndDataAfter(200000, testserver.Closed), testserver.ReplaceReply(testserver.Reply("426 Connection lost")))
		}
		return nil
	})
	var got strings.Builder
	if err := gunzip(t.Context(), s.URL("/pub/f.gz"), &got); err != nil || got.String() != text {
		t.Errorf("%d bytes, %v", got.Len(), err)
	}
	if sent := strings.Join(s.Commands(), "\n"); !strings.Contains(sent, "\nREST ") {
		t.Errorf("no REST in %s", sent)
	}
}

// TestNotWhole checks that a damaged, cut or missing file is an error, whatever was printed before.
func TestNotWhole(t *testing.T) {
	damaged := compressed[:1000] + "\xff\x00\xff" + compressed[1003:]
	for name, contents := range map[string]string{"cut": compressed[:len(compressed)-4], "empty": "", "damaged": damaged, "not compressed": "text"} {
		s := serve(t, contents, nil)
		if err := gunzip(t.Context(), s.URL("/pub/f.gz"), io.Discard); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	s := serve(t, compressed, nil)
	if err := gunzip(t.Context(), s.URL("/pub/none.gz"), io.Discard); !errors.Is(err, ftpexec.ErrNotFound) {
		t.Errorf("missing: %v", err)
	}
}

// full is an output that fails after some bytes, like a pipe into head.
type full struct{ left int }

func (w *full) Write(b []byte) (int, error) {
	if w.left -= len(b); w.left < 0 {
		return 0, io.ErrShortWrite
	}
	return len(b), nil
}

// TestEnds checks that a failing output and the end of the context end the transfer.
func TestEnds(t *testing.T) {
	s := serve(t, compressed, nil)
	if err := gunzip(t.Context(), s.URL("/pub/f.gz"), &full{100000}); !errors.Is(err, io.ErrShortWrite) {
		t.Errorf("output: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	hanging := testserver.New(t, nil, testserver.Honest(compressed).With("RETR", testserver.Reply("150 Here"), testserver.Data(compressed[:1000], testserver.Stalled)))
	go func() {
		hanging.WaitCommand(ctx, "RETR")
		cancel()
	}()
	if err := gunzip(ctx, hanging.URL("/f.gz"), io.Discard); !errors.Is(err, context.Canceled) {
		t.Errorf("context: %v", err)
	}
}

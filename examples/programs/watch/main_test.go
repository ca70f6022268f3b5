package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/spf13/afero"
	"go.uber.org/goleak"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stand has a directory that a test changes between ticks.
type stand struct {
	fs     afero.Fs
	server *testserver.Server
	broken atomic.Bool
}

func newStand(t *testing.T) *stand {
	s := &stand{fs: afero.NewMemMapFs()}
	s.write(t, "old", "one")
	s.write(t, "gone soon", "two")
	s.server = testserver.New(t, &testserver.Options{FS: afero.NewIOFS(s.fs), Fault: func(c *testserver.Conn) testserver.Action {
		if (c.Verb == "MLSD" || c.Verb == "LIST" || c.Verb == "NLST") && s.broken.Load() {
			return testserver.Sequence(testserver.EndDataAfter(20, testserver.Closed), testserver.ReplaceReply(testserver.Reply("426 Connection lost")))
		}
		return nil
	}})
	return s
}

func (s *stand) write(t *testing.T, name, contents string) {
	t.Helper()
	if err := afero.WriteFile(s.fs, "/pub/"+name, []byte(contents), 0o666); err != nil {
		t.Fatal(err)
	}
}

// TestWatch checks that each tick shows the changes since the tick before, and that a broken listing does not show
// files as gone.
func TestWatch(t *testing.T) {
	s := newStand(t)
	ticks, done := make(chan time.Time), make(chan error)
	var shown, problems bytes.Buffer
	go func() { done <- watch(t.Context(), s.server.URL("/pub/"), ticks, &shown, &problems) }()
	tick := func() { ticks <- time.Time{} } // returns when the previous listing is complete

	tick() // nothing changed
	tick() // the listing of the first tick is complete
	if shown.Len() > 0 {
		t.Errorf("nothing changed, but %s", &shown)
	}
	s.write(t, "new file", "three!")
	s.write(t, "old", "changed")
	if err := s.fs.Remove("/pub/gone soon"); err != nil {
		t.Fatal(err)
	}
	tick()
	tick()
	const want = "+ \"new file\" 6 bytes\n* \"old\" 7 bytes\n- \"gone soon\"\n"
	if shown.String() != want {
		t.Errorf("got\n%swant\n%s", &shown, want)
	}
	s.broken.Store(true)
	tick()
	tick()
	s.broken.Store(false)
	tick()
	close(ticks)
	if err := <-done; err != nil || shown.String() != want || !strings.Contains(problems.String(), "426 Connection lost") {
		t.Errorf("%v, got\n%sproblems: %s", err, &shown, &problems)
	}
}

// TestEnds checks that a permanent failure and the end of the context end the watch.
func TestEnds(t *testing.T) {
	s := newStand(t)
	for url, want := range map[string]error{s.server.URL("/none/"): ftpexec.ErrRefused, "ftp://user:wrong@" + s.server.Addr() + "/": ftpexec.ErrLogin} {
		if err := watch(t.Context(), url, nil, io.Discard, io.Discard); !errors.Is(err, want) {
			t.Errorf("%s: %v", url, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	ticks, done := make(chan time.Time), make(chan error)
	go func() { done <- watch(ctx, s.server.URL("/pub/"), ticks, io.Discard, io.Discard) }()
	ticks <- time.Time{}
	cancel()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// TestNoRoom fills the disk of the server, first nearly and then completely, while a job runs. add and status must say
// so at once, and after somebody has made room, everything must go on without a restart.
func TestNoRoom(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Log("only root mounts a small disk")
		return
	}
	disk := t.TempDir()
	if out, err := exec.Command("mount", "-t", "tmpfs", "-o", "size=160m", "none", disk).CombinedOutput(); err != nil {
		t.Fatalf("mount: %s", out)
	}
	t.Cleanup(func() { _ = exec.Command("umount", "-l", disk).Run() })
	s := &stand{T: t, state: filepath.Join(disk, "state"), file: filepath.Join(t.TempDir(), "join")}
	s.serve(listenAgain(t))
	t.Cleanup(func() { s.hub.stop() })
	srv, open := holding(t, 40)
	defer open()
	running := s.want(0, "add", "--per-host", "2", srv.list(t, 40))
	s.starts("w", t.TempDir(), "", 2)
	eventually(t, "two files", func() bool { return srv.files.Load() == 2 })
	other := newFTP(t, 1, 9, testserver.Options{}).list(t, 1)
	for _, left := range []int64{1 << 20, 0} {
		fill := filepath.Join(disk, "fill")
		text := make([]byte, max(0, freeIn(disk)-left))
		must.Do(t, os.WriteFile(fill, text, 0o600))
		eventually(t, "the server knows", func() bool { return s.hub.room.Load().Full })
		begun := time.Now()
		if _, errs, code := s.do("add", other); code != 23 || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "make room there") || !strings.Contains(errs, disk) {
			t.Errorf("with %d bytes: exit code %d: %s", left, code, errs)
		}
		if took := time.Since(begun); took > 15*time.Second {
			t.Errorf("add says that after %v", took)
		}
		if out, errs, _ := s.do("status", running); !strings.Contains(out+errs, errNoRoom.Error()) {
			t.Errorf("status: %s%s", out, errs)
		}
		must.Do(t, os.Remove(fill))
		eventually(t, "add works again", func() bool { _, _, code := s.do("add", other); return code == 0 })
	}
	open()
	if got := facts(s.want(0, "wait", running, "--json")); got != "done 40 40 0 0" {
		t.Error(got)
	}
}

// TestDropped reads results from a JetStream that drops requests, as it does while it starts again. The caller must get
// an error, not wait for ever.
func TestDropped(t *testing.T) {
	t.Parallel()
	f := *newStand(t).hub.board.f
	must.Get(f.Subscribe("dropped.>", func(*nats.Msg) {}))(t)
	f.js = must.Get(jetstream.NewWithAPIPrefix(f.Conn, "dropped", jetstream.WithDefaultTimeout(asking)))(t)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	err := f.each(ctx, "job", new(uint64), true, func(uint64, tally, []byte) error { return nil })
	if text, code := explain(err); code != 28 || !strings.Contains(text, "does not answer") || ctx.Err() != nil {
		t.Errorf("exit code %d: %s; the test waited for %v", code, text, ctx.Err())
	}
}

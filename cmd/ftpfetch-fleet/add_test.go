package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// TestCancelledAdd cancels a job at each moment while it is added. Nothing of it may remain, and add must say so.
func TestCancelledAdd(t *testing.T) {
	t.Parallel()
	const files, chunks = 1400, 67
	s, srv := newStand(t), newFTP(t, 0, 3, testserver.Options{})
	w := s.worker("w")
	u := must.Get(urlparse.Parse(srv.URL("/d/x")))(t)
	tasks := func(yield func(download.Task) bool) {
		for i := range files {
			task := download.Task{}
			task.URLs, task.Path, task.Line = []*urlparse.URL{u}, fmt.Sprint(i), i
			if !yield(task) {
				return
			}
		}
	}
	for _, at := range []int32{0, 1, 15, 16, 17, 40, chunks - 1, chunks} {
		id := ""
		f := *s.admin()
		f.js = &cancelling{JetStream: f.js, at: at, most: chunks, cancel: func() {
			id = must.Get(s.admin().jobsNow(t.Context()))(t)[0].ID
			s.want(0, "cancel", id)
		}}
		if j, err := f.add(t.Context(), "list", tasks, &download.RunOptions{Each: terms{}.each(w.root)}, new(wishes)); err == nil {
			t.Errorf("cancelled at %d: %+v", at, j)
		}
		if j := must.Get(find(t.Context(), s.admin(), id))(t); j.State != "cancelled" || j.Files != files {
			t.Errorf("cancelled at %d: %+v", at, j)
		}
		if info := must.Get(s.admin().work.Info(t.Context()))(t); info.State.Msgs != 0 {
			t.Errorf("cancelled at %d: %d chunks are left", at, info.State.Msgs)
		}
	}
}

// cancelling calls cancel after at messages; others may be sent at the same time.
type cancelling struct {
	jetstream.JetStream
	at, most int32
	cancel   func()
	begun    atomic.Int32
	ended    atomic.Int32
}

func (c *cancelling) PublishMsg(
	ctx context.Context, m *nats.Msg, o ...jetstream.PublishOpt,
) (*jetstream.PubAck, error) {
	if c.begun.Add(1) == c.at+1 {
		c.cancel()
	}
	ack, err := c.JetStream.PublishMsg(ctx, m, o...)
	if c.ended.Add(1) == c.most && c.at == c.most {
		c.cancel()
	}
	return ack, err
}

// TestParcels adds lists whose parcels cannot all be written, and checks that no file and no job is left of them.
func TestParcels(t *testing.T) {
	s, temp := newStand(t), t.TempDir()
	list := filepath.Join(t.TempDir(), "list")
	must.Do(t, os.WriteFile(list, []byte("ftp://h/a\nftp://h/b//me:secret@c/d\n"), 0o600))
	t.Setenv("TMPDIR", temp)
	if _, errs, code := s.do("add", list); code == 0 || !strings.Contains(errs, "line 2: ") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	must.Do(t, os.WriteFile(list, []byte("ftp://h/a\nftp://h/b\n"), 0o600))
	t.Setenv("TMPDIR", filepath.Join(temp, "none"))
	if _, errs, code := s.do("add", list); code != 23 || !strings.Contains(errs, filepath.Join(temp, "none")) {
		t.Errorf("exit code %d: %s", code, errs)
	}
	if out, _, _ := s.do("status", "--json"); out != "" {
		t.Errorf("jobs: %s", out)
	}
	t.Setenv("TMPDIR", temp)
	s.want(0, "add", list)
	if left := must.Get(os.ReadDir(temp))(t); len(left) > 0 {
		t.Errorf("%v is left", left)
	}
}

// TestAddLooks checks that what only looks adds no job.
func TestAddLooks(t *testing.T) {
	s := newStand(t)
	list := filepath.Join(t.TempDir(), "list")
	must.Do(t, os.WriteFile(list, []byte("ftp://h/a\n"), 0o600))
	for _, flag := range []string{"-I", "--dry-run", "--check"} {
		if _, errs, code := s.do("add", flag, "-i", list); flag != "-I" && (code != 2 || !strings.Contains(errs, "--dry-run and --check fetch nothing")) {
			t.Errorf("%s: exit code %d: %s", flag, code, errs)
		}
	}
	if out, _, _ := s.do("status", "--json"); out != "" {
		t.Errorf("jobs: %s", out)
	}
}

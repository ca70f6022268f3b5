package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// TestNames has a NATS that holds a stream of another program, with a name or with subjects that the fleet would use.
// The fleet must refuse it with one line and leave nothing behind. With another namespace it must work, beside another
// fleet.
func TestNames(t *testing.T) {
	t.Parallel()
	for name, foreign := range map[string]jetstream.StreamConfig{
		"the name of a stream":    {Name: "ftpfetch_RESULTS", Subjects: []string{"other.>"}},
		"other retention":         {Name: "ftpfetch_WORK", Subjects: []string{"ftpfetch.work.*.*"}},
		"the name of a bucket":    {Name: "KV_ftpfetch_SLOTS", Subjects: []string{"other.>"}},
		"a bucket without expiry": {Name: "KV_ftpfetch_WORKERS", Subjects: []string{"$KV.ftpfetch_WORKERS.>"}, MaxMsgsPerSubject: 1},
		"subjects":                {Name: "other", Subjects: []string{"ftpfetch.results.>"}},
		"subjects of a bucket":    {Name: "other", Subjects: []string{"$KV.ftpfetch_WORKERS.>"}, NoAck: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := must.Get(server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true}))(t)
			n.Start()
			t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
			s := &stand{T: t, file: filepath.Join(t.TempDir(), "join")}
			must.Do(t, (&join{Address: n.ClientURL()}).write(s.file))
			c := must.Get(nats.Connect(n.ClientURL()))(t)
			defer c.Close()
			js := must.Get(jetstream.New(c))(t)
			must.Get(js.CreateStream(t.Context(), foreign))(t)
			streams := func() (names []string) {
				for name := range js.StreamNames(t.Context()).Name() {
					names = append(names, name)
				}
				return names
			}
			_, errs, code := s.do("status")
			if code == 0 || strings.Count(errs, "\n") != 1 {
				t.Errorf("exit code %d: %s", code, errs)
			}
			if got := streams(); len(got) != 1 || got[0] != foreign.Name {
				t.Errorf("left behind: %q", got)
			}
			if foreign.Name != "KV_ftpfetch_SLOTS" {
				return
			}
			srv := newFTP(t, 3, 9, testserver.Options{})
			for _, space := range []string{"a", "b"} {
				id := s.want(0, "add", "--namespace", space, srv.list(t, 3))
				s.want(0, "work", "--namespace", space, "-d", t.TempDir(), "--idle", "1s")
				s.want(0, "wait", "--namespace", space, id)
			}
			if got := streams(); len(got) != 21 {
				t.Errorf("%d streams", len(got))
			}
			s.want(2, "status", "--namespace", "a.b")
		})
	}
}

package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// as returns a stand whose user has the JOIN file of a role.
func (s *stand) as(role string) *stand {
	other := *s
	other.file = filepath.Join(s.TempDir(), role)
	j := s.hub.as(role)
	must.Do(s.T, j.write(other.file))
	return &other
}

// TestRoles has a job added, fetched and watched by three users, each with the smallest role that suffices.
func TestRoles(t *testing.T) {
	t.Parallel()
	s, srv := newStand(t), newFTP(t, 20, 3, testserver.Options{})
	look, work := s.as("look"), s.as("work")
	list := srv.list(t, 20, srv.URL("/d/none"))
	id := s.want(0, "add", "--per-host", "3", list)
	look.want(0, "status", "--json")
	work.want(0, "work", "-d", t.TempDir(), "--shared", "--idle", "2s")
	look.want(78, "wait", id)
	for _, who := range []*stand{look, work} {
		if got := who.want(0, "report", id); strings.Count(got, "\n") != 20 {
			t.Errorf("the report is %s", got)
		}
	}
	if info := must.Get(s.worker("w").work.Info(t.Context()))(t); info.State.Msgs != 0 {
		t.Errorf("%d chunks stay", info.State.Msgs)
	}
	for _, args := range [][]string{
		{"add", list}, {"retry", id}, {"cancel", id}, {"delete", id}, {"pause", id}, {"resume", id}, {"cap", id, "--per-host", "1"},
		{"work", "-d", t.TempDir()},
	} {
		for _, who := range []*stand{look, work} {
			if args[0] == "work" && who == work {
				continue
			}
			_, errs, code := who.do(args[0], args[1:]...)
			if code != 67 || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "ask for one to ") {
				t.Errorf("%s: exit code %d: %s", args[0], code, errs)
			}
		}
	}
	j := s.hub.as("look")
	j.Role = "add" // forged by a user with less
	forged := *s
	forged.file = filepath.Join(t.TempDir(), "forged")
	must.Do(t, j.write(forged.file))
	forged.want(67, "cancel", id)
	s.want(0, "delete", id)
}

// TestRolesRaw talks to the server as a foreign program could. The server must refuse what the role does not allow.
func TestRolesRaw(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	w := s.worker("w")
	j := &job{ID: "abcdefgh", State: "ready", Files: 1, Chunks: 1, bounds: bounds{PerHost: 1}}
	must.Get(w.jobs.Create(t.Context(), j.ID, j.text()))(t)
	must.Do(t, w.meet(t.Context(), j, "h:21"))
	must.Do(t, w.send(t.Context(), &chunk{Job: j.ID, ID: "1", Host: "h:21"}))
	neither := []string{
		"$KV.JOBS.abcdefgh", "$KV.JOBS.new", "$KV.HOSTS." + hostKey("h:21"), "$JS.API.STREAM.CREATE.NEW", "$JS.API.STREAM.UPDATE.WORK",
		"$JS.API.STREAM.DELETE.WORK", "$JS.API.STREAM.DELETE.KV_JOBS", "$JS.API.STREAM.PURGE.WORK", "$JS.API.STREAM.PURGE.RESULTS",
		"$JS.API.STREAM.MSG.DELETE.KV_JOBS", "$JS.API.STREAM.RESTORE.WORK", "$JS.API.STREAM.SNAPSHOT.WORK", "$JS.API.STREAM.LEADER.STEPDOWN.WORK",
		"$JS.API.ACCOUNT.PURGE.$G", "$SYS.REQ.SERVER.PING", "_INBOX.others.reply", "anything",
	}
	looker := []string{
		"work.abcdefgh.h", "results.abcdefgh.1", "$KV.QUEUES.h.abcdefgh", "$KV.SLOTS.e.h.0", "$KV.CAPS.e.h", "$KV.WORKERS.w", "$KV.ATTEMPTS.a.b.c",
		"$KV.REFUSALS.e.h", "hungry.h", "holder.w", "free.e.h", "$JS.ACK.WORK.c.1.1.1.1.1",
		"$JS.API.CONSUMER.CREATE.WORK.mine", "$JS.API.CONSUMER.CREATE.WORK.mine.work.abcdefgh.h", "$JS.API.CONSUMER.MSG.NEXT.WORK.mine",
		"$JS.API.CONSUMER.DELETE.WORK.mine", "$JS.API.CONSUMER.DURABLE.CREATE.WORK.mine",
	}
	for role, subjects := range map[string][]string{"work": neither, "look": append(looker, neither...)} {
		said := make(chan error, 10)
		hub := s.hub.as(role)
		c := must.Get(nats.Connect(hub.Address, nats.UserInfo(role, hub.Token), nats.Secure(must.Get(pin(hub.Certificate))(t)),
			nats.TLSHandshakeFirst(), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) { said <- err })))(t)
		defer c.Close()
		refused := func(what string) {
			t.Helper()
			select {
			case err := <-said:
				if !strings.Contains(strings.ToLower(err.Error()), "permissions violation") || !strings.Contains(err.Error(), what) {
					t.Errorf("%s, %s: %v", role, what, err)
				}
			case <-time.After(patience):
				t.Errorf("%s may say %s", role, what)
			}
		}
		for _, subject := range subjects {
			must.Do(t, c.PublishRequest(subject, c.NewInbox(), []byte("{}")))
			refused(subject)
		}
		for _, subject := range []string{">", "$KV.>", "work.>", "$JS.API.>"} {
			must.Get(c.Subscribe(subject, func(*nats.Msg) {}))(t)
			refused(subject)
		}
	}
	for stream := range w.js.ListStreams(t.Context()).Info() {
		want := map[string]uint64{"WORK": 1, "KV_JOBS": 1, "KV_HOSTS": 1, "KV_QUEUES": 1}
		if n := stream.State.LastSeq; stream.Config.Name != "KV_WORKERS" && n != want[stream.Config.Name] {
			t.Errorf("%s has had %d messages", stream.Config.Name, n)
		}
	}
}

// TestRoleFiles checks the JOIN files that serve writes.
func TestRoleFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	join := filepath.Join(dir, "join")
	process(t, "serve", "--dir", filepath.Join(dir, "state"), "--join", join, "--listen", "127.0.0.1:0")
	eventually(t, "the JOIN file", func() bool { _, err := os.Stat(join); return err == nil })
	tokens := make(map[string]bool)
	for name, role := range map[string]string{join: "add", join + ".work": "work", join + ".look": "look"} {
		j := must.Get(readJoin(name, false))(t)
		if tokens[j.Token] = true; j.Role != role || len(j.Token) != 64 {
			t.Errorf("%s is %+v", name, j)
		}
		s := &stand{T: t, file: name}
		s.want(0, "status")
	}
	if len(tokens) != 3 {
		t.Error(fmt.Sprint(len(tokens), " tokens"))
	}
	must.Do(t, os.WriteFile(join+".x.look", []byte("mine"), 0o600))
	_, errs, code := (&stand{T: t, file: join + ".x"}).do("serve", "--dir", filepath.Join(dir, "other"))
	if text := string(must.Get(os.ReadFile(join + ".x.look"))(t)); code != 2 || text != "mine" {
		t.Errorf("another file was overwritten: exit code %d: %s", code, errs)
	}
}

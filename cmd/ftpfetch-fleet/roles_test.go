package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
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
	if info := must.Get(s.admin().work.Info(t.Context()))(t); info.State.Msgs != 0 {
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
	for _, role := range []string{"work", "look"} {
		j := s.hub.as(role)
		j.Role, j.Address = "add", s.hub.join.Address // forged by a user with less
		forged := *s
		forged.file = filepath.Join(t.TempDir(), "forged")
		must.Do(t, j.write(forged.file))
		forged.want(67, "cancel", id)
	}
	s.want(0, "delete", id)
}

// asks are requests that must be refused: each with what would tell something or change something if the role could
// reach it. The reply of each goes to a subject that means something where the fleet is.
var asks = []string{
	"$JS.API.STREAM.INFO.ftpfetch_WORK", "$JS.API.STREAM.LIST", "$JS.API.STREAM.NAMES", "$JS.API.INFO", "$JS.API.CONSUMER.LIST.ftpfetch_WORK",
	"$JS.API.STREAM.MSG.GET.KV_ftpfetch_JOBS", "$JS.API.DIRECT.GET.KV_ftpfetch_JOBS.$KV.ftpfetch_JOBS.abcdefgh", "$SYS.REQ.SERVER.PING", "$SYS.REQ.USER.INFO.x",
	"$KV.ftpfetch_JOBS.abcdefgh", "$KV.ftpfetch_JOBS.new", "$KV.ftpfetch_HOSTS.h", "$KV.ftpfetch_QUEUES.h.abcdefgh", "$KV.ftpfetch_SLOTS.e.h.0",
	"ftpfetch.api.$KV.ftpfetch_JOBS.abcdefgh", "ftpfetch.api.$KV.ftpfetch_JOBS.new", "ftpfetch.api.$KV.ftpfetch_HOSTS.h", "ftpfetch.api.$KV.ftpfetch_QUEUES.h.abcdefgh",
	"ftpfetch.api.STREAM.LIST", "ftpfetch.api.STREAM.NAMES", "ftpfetch.api.INFO", "ftpfetch.api.CONSUMER.LIST.ftpfetch_WORK", "ftpfetch.api.CONSUMER.NAMES.ftpfetch_WORK",
	"ftpfetch.api.STREAM.INFO.other", "ftpfetch.api.STREAM.MSG.GET.ftpfetch_WORK", "ftpfetch.api.CONSUMER.INFO.ftpfetch_RESULTS.c", "ftpfetch.told.JOBS.abcdefgh", "anything",
}

// refuses checks that a user with the role work gets no answer of the account that holds the fleet to any of asks, and
// that nothing has changed there, wherever the answers go. It returns the number of requests.
func (s *stand) refuses(user *nats.Conn) (n int) {
	s.Helper()
	f := s.admin()
	j := &job{ID: "abcdefgh", State: "ready", Files: 1, Chunks: 1, bounds: bounds{PerHost: 1}}
	must.Get(f.jobs.Create(s.Context(), j.ID, j.text()))(s.T)
	must.Do(s.T, f.meet(s.Context(), j, "h:21"))
	must.Do(s.T, f.send(s.Context(), &chunk{Job: j.ID, ID: "1", Host: "h:21"}))
	for _, subject := range asks {
		n++
		m, err := user.Request(subject, []byte("{}"), patience)
		if err == nil && !strings.Contains(string(m.Data), "JetStream not enabled for account") {
			s.Errorf("%s is answered: %s", subject, m.Data)
		}
		if err != nil && !errors.Is(err, nats.ErrNoResponders) {
			s.Errorf("%s: %v", subject, err)
		}
	}
	// An answer goes to the account that asks. Here it has a subject that the other account stores.
	heard := must.Get(user.SubscribeSync("$KV.ftpfetch_JOBS.>"))(s.T)
	must.Do(s.T, user.PublishRequest("ftpfetch.api.STREAM.INFO.ftpfetch_WORK", "$KV.ftpfetch_JOBS.abcdefgh", nil))
	must.Get(heard.NextMsg(patience))(s.T)
	want := map[string]uint64{"ftpfetch_WORK": 1, "KV_ftpfetch_JOBS": 1, "KV_ftpfetch_HOSTS": 1, "KV_ftpfetch_QUEUES": 1}
	streams := 0
	for stream := range f.js.ListStreams(s.Context()).Info() {
		streams++
		if n := stream.State.LastSeq; n != want[stream.Config.Name] {
			s.Errorf("%s has had %d messages", stream.Config.Name, n)
		}
	}
	if streams != 10 {
		s.Errorf("%d streams", streams)
	}
	return n
}

// TestRolesRaw talks to the embedded server as a foreign program could.
func TestRolesRaw(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	login := func(role, token string) (*nats.Conn, error) {
		return nats.Connect(s.hub.join.Address, nats.UserInfo(role, token), nats.Secure(must.Get(pin(s.hub.join.Certificate))(t)),
			nats.TLSHandshakeFirst())
	}
	c := must.Get(login("work", s.hub.token("work")))(t)
	defer c.Close()
	t.Logf("%d requests", s.refuses(c))
	for _, role := range []string{"look", "work", "add"} {
		if _, err := login(role, s.hub.token("look")); !errors.Is(err, nats.ErrAuthorization) {
			t.Errorf("the token of look is a login of %s: %v", role, err)
		}
	}
}

// TestRolesExisting has a NATS with the accounts that the command accounts prints.
func TestRolesExisting(t *testing.T) {
	t.Parallel()
	var text bytes.Buffer
	if code := execute(t.Context(), []string{"accounts"}, &command{out: &text, err: t.Output()}); code != 0 {
		t.Fatal(code)
	}
	o := new(server.Options)
	must.Do(t, o.ProcessConfigString(text.String()))
	o.Host, o.Port, o.JetStream, o.StoreDir, o.NoSigs = "127.0.0.1", -1, true, t.TempDir(), true
	n := must.Get(server.NewServer(o))(t)
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	tokens := make(map[string]string)
	for _, u := range o.Users {
		tokens[u.Username] = u.Password
	}
	dir := t.TempDir()
	write := func(j join) *stand {
		j.Address = n.ClientURL()
		s := &stand{T: t, file: filepath.Join(dir, j.Role)}
		must.Do(t, j.write(s.file))
		return s
	}
	add, work := write(join{Role: "add", Token: tokens["add"], Work: tokens["work"]}), write(join{Role: "work", Token: tokens["work"]})
	if _, errs, code := work.do("work", "-d", t.TempDir(), "--connect-timeout", "1ms"); code != 7 || !strings.Contains(errs, "role add") {
		t.Errorf("nothing is prepared: exit code %d: %s", code, errs)
	}
	add.want(0, "status")
	c := must.Get(nats.Connect(n.ClientURL(), nats.UserInfo("work", tokens["work"])))(t)
	defer c.Close()
	t.Logf("%d requests", add.refuses(c))
	add.want(0, "cancel", "abcdefgh")
	srv := newFTP(t, 20, 3, testserver.Options{})
	id := add.want(0, "add", "--per-host", "3", srv.list(t, 20))
	work.want(0, "work", "-d", t.TempDir(), "--idle", "2s")
	add.want(0, "wait", id)
	work.want(2, "status")
}

// TestRevoke revokes the tokens while a worker has a file. A worker whose JOIN file gets the new one goes on, and others
// are refused.
func TestRevoke(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, state := filepath.Join(dir, "join"), filepath.Join(dir, "state")
	process(t, "serve", "--dir", state, "--join", file, "--listen", "127.0.0.1:0")
	s := &stand{T: t, file: file}
	eventually(t, "the JOIN file", func() bool { _, err := os.Stat(file); return err == nil })
	old := make(map[string]string)
	for _, role := range []string{"look", "work"} {
		old[role] = filepath.Join(dir, "old-"+role)
		must.Do(t, os.WriteFile(old[role], must.Get(os.ReadFile(file+"."+role))(t), 0o600))
	}
	srv, open := holding(t, 4)
	defer open()
	s.want(0, "add", "--per-host", "2", srv.list(t, 4))
	process(t, "work", "--join", file+".work", "-d", filepath.Join(dir, "a"), "-j", "1")
	refused := processWith(t, nil, "work", "--join", old["work"], "-d", filepath.Join(dir, "b"), "-j", "1", "--connect-timeout", "1s")
	eventually(t, "two transfers", func() bool { return srv.files.Load() == 2 })
	for role := range old {
		s.revokes(state, role)
		eventually(t, "a new JOIN file", func() bool {
			now := must.Get(os.ReadFile(file + "." + role))(t)
			return !bytes.Equal(now, must.Get(os.ReadFile(old[role]))(t))
		})
	}
	if _ = refused.Wait(); refused.ProcessState.ExitCode() != 67 {
		t.Errorf("a worker with a revoked token ends with %v", refused.ProcessState)
	}
	open()
	(&stand{T: t, file: file + ".look"}).want(0, "wait")
	old["add"] = filepath.Join(dir, "old-add")
	must.Do(t, os.WriteFile(old["add"], must.Get(os.ReadFile(file))(t), 0o600))
	s.revokes(state, "add")
	eventually(t, "the old token is refused", func() bool {
		_, _, code := (&stand{T: t, file: old["add"]}).do("status")
		return code == 67
	})
	eventually(t, "the new JOIN file is valid", func() bool {
		_, _, code := s.do("status")
		return code == 0
	})
	for role, name := range old {
		args := map[string][]string{"look": {"status"}, "add": {"add", "-"}, "work": {"work", "-d", dir}}[role]
		(&stand{T: t, file: name}).want(67, args[0], args[1:]...)
	}
	for _, args := range [][]string{{"revoke", "look"}, {"revoke", "--dir", dir, "look"}, {"revoke", "--dir", state, "all"}} {
		if code := execute(t.Context(), args, &command{err: t.Output()}); code != 2 {
			t.Errorf("%q: exit code %d", args, code)
		}
	}
}

// TestRevokeWaiting revokes the token of a command that is under way.
func TestRevokeWaiting(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file, state, old := filepath.Join(dir, "join"), filepath.Join(dir, "state"), filepath.Join(dir, "old")
	process(t, "serve", "--dir", state, "--join", file, "--listen", "127.0.0.1:0")
	s := &stand{T: t, file: file}
	eventually(t, "the JOIN file", func() bool { _, err := os.Stat(file); return err == nil })
	srv := newFTP(t, 1, 3, testserver.Options{})
	s.want(0, "add", srv.list(t, 1))
	must.Do(t, os.WriteFile(old, must.Get(os.ReadFile(file))(t), 0o600))
	lines, told := io.Pipe()
	ended := make(chan int, 1)
	go func() {
		ended <- execute(t.Context(), []string{"wait", "--join", old, "--progress", "json"}, &command{out: t.Output(), err: told})
		told.Close()
	}()
	must.Get(bufio.NewReader(lines).ReadString('\n'))(t)
	go io.Copy(io.Discard, lines)
	s.revokes(state, "add")
	if code := <-ended; code != 67 {
		t.Errorf("wait with a revoked token ends with %d", code)
	}
}

func (s *stand) revokes(state, role string) {
	s.Helper()
	if code := execute(s.Context(), []string{"revoke", "--dir", state, role}, &command{err: s.Output()}); code != 0 {
		s.Fatalf("revoke %s: exit code %d", role, code)
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
		if tokens[j.Token] = true; j.Role != role || len(j.Token) != 64 || !strings.HasPrefix(j.Page, "https://") {
			t.Errorf("%s is %+v", name, j)
		}
		// With look there is no login to NATS, and only add holds two tokens.
		if (j.Address == "") != (role == "look") || (j.Work == "") != (role != "add") || j.Credentials != "" {
			t.Errorf("%s holds %+v", name, j)
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

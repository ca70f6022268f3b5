package main

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// marker is a password that must appear only where the test put it.
const marker = "Xq7Zmarker"

// TestNoSecretTravels gives passwords in every place of add that takes a URL, and has the files fetched. It then
// searches everything that the server holds and sends, the disks, and the titles of the processes.
func TestNoSecretTravels(t *testing.T) {
	t.Parallel()
	s, dir := newStand(t), t.TempDir()
	login := map[string]string{"me": marker}
	srv := newFTP(t, 2, 9, testserver.Options{Users: login, Tree: map[string]string{"/d/pkg@1.0": "at"}})
	at := func(path string) string { return srv.URL("me:" + marker + "@" + path) }
	lists := newFTP(t, 0, 9, testserver.Options{Users: login, Tree: map[string]string{
		"/list": at("/d/000000") + "\n" + at("/d/none") + "\n" + at("/d/pkg@1.0") + "\n", "/names": "000001\n",
	}})
	netrc := filepath.Join(t.TempDir(), "netrc")
	must.Do(t, os.WriteFile(netrc, []byte("machine 127.0.0.1 login me password "+marker+"\n"), 0o600))
	list := lists.URL("me:" + marker + "@/list")
	here := filepath.Join(t.TempDir(), "list")
	must.Do(t, os.WriteFile(here, []byte(at("/d/000000")+"\n"+srv.URL("/d/000001")+"\n"), 0o600))
	var said strings.Builder
	tell := func(out, errs string, _ int) { said.WriteString(out + errs) }
	for _, args := range [][]string{
		{list}, {"--json", list}, {"-i", list}, {"--input=" + list}, {"--manifest=" + list}, {"--manifest", list},
		{"--base", at("/d/"), lists.URL("me:" + marker + "@/names")}, {here}, {"-u", "me:" + marker, here}, {"-u", "me", here},
	} {
		out, errs, code := s.do("add", args...)
		if tell(out, errs, code); code != 0 {
			t.Errorf("add %q: exit code %d: %s", args, code, errs)
		}
	}
	worker := processWith(t, []string{"NETRC=" + netrc}, "work", "--join", s.file, "-d", dir, "--shared", "-j", "2")
	for _, j := range must.Get(s.admin().jobsNow(t.Context()))(t) {
		for _, args := range [][]string{{"wait", j.ID, "--json"}, {"wait", j.ID}, {"status", j.ID, "--json"}, {"status"}, {"report", j.ID}} {
			tell(s.do(args[0], args[1:]...))
		}
	}
	if !strings.Contains(said.String(), "pkg@1.0") || !strings.Contains(said.String(), "2 of 3 files, 1 failed") {
		t.Error("the files are not those that were asked for")
	}
	look := func(where, text string) {
		t.Helper()
		if i := strings.Index(text, marker); i >= 0 {
			t.Errorf("%s: %q", where, text[max(0, i-100):min(len(text), i+100)])
		}
	}
	look("what was said", said.String())
	title := must.Get(os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", worker.Process.Pid)))(t)
	look("title", string(title))
	messages := 0
	for stream := range s.admin().js.ListStreams(t.Context()).Info() {
		look("stream", fmt.Sprintf("%+v", *stream))
		from := must.Get(s.admin().js.Stream(t.Context(), stream.Config.Name))(t)
		for n := stream.State.FirstSeq; n <= stream.State.LastSeq; n++ {
			if m, err := from.GetMsg(t.Context(), n); err == nil {
				messages++
				look(stream.Config.Name, m.Subject+fmt.Sprint(m.Header)+string(unzip(m.Data)))
			}
		}
	}
	if messages < 30 {
		t.Errorf("only %d messages were looked at", messages)
	}
	kill(worker)
	for _, root := range []string{s.state, dir} {
		must.Do(t, filepath.WalkDir(root, func(name string, e fs.DirEntry, err error) error {
			if err == nil && e.Type().IsRegular() {
				look(name, name+string(must.Get(os.ReadFile(name))(t)))
			}
			return err
		}))
	}
}

// TestNoSecretShown gives invalid addresses, URLs and operands with a password. No error may show it.
func TestNoSecretShown(t *testing.T) {
	s := newStand(t)
	cases := 0
	check := func(s *stand, name string, args ...string) {
		t.Helper()
		cases++
		out, errs, code := s.do(name, args...)
		if strings.Contains(out+errs, marker) || code == 0 || errs == "" {
			t.Errorf("%s %q: exit code %d: %s%s", name, args, code, out, errs)
		}
	}
	for _, address := range []string{
		"nats://me:%s@h:bad", "nats://me:%s@h:1:2", "me:%s@h:bad", "me:%s@[::1", "nats://me:%s@[::1", "nats://me:%s@", "nats://me:%s", "me:%s",
		"nats://me:%s/x@h:1", "nats://me:%s?x@h:1", "nats://me:%s#x@h:1", "nats://me:%%zz%s@h:1", "://me:%s@h", "nats://me:%s@h:1,nats://me:%s@h:x", "nats://me:%s@h 1",
		"nats://me:%s@127.0.0.1:1", "me:%s@127.0.0.1:1", "nats://%s@127.0.0.1:1", "%s@127.0.0.1:1", "http://me:%s@h", "nats://me:1%s@h:99999", "nats://me:\x01%s@h:1", "nats:me:%s@h:1", "wss://me:%s@127.0.0.1:1", "tls://me:%s@127.0.0.1:1",
		"nats://me:%s@127.0.0.1:1/x/%s", " nats://me:%s@127.0.0.1:1",
	} {
		mine := *s
		mine.file = filepath.Join(t.TempDir(), "join")
		must.Do(t, (&join{Address: strings.ReplaceAll(address, "%s", marker)}).write(mine.file))
		check(&mine, "status")
	}
	u := "ftp://me:" + marker + "@h"
	for _, operand := range []string{u, u + "/list", u + ":x/list", "me:" + marker + "@h", "ftp:/me:" + marker + "@h/x", "ftp:me:" + marker + "@h/x", "ftp://me%3A" + marker + "@h/x", "sftp://me:" + marker + "@h/"} {
		for _, name := range []string{"status", "wait", "cancel", "report"} {
			check(s, name, operand)
		}
		check(s, "work", operand)
		check(s, "serve", operand)
		check(s, operand)
		check(s, "serve", "--dir", t.TempDir(), "--listen", operand)
		check(s, "work", "-d", t.TempDir(), "--name", operand)
		check(s, "work", "-d", t.TempDir(), "--egress", operand)
		check(s, "add", "--proxy="+operand, "x")
		check(s, "add", "--proxy", operand)
		check(s, "add", operand, "--connect-timeout=1")
	}
	for _, line := range []string{
		"ftp://a/ftp://me:" + marker + "@b/f", "ftp://a/x/ftp:%2F%2Fme:" + marker + "@b/f", "ftp://me%3A" + marker + "@a/f", "ftp://a//me:" + marker + "@b", "ftp://a/f ftp://b/ftp://me:" + marker + "@c/f",
	} {
		list := filepath.Join(t.TempDir(), "list.tsv")
		must.Do(t, os.WriteFile(list, []byte("urls\tpath\nftp://h/f\tg\n"+line+"\tf\n"), 0o600))
		check(s, "add", list)
	}
	if info := must.Get(s.admin().work.Info(t.Context()))(t); info.State.LastSeq != 0 {
		t.Error("something was sent of a list that cannot be added")
	}
	t.Logf("%d cases", cases)
}

// TestNoSecretOnLine checks everything that an existing NATS receives and shows, given an address with a password.
func TestNoSecretOnLine(t *testing.T) {
	t.Parallel()
	n := must.Get(server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true, Username: "me", Password: marker}))(t)
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	s, srv := &stand{T: t, file: filepath.Join(t.TempDir(), "join")}, newFTP(t, 1, 9, testserver.Options{})
	at := must.Get(url.Parse(n.ClientURL()))(t)
	at.User = url.UserPassword("me", marker)
	must.Do(t, (&join{Address: at.String()}).write(s.file))
	var seen strings.Builder
	var mu sync.Mutex
	c := must.Get(nats.Connect(at.String()))(t)
	defer c.Close()
	must.Get(c.Subscribe(">", func(m *nats.Msg) {
		mu.Lock()
		defer mu.Unlock()
		fmt.Fprintf(&seen, "%s %v %s\n", m.Subject, m.Header, m.Data)
	}))(t)
	s.want(0, "add", srv.list(t, 1))
	ctx, stop := context.WithTimeout(t.Context(), patience)
	defer stop()
	go execute(ctx, []string{"work", "--join", s.file, "-d", t.TempDir()}, &command{err: io.Discard})
	s.want(0, "wait")
	conns := must.Get(n.Connz(&server.ConnzOptions{Subscriptions: true}))(t)
	mu.Lock()
	defer mu.Unlock()
	if text := seen.String() + fmt.Sprintf("%+v", conns.Conns); strings.Contains(text, marker) || !strings.Contains(text, "results.") {
		t.Errorf("seen: %.2000s", text)
	}
}

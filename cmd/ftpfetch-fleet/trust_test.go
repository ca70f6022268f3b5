package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// TestStrangers checks that only a client with the JOIN file is let in.
func TestStrangers(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	other := newStand(t)
	for name, tt := range map[string]struct {
		change func(*join)
		code   int
	}{
		"the right one":       {func(*join) {}, 2}, // but there is no job
		"wrong token":         {func(j *join) { j.Token = strings.Repeat("0", 64) }, 67},
		"no token":            {func(j *join) { j.Token = "" }, 67},
		"foreign certificate": {func(j *join) { j.Certificate = other.hub.join.Certificate }, 60},
		"plain text":          {func(j *join) { j.Certificate = "" }, 43},
		"nobody there":        {func(j *join) { j.Address = "127.0.0.1:1" }, 7},
	} {
		t.Run(name, func(t *testing.T) {
			mine := *s
			j := s.hub.join
			tt.change(&j)
			if j.Token != s.hub.join.Token {
				j.Work = j.Token
			}
			mine.T, mine.file = t, filepath.Join(t.TempDir(), "join")
			must.Do(t, j.write(mine.file))
			if info := must.Get(os.Stat(mine.file))(t); info.Mode().Perm() != 0o600 {
				t.Errorf("the file has mode %o", info.Mode().Perm())
			}
			out, errs, code := mine.do("wait")
			if code != tt.code || strings.Contains(out+errs, s.hub.join.Token) || code != 2 && strings.Contains(errs, "no job") {
				t.Errorf("exit code %d, want %d: %s", code, tt.code, errs)
			}
			if code != 2 {
				_, errs, got := mine.do("work", "-d", t.TempDir(), "--connect-timeout", "1s")
				if got != tt.code || strings.Count(errs, "\n") != 1 || strings.Contains(errs, s.hub.join.Token) {
					t.Errorf("work: exit code %d, want %d: %s", got, tt.code, errs)
				}
			}
			must.Do(t, os.Chmod(mine.file, 0o640))
			if _, errs, code := mine.do("status"); code != 2 || !strings.Contains(errs, "chmod 600") {
				t.Errorf("a file that others can read: exit code %d: %s", code, errs)
			}
		})
	}
	pinned := must.Get(pin(s.hub.join.Certificate))(t)
	pinned.MinVersion, pinned.MaxVersion = tls.VersionTLS12, tls.VersionTLS12
	if _, err := tls.Dial("tcp", s.hub.join.Address, pinned); err == nil {
		t.Error("TLS 1.2 is enough")
	}
	// Before the handshake, the server sends nothing.
	c := must.Get(net.Dial("tcp", s.hub.join.Address))(t)
	defer c.Close()
	must.Do(t, c.SetReadDeadline(time.Now().Add(time.Second/2)))
	if n, err := c.Read(make([]byte, 1)); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("the server says something in plain text: %v", err)
	}
	if s.hub.Server.MonitorAddr() != nil {
		t.Error("there is a port for monitoring")
	}
}

// TestPlain has a NATS without TLS, which may be on another machine.
func TestPlain(t *testing.T) {
	t.Parallel()
	n := must.Get(server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true}))(t)
	n.Start()
	t.Cleanup(func() { n.Shutdown(); n.WaitForShutdown() })
	s := &stand{T: t, file: filepath.Join(t.TempDir(), "join")}
	port := n.Addr().(*net.TCPAddr).Port
	list := newFTP(t, 0, 1, testserver.Options{}).list(t, 1)
	for _, tt := range []struct {
		address string
		flags   []string
		code    int
	}{
		{"nats://0.0.0.0:%d", nil, 35}, {"0.0.0.0:%d", nil, 35}, {"nats://127.0.0.1:%d,nats://0.0.0.0:%[1]d", nil, 35},
		{"ws://0.0.0.0:%d", nil, 2}, {"nats://0.0.0.0:%d", []string{"--insecure"}, 0}, {"nats://127.0.0.1:%d", nil, 0}, {"localhost:%d", nil, 0},
	} {
		must.Do(t, (&join{Address: fmt.Sprintf(tt.address, port), Token: "secret"}).write(s.file))
		for name, operand := range map[string]string{"status": "", "add": list} {
			args := append(slices.Clone(tt.flags), strings.Fields(operand)...)
			if _, errs, code := s.do(name, args...); code != tt.code || code != 0 && strings.Count(errs, "\n") != 1 {
				t.Errorf("%s with %s %v: exit code %d: %s", name, tt.address, tt.flags, code, errs)
			}
		}
	}
}

// TestState checks who may own the directory of the state, and that the state outlives the server.
func TestState(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	if _, err := startHub(s.state, "127.0.0.1:0", "", t.Logf); err == nil || !strings.Contains(err.Error(), "another server") {
		t.Errorf("two servers have one directory: %v", err)
	}
	_ = filepath.Walk(s.state, func(name string, info os.FileInfo, err error) error {
		if name == s.state && info.Mode().Perm() != 0o700 {
			t.Errorf("%s has mode %o", name, info.Mode().Perm())
		}
		return err
	})
	before := s.hub.join
	s.hub.stop()
	must.Do(t, os.Chmod(s.state, 0o755))
	if _, err := startHub(s.state, "127.0.0.1:0", "", t.Logf); err == nil || !strings.Contains(err.Error(), "chmod 700") {
		t.Errorf("others can read the state: %v", err)
	}
	must.Do(t, os.Chmod(s.state, 0o700))
	s.serve(before.Address)
	if now := s.hub.join; now.Address+now.Page+now.Token+now.Certificate != before.Address+before.Page+before.Token+before.Certificate {
		t.Error("the JOIN file of before is not valid any more")
	}
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer l.Close()
	if _, err := startHub(filepath.Join(t.TempDir(), "x"), l.Addr().String(), "", t.Logf); err == nil || !strings.Contains(err.Error(), "in use") {
		t.Errorf("the port is taken: %v", err)
	}
}

// TestOtherState starts servers with the STATE of other versions: before the roles were accounts, with other accounts or
// names, and with other settings of a stream. Each must say so in one line that says what to do, and change nothing.
func TestOtherState(t *testing.T) {
	t.Parallel()
	dirs := make(map[string]string)
	for _, streams := range []string{"$G/streams/WORK", "$G/streams/ftpfetch_WORK", "add/streams/ftpfetch_WORK", "ftpfetch_add/streams/WORK"} {
		dirs[streams] = filepath.Join(t.TempDir(), "[old]")
		must.Do(t, os.MkdirAll(filepath.Join(dirs[streams], "jetstream", streams), 0o700))
	}
	s := newStand(t)
	f := s.admin()
	stream := must.Get(f.js.Stream(t.Context(), "KV_ftpfetch_WORKERS"))(t)
	changed := stream.CachedInfo().Config
	changed.MaxAge = time.Hour
	must.Get(f.js.UpdateStream(t.Context(), changed))(t)
	s.hub.stop()
	dirs["other settings"] = s.state
	for name, dir := range dirs {
		h, err := startHub(dir, "127.0.0.1:0", "", t.Logf)
		if err == nil {
			h.stop()
		}
		text, code := explain(err)
		if code != 2 || !strings.Contains(text, dir+" is of another version") || !strings.Contains(text, "new --dir") || strings.Contains(text, "\n") {
			t.Errorf("%s: exit code %d: %s", name, code, text)
		}
		if _, err := os.Stat(filepath.Join(dir, identityName)); err == nil && dir != s.state {
			t.Errorf("%s: the server has written to STATE", name)
		}
	}
	must.Do(t, os.RemoveAll(s.state))
	s.serve(s.hub.join.Address)
}

// TestLate starts a worker before the server.
func TestLate(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.hub.stop()
	join, found := s.hub.join, make(chan error, 1)
	go func() {
		f, err := join.open(context.Background(), "late", patience, func() {})
		if err == nil {
			f.Close()
		}
		found <- err
	}()
	s.serve(s.hub.join.Address)
	must.Do(t, <-found)
	if _, err := nats.Connect(s.hub.join.Address, nats.Timeout(time.Second)); err == nil {
		t.Error("a client without TLS got in")
	}
}

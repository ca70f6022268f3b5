package main

import (
	"context"
	"crypto/tls"
	"encoding/pem"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/throwaway"
	"example.com/ftpfetch/testserver"
)

// TestNetrcAgain has a worker with a wrong password, which leaves the host. The test then corrects its netrc file.
func TestNetrcAgain(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	srv, _ := strict(t, 3, nil)
	s.want(0, "add", mine(t, srv, 3))
	file := filepath.Join(t.TempDir(), "netrc")
	at := time.Unix(1e9, 0)
	write := func(text string) {
		fresh := filepath.Join(t.TempDir(), "fresh")
		must.Do(t, os.WriteFile(fresh, []byte(text), 0o600))
		at = at.Add(time.Second)
		must.Do(t, os.Chtimes(fresh, at, at))
		must.Do(t, os.Rename(fresh, file))
	}
	write("machine 127.0.0.1 login me password wrong\n")
	said, _ := s.startsWith(file, "w", t.TempDir(), 1)
	eventually(t, "the worker leaves", func() bool { return strings.Contains(said.String(), "leaves") })
	write("machine 127.0.0.1 login me password \"right\n")
	eventually(t, "the worker says that the file is malformed", func() bool { return strings.Contains(said.String(), "go on") })
	write("machine 127.0.0.1 login me password right\n")
	if got := facts(s.want(0, "wait", "--json")); got != "done 3 3 0 0" {
		t.Error(got)
	}
	if strings.Contains(said.String(), "right") || strings.Contains(said.String(), "wrong") {
		t.Errorf("a password is shown: %s", said.String())
	}
}

// TestRoots has a server whose certificate is valid only with --cacert.
func TestRoots(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	s.want(2, "work", "-d", t.TempDir(), "--cacert", s.file)
	s.want(23, "work", "-d", t.TempDir(), "--cacert", filepath.Join(t.TempDir(), "none"))
	known := httptest.NewTLSServer(nil) // has a certificate for 127.0.0.1
	defer known.Close()
	srv := newFTP(t, 2, 9, testserver.Options{Scheme: "ftps", TLSConfig: known.TLS})
	file := filepath.Join(t.TempDir(), "roots.pem")
	block := pem.Block{Type: "CERTIFICATE", Bytes: known.Certificate().Raw}
	must.Do(t, os.WriteFile(file, pem.EncodeToMemory(&block), 0o600))
	s.want(0, "add", srv.list(t, 2))
	s.want(0, "work", "-d", t.TempDir(), "--cacert", file, "--idle", "1s")
	if got := facts(s.want(0, "wait", "--json")); got != "done 2 2 0 0" {
		t.Error(got)
	}
}

// TestRootsOwn has a server whose certificate is for another host, and trusts it with that certificate in --cacert, but
// not with one of its kind.
func TestRootsOwn(t *testing.T) {
	t.Parallel()
	own, other := must.Get(throwaway.New("printer.local"))(t), must.Get(throwaway.New("printer.local"))(t)
	srv := newFTP(t, 2, 9, testserver.Options{Scheme: "ftpes", TLSConfig: &tls.Config{Certificates: []tls.Certificate{own.Server}}})
	for code, id := range map[int]*throwaway.Identity{0: own, 60: other} {
		s := newStand(t)
		name := filepath.Join(t.TempDir(), "own.pem")
		block := pem.Block{Type: "CERTIFICATE", Bytes: id.Server.Certificate[0]}
		must.Do(t, os.WriteFile(name, pem.EncodeToMemory(&block), 0o600))
		s.want(0, "add", srv.list(t, 2))
		s.want(0, "work", "-d", t.TempDir(), "--cacert", name, "--idle", "1s")
		s.want(code, "wait", "--json")
	}
}

// TestRootsAgain has a worker that trusts an authority other than the server's, and leaves the host. The test then
// replaces the file of --cacert.
func TestRootsAgain(t *testing.T) {
	t.Parallel()
	s, said := newStand(t), new(saying)
	known := httptest.NewTLSServer(nil) // has a certificate for 127.0.0.1
	defer known.Close()
	srv := newFTP(t, 2, 9, testserver.Options{Scheme: "ftps", TLSConfig: known.TLS})
	file := filepath.Join(t.TempDir(), "roots.pem")
	must.Do(t, os.WriteFile(file, must.Get(newIdentity())(t), 0o600))
	must.Do(t, os.Chtimes(file, time.Unix(1e9, 0), time.Unix(1e9, 0)))
	s.want(0, "add", srv.list(t, 2))
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		args := []string{"work", "--join", s.file, "-d", t.TempDir(), "--cacert", file, "-j", "1"}
		execute(ctx, args, &command{out: said, err: said})
	}()
	eventually(t, "the worker leaves", func() bool { return strings.Contains(said.String(), "leaves") })
	fresh := filepath.Join(t.TempDir(), "fresh")
	block := pem.Block{Type: "CERTIFICATE", Bytes: known.Certificate().Raw}
	must.Do(t, os.WriteFile(fresh, pem.EncodeToMemory(&block), 0o600))
	must.Do(t, os.Rename(fresh, file))
	eventually(t, "the files are fetched", func() bool { return strings.Contains(s.want(0, "status"), "2 of 2 files") })
	stop()
	<-ended
}

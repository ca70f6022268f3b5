#!/usr/bin/env bash
# A NATS server that runs gets JetStream, but what should be its directory is a file (the disk is not mounted, say). An
# operator has three ways: start the server anew, reload its configuration, or, where the server is embedded, EnableJetStream.
#
# Guess: all three fail alike: an error, no JetStream, and /healthz is not 200.
# Seen (nats-server 2.15.2): the start ends the process with "Can't start JetStream". The reload succeeds: ReloadOptions
# returns nil, the log has a warning and then "Reloaded server configuration", JetStream is off and /healthz is 503; the
# same reload again does the same. EnableJetStream returns the error, and from then on JetStreamEnabled is true and
# /healthz is 200, while each client is told that JetStream is not enabled. A reload with a directory that could be used
# is refused then, because that of a running JetStream cannot change.
# Why it matters: who trusts the result of a reload, or the health check after an error, sends clients to a server that
# stores nothing. Only a request of a client tells.
source "$(dirname "$0")/kit/kit.bash"
cat >main.go <<'END'
package main

import (
	"errors"
	"fmt"
	"log"
	"net/http"
	"os"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
)

// options are those of a server with JetStream in a directory, or without JetStream.
func options(dir string) *server.Options {
	return &server.Options{
		Host: "127.0.0.1", Port: -1, HTTPHost: "127.0.0.1", HTTPPort: -1, JetStream: dir != "", StoreDir: dir, NoSigs: true,
	}
}

func start(dir string) *server.Server {
	s, err := server.NewServer(options(dir))
	if err != nil {
		log.Fatal(err)
	}
	s.SetLogger(logger{}, false, false)
	go s.Start()
	if !s.ReadyForConnections(10 * time.Second) {
		log.Fatal("the server does not start")
	}
	return s
}

// logger prints what is worse than a warning.
type logger struct{ server.Logger }

func (logger) Noticef(string, ...any) {}
func (logger) Warnf(string, ...any)   {}
func (logger) Debugf(string, ...any)  {}
func (logger) Tracef(string, ...any)  {}
func (logger) Errorf(format string, args ...any) {
	fmt.Println("error:", fmt.Sprintf(format, args...))
}
func (logger) Fatalf(format string, args ...any) {
	fmt.Println("fatal:", fmt.Sprintf(format, args...))
	os.Exit(1)
}

// tell prints what the server says of its JetStream, and what a client is told.
func tell(s *server.Server, did string, err error) {
	fmt.Printf("%s: %v\n", did, err)
	r, err := http.Get("http://" + s.MonitorAddr().String() + "/healthz")
	if err != nil {
		log.Fatal(err)
	}
	r.Body.Close()
	conn, err := nats.Connect(s.ClientURL())
	if err != nil {
		log.Fatal(err)
	}
	defer conn.Close()
	js, err := conn.JetStream()
	if err == nil {
		_, err = js.AccountInfo()
	}
	fmt.Printf("  enabled %v, health %d, refused to a client %v\n", s.JetStreamEnabled(), r.StatusCode, errors.Is(err, nats.ErrJetStreamNotEnabled))
}

func main() {
	if err := os.WriteFile("file", nil, 0o600); err != nil {
		log.Fatal(err)
	}
	if len(os.Args) > 1 {
		start("file/store")
		return
	}
	s := start("")
	defer s.Shutdown()
	for range 2 {
		tell(s, "reload", s.ReloadOptions(options("file/store")))
	}
	tell(s, "EnableJetStream", s.EnableJetStream(&server.JetStreamConfig{StoreDir: "file/store"}))
	tell(s, "reload, another directory", s.ReloadOptions(options("store")))
}
END
go mod init reload 2>/dev/null
go get github.com/nats-io/nats-server/v2@v2.15.2 github.com/nats-io/nats.go@v1.55.0 2>/dev/null
go mod tidy 2>/dev/null
go build -o reload .

expect 'a start' "fatal: Can't start JetStream: storage directory is not a directory" "$(limited ./reload start || true)"
expect 'a server that runs' 'reload: <nil>
  enabled false, health 503, refused to a client true
reload: <nil>
  enabled false, health 503, refused to a client true
EnableJetStream: storage directory is not a directory
  enabled true, health 200, refused to a client true
reload, another directory: config reload not supported for jetstream storage directory
  enabled true, health 200, refused to a client true' "$(limited ./reload)"

package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"example.com/ftpfetch/internal/local/disk"
)

// hub is an embedded server.
type hub struct {
	*server.Server
	lock     *os.File
	join     join   // the JOIN file of the role add
	secret   string // has the private key; the tokens are derived from it
	identity tls.Certificate
}

const (
	mostStored  = 16 << 30
	mostMemory  = 64 << 20 // nothing is stored in memory only
	mostPayload = 4 << 20
)

// serve runs the server until ctx ends.
func serve(ctx context.Context, c *command) error {
	if c.dir == "" || c.join == "" {
		return usage("serve needs --dir STATE and --join FILE")
	}
	files := []string{c.join + ".look", c.join + ".work", c.join}
	for _, name := range files {
		if _, err := readJoin(name, true); err != nil && !errors.Is(err, os.ErrNotExist) { // serve would overwrite it
			return err
		}
	}
	debug.SetGCPercent(50)
	h, err := startHub(c.dir, c.listen, c.line)
	if err != nil {
		return err
	}
	defer h.stop()
	for i, name := range files {
		j := h.as(roles[i])
		if err = j.write(name); err != nil {
			return err
		}
	}
	c.line("serving %s; %s lets others join, %s only work, %s only look", h.join.Address,
		c.join, files[1], files[0])
	if c.http != "" {
		stop, at, err := h.serveBoard(ctx, c.http)
		if err != nil {
			return err
		}
		defer stop()
		c.line("%s shows jobs, hosts and workers", at)
	}
	<-ctx.Done()
	return nil
}

// startHub starts a server whose state is in dir: the jobs, and the certificate and token, so that JOIN files stay
// valid.
func startHub(dir, listen string, line func(string, ...any)) (_ *hub, err error) {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || strings.Contains(listen, "@") { // it may have a password, and must not be shown
		return nil, usage("--listen: write HOST:PORT, such as 127.0.0.1:4222")
	}
	probe, err := net.Listen("tcp", listen) // the server itself would only log the error
	if err != nil {
		return nil, usage("--listen %s: %v", listen, err)
	}
	number := probe.Addr().(*net.TCPAddr).Port
	probe.Close()
	if port == "0" {
		number = server.RANDOM_PORT
	}
	h := new(hub)
	if h.lock, err = own(dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			h.lock.Close()
		}
	}()
	if h.identity, err = h.identify(dir); err != nil {
		return nil, err
	}
	h.Server, err = server.NewServer(h.options(dir, host, number))
	if err != nil {
		return nil, err
	}
	h.SetLoggerV2(serverLog(line), false, false, false)
	go h.Start()
	if !h.ReadyForConnections(20 * time.Second) {
		h.Shutdown()
		return nil, errors.New("the server does not start")
	}
	at := h.Addr().(*net.TCPAddr)
	h.join = h.as("add")
	h.join.Address = at.String()
	// The other roles may not create the streams.
	f, err := h.join.open(context.Background(), "serve", asking, func() {})
	if err != nil {
		h.Shutdown()
		return nil, err
	}
	if at.IP.IsUnspecified() {
		host, err = os.Hostname()
	}
	h.join.Address = net.JoinHostPort(host, strconv.Itoa(at.Port))
	f.Close()
	return h, err
}

// options returns the options of the server. With the defaults it would listen on all addresses, without authentication
// or TLS.
func (h *hub) options(dir, host string, port int) *server.Options {
	return &server.Options{
		Host: host, Port: port, Users: h.users(), // the server compares their tokens in constant time
		TLSConfig: &tls.Config{
			MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{h.identity},
		},
		TLSHandshakeFirst: true, TLSTimeout: 5,
		JetStream: true, StoreDir: dir, JetStreamMaxStore: mostStored, JetStreamMaxMemory: mostMemory,
		JetStreamLimits: server.JSLimitOpts{DefaultMaxConsumers: -1}, // one per host; the default is 1,000
		SyncInterval:    10 * time.Second, MaxPayload: mostPayload, NoSigs: true,
	}
}

func (h *hub) stop() {
	h.Shutdown()
	h.WaitForShutdown()
	h.lock.Close()
}

// own creates the directory of the state, which only this user may read, and locks it: two servers would destroy it.
func own(dir string) (lock *os.File, err error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	if info, err := os.Stat(dir); err != nil {
		return nil, err
	} else if !disk.Ours(info) || info.Mode().Perm()&0o077 != 0 {
		return nil, usage("%s holds secrets and is open to other users: run chmod 700 %s as its owner", dir, dir)
	}
	lock, err = os.OpenFile(filepath.Join(dir, "lock"), os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, err
	}
	if taken, _ := disk.Lock(lock); taken {
		lock.Close()
		return nil, fmt.Errorf("another server uses %s", dir)
	}
	return lock, nil
}

// identify reads the certificate and its key, or creates them. The tokens are derived from them.
func (h *hub) identify(dir string) (identity tls.Certificate, err error) {
	name := filepath.Join(dir, "identity.pem")
	text, err := os.ReadFile(name)
	if errors.Is(err, os.ErrNotExist) {
		if text, err = newIdentity(); err == nil {
			err = writeSecret(name, text)
		}
	}
	if err != nil {
		return identity, err
	}
	if identity, err = tls.X509KeyPair(text, text); err != nil {
		return identity, fmt.Errorf("%s: %w", name, err)
	}
	h.secret = string(text)
	block := pem.Block{Type: "CERTIFICATE", Bytes: identity.Certificate[0]}
	h.join.Certificate = string(pem.EncodeToMemory(&block))
	return identity, nil
}

// newIdentity creates a certificate with its key.
func newIdentity() (text []byte, err error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	// A client that pins the certificate checks no name and no time.
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<33, 0),
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		return nil, err
	}
	private, err := x509.MarshalPKCS8PrivateKey(key)
	for _, b := range []pem.Block{
		{Type: "CERTIFICATE", Bytes: certificate}, {Type: "PRIVATE KEY", Bytes: private},
	} {
		text = append(text, pem.EncodeToMemory(&b)...)
	}
	return text, err
}

// serverLog shows the server's messages about failures.
type serverLog func(format string, args ...any)

func (l serverLog) Fatalf(format string, v ...any) { l("server: "+format, v...) }
func (l serverLog) Errorf(format string, v ...any) { l("server: "+format, v...) }
func (l serverLog) Warnf(string, ...any)           {}
func (l serverLog) Noticef(string, ...any)         {}
func (l serverLog) Debugf(string, ...any)          {}
func (l serverLog) Tracef(string, ...any)          {}

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
	"io/fs"
	"math/big"
	"net"
	"os"
	"path"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"example.com/ftpfetch/internal/local/disk"
)

// hub is an embedded server.
type hub struct {
	*server.Server
	space    space
	dir      string
	host     string // where the server listens
	port     int
	lock     *os.File
	join     join   // the JOIN file of the role add
	secret   string // has the private key; the tokens are derived from it
	identity tls.Certificate
	room     atomic.Pointer[room]
	measured chan struct{}                  // closed when room is kept up to date no more
	revoked  atomic.Pointer[map[string]int] // how often the tokens of each role were revoked
	board    *board                         // what the role look may see
	unlook   func()                         // ends that
	untend   func()                         // ends tend
}

const (
	mostStored  = 16 << 30
	mostMemory  = 64 << 20 // nothing is stored in memory only
	mostPayload = 4 << 20
	syncing     = 10 * time.Second // how often JetStream flushes to the disk
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
	h, err := startHub(c.dir, c.listen, c.look, c.line)
	if err != nil {
		return err
	}
	defer h.stop()
	if err = h.writeFiles(files); err != nil {
		return err
	}
	c.line("serving %s; %s lets others join, %s only work, %s only look, at %s", h.join.Address,
		c.join, files[1], files[0], h.join.Page)
	if c.http != "" {
		stop, at, err := h.servePage(c.http)
		if err != nil {
			return err
		}
		defer stop()
		c.line("%s shows jobs, hosts and workers", at)
	}
	for wait(ctx, time.Second) {
		changed, err := h.reread()
		if err == nil && changed {
			err = h.writeFiles(files)
		}
		if err != nil {
			c.line("%s: %v: the tokens of before stay valid", filepath.Join(c.dir, revokedName), err)
		} else if changed {
			c.line("tokens were revoked: the JOIN files are new")
		}
	}
	return nil
}

// writeFiles writes the JOIN file of each role.
func (h *hub) writeFiles(names []string) error {
	for i, name := range names {
		j := h.as(roles[i])
		if err := j.write(name); err != nil {
			return err
		}
	}
	return nil
}

// startHub starts a server whose state is in dir: the jobs, and the certificate and token, so that JOIN files stay
// valid. look is where it shows what the role look may see; by default, that is beside listen.
func startHub(dir, listen, look string, line func(string, ...any)) (_ *hub, err error) {
	h := &hub{space: "ftpfetch", dir: dir, unlook: func() {}, untend: func() {}}
	if err = h.choose(listen); err != nil {
		return nil, err
	}
	if h.lock, err = own(dir); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			h.stop()
		}
	}()
	if err = h.checkState(); err != nil {
		return nil, err
	}
	if h.identity, err = h.identify(dir); err != nil {
		return nil, err
	}
	revoked, err := readRevoked(dir)
	if err != nil {
		return nil, err
	}
	h.revoked.Store(&revoked)
	o, err := h.options()
	if err != nil {
		return nil, err
	}
	if h.Server, err = server.NewServer(o); err != nil {
		return nil, err
	}
	h.SetLoggerV2(serverLog(line), false, false, false)
	go h.Start()
	if !h.ReadyForConnections(20 * time.Second) {
		return nil, errors.New("the server does not start")
	}
	at := h.Addr().(*net.TCPAddr)
	h.port = at.Port
	h.join = h.as("add")
	h.join.as = "add"
	h.join.reread = func() (*join, error) { return &join{Role: "add", Token: h.token("add")}, nil }
	h.join.Address = at.String()
	if err = h.showLook(look, line); err != nil { // it also creates the streams
		return nil, err
	}
	if at.IP.IsUnspecified() {
		h.host, err = os.Hostname()
	}
	h.join.Address = net.JoinHostPort(h.host, strconv.Itoa(at.Port))
	return h, err
}

// otherVersion says that a STATE has what this version does not read.
const otherVersion = "%s is of another version of ftpfetch-fleet: finish its jobs with that version, or save their " +
	"reports, then use a new --dir"

// checkState refuses a STATE whose jobs this version would not see, because they are in another account of NATS or in
// streams with other names.
func (h *hub) checkState() error {
	found, _ := fs.Glob(os.DirFS(h.dir), "jetstream/*/streams/*WORK")
	ours := path.Join("jetstream", h.space.named("add"), "streams", h.space.named("WORK"))
	if slices.ContainsFunc(found, func(name string) bool { return name != ours }) {
		return usage(otherVersion, h.dir)
	}
	return nil
}

// choose checks where the server is to listen.
func (h *hub) choose(listen string) error {
	host, port, err := net.SplitHostPort(listen)
	if err != nil || strings.Contains(listen, "@") { // it may have a password, and must not be shown
		return usage("--listen: write HOST:PORT, such as 127.0.0.1:4222")
	}
	probe, err := net.Listen("tcp", listen) // the server itself would only log the error
	if err != nil {
		return usage("--listen %s: %v", listen, err)
	}
	h.host = host
	h.port = probe.Addr().(*net.TCPAddr).Port
	probe.Close()
	if port == "0" {
		h.port = server.RANDOM_PORT
	}
	return nil
}

// fill sets the options that are not about accounts.
func (h *hub) fill(o *server.Options) {
	o.Host = h.host
	o.Port = h.port
	o.TLSConfig = &tls.Config{
		MinVersion: tls.VersionTLS13, Certificates: []tls.Certificate{h.identity},
	}
	o.TLS = true
	o.TLSHandshakeFirst = true
	o.TLSTimeout = 5
	o.JetStream = true
	o.StoreDir = h.dir
	o.JetStreamMaxStore = mostStored
	o.JetStreamMaxMemory = mostMemory
	o.JetStreamLimits.DefaultMaxConsumers = -1 // one per host; the default is 1,000
	o.SyncInterval = syncing
	o.MaxPayload = mostPayload
	o.NoSigs = true
}

// lookName names the file in STATE with the port where the role look is served, so that JOIN files stay valid.
const lookName = "look-port"

// showLook serves the role look over HTTPS.
func (h *hub) showLook(address string, line func(string, ...any)) (err error) {
	if address == "" {
		port, _ := os.ReadFile(filepath.Join(h.dir, lookName))
		address = net.JoinHostPort(h.host, string(port))
	}
	h.board, err = h.newBoard()
	if errors.Is(err, errNotOurs) {
		return usage(otherVersion, h.dir)
	}
	if err != nil {
		return err
	}
	stop, at, err := h.board.serve(address, false)
	if err != nil {
		return usage("--look %s: %v", shown(address), err)
	}
	h.unlook = stop
	port := strconv.Itoa(at.Port)
	host, _, _ := net.SplitHostPort(address)
	if at.IP.IsUnspecified() {
		host, err = os.Hostname()
	}
	h.join.Page = "https://" + net.JoinHostPort(host, port)
	ctx, cancel := context.WithCancel(context.Background())
	tended := make(chan struct{})
	go func() {
		defer close(tended)
		h.tend(ctx, line)
	}()
	h.measured = make(chan struct{})
	h.untend = func() { cancel(); <-tended; <-h.measured }
	return errors.Join(err, h.logs(line), h.measure(ctx, line), writeSecret(filepath.Join(h.dir, lookName), []byte(port)))
}

// tend removes the queues of jobs that are over, again and again.
func (h *hub) tend(ctx context.Context, line func(string, ...any)) {
	for sums := make(map[string]*sum); wait(ctx, ackWait/2); {
		_ = h.board.f.retire(ctx, sums) // the next time it tries again
	}
}

func (h *hub) stop() {
	h.untend()
	h.unlook()
	if h.board != nil {
		h.board.f.Close()
	}
	if h.Server != nil {
		h.Shutdown()
		h.WaitForShutdown()
	}
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

const identityName = "identity.pem"

// identify reads the certificate and its key, or creates them. The tokens are derived from them.
func (h *hub) identify(dir string) (identity tls.Certificate, err error) {
	name := filepath.Join(dir, identityName)
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

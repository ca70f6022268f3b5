package main

import (
	"crypto/ed25519"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"io"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"
	"golang.org/x/crypto/ssh"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const contents = "Message of the day\n"

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  ed25519.PrivateKey
	dir  string
}

func newAuthority(t *testing.T) *authority {
	a := &authority{dir: t.TempDir()}
	a.cert, a.key, _ = a.sign(t, "authority")
	return a
}

// sign makes a certificate for localhost. It returns the certificate, its key, and the name of a PEM file with both.
func (a *authority) sign(t *testing.T, name string) (*x509.Certificate, ed25519.PrivateKey, string) {
	t.Helper()
	public, key, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, IsCA: a.cert == nil, BasicConstraintsValid: true,
		KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	parent, signer := a.cert, a.key
	if parent == nil {
		parent, signer = template, key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, parent, public, signer)
	if err != nil {
		t.Fatal(err)
	}
	pkcs8, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		t.Fatal(err)
	}
	text := append(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: pkcs8})...)
	file := filepath.Join(a.dir, name+".pem")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key, file
}

// serve starts a server with a certificate signed by a. The server requires a certificate of the client too.
func (a *authority) serve(t *testing.T, scheme string) *testserver.Server {
	t.Helper()
	_, _, file := a.sign(t, "server")
	pair, err := tls.LoadX509KeyPair(file, file)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(a.cert)
	return testserver.New(t, &testserver.Options{Scheme: scheme, Tree: map[string]string{"/pub/motd": contents}, TLSConfig: &tls.Config{
		Certificates: []tls.Certificate{pair}, ClientCAs: pool, ClientAuth: tls.RequireAndVerifyClientCert,
	}})
}

// TestCertificates checks, with both kinds of URL, that each side trusts a certificate of the authority, and no other.
func TestCertificates(t *testing.T) {
	a, other := newAuthority(t), newAuthority(t)
	_, _, me := a.sign(t, "me")
	_, _, stranger := other.sign(t, "stranger")
	ours, theirs := filepath.Join(a.dir, "authority.pem"), filepath.Join(other.dir, "authority.pem")
	for _, scheme := range []string{"ftpes", "ftps"} {
		s := a.serve(t, scheme)
		for _, tt := range []struct {
			name, cacert, cert string
			good               bool
		}{
			{"both", ours, me, true},
			{"no certificate", ours, "", false},
			{"certificate of another", ours, stranger, false},
			{"another authority", theirs, me, false},
			{"the system's authorities", "", me, false},
		} {
			config, err := configure(tt.cacert, tt.cert)
			if err != nil {
				t.Fatal(err)
			}
			var got strings.Builder
			err = show(t.Context(), s.URL("/pub/motd"), config, dialFrom("127.0.0.1"), &got)
			if tt.good && (err != nil || got.String() != contents) || !tt.good && (!errors.Is(err, ftpexec.ErrTLS) || got.Len() > 0) {
				t.Errorf("%s, %s: %q, %v", scheme, tt.name, &got, err)
			}
		}
	}
}

// TestPlain checks that show refuses an ftp URL, and a server without TLS, before the login.
func TestPlain(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/pub/motd": contents}})
	config, err := configure("", "")
	if err != nil {
		t.Fatal(err)
	}
	for url, want := range map[string]string{s.URL("/pub/motd"): "write ftpes://", strings.Replace(s.URL("/pub/motd"), "ftp:", "ftpes:", 1): "does not offer TLS"} {
		if err := show(t.Context(), url, config, dialFrom(""), io.Discard); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", url, err)
		}
	}
	if sent := s.Commands(); len(sent) != 1 || sent[0] != "AUTH TLS" {
		t.Errorf("sent %q", sent)
	}
	if _, err := configure(filepath.Join(t.TempDir(), "none"), ""); !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// TestTunnel checks that an SSH tunnel carries both connections, although its connections have no deadlines.
func TestTunnel(t *testing.T) {
	a := newAuthority(t)
	_, _, me := a.sign(t, "me")
	s := a.serve(t, "ftpes")
	config, err := configure(filepath.Join(a.dir, "authority.pem"), me)
	if err != nil {
		t.Fatal(err)
	}
	tunnel := sshTo(t, a.key)
	var got strings.Builder
	if err := show(t.Context(), s.URL("/pub/motd"), config, tunnel.DialContext, &got); err != nil || got.String() != contents {
		t.Errorf("%q, %v", &got, err)
	}
}

// sshTo starts an SSH server that opens connections for its clients, and returns a client.
func sshTo(t *testing.T, key ed25519.PrivateKey) *ssh.Client {
	signer, err := ssh.NewSignerFromKey(key)
	if err != nil {
		t.Fatal(err)
	}
	config := &ssh.ServerConfig{NoClientAuth: true}
	config.AddHostKey(signer)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var served sync.WaitGroup
	served.Go(func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		_, channels, requests, err := ssh.NewServerConn(conn, config)
		if err != nil {
			return
		}
		served.Go(func() { ssh.DiscardRequests(requests) })
		for c := range channels {
			served.Go(func() { forward(c) })
		}
	})
	client, err := ssh.Dial("tcp", l.Addr().String(), &ssh.ClientConfig{HostKeyCallback: ssh.FixedHostKey(signer.PublicKey())})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close(); l.Close(); served.Wait() })
	return client
}

// forward serves one forwarded connection (RFC 4254 section 7.2).
func forward(c ssh.NewChannel) {
	var to struct {
		Host     string
		Port     uint32
		From     string
		FromPort uint32
	}
	if ssh.Unmarshal(c.ExtraData(), &to) != nil {
		c.Reject(ssh.ConnectionFailed, "")
		return
	}
	conn, err := net.DialTCP("tcp", nil, &net.TCPAddr{IP: net.ParseIP(to.Host), Port: int(to.Port)})
	if err != nil {
		c.Reject(ssh.ConnectionFailed, err.Error())
		return
	}
	defer conn.Close()
	channel, requests, err := c.Accept()
	if err != nil {
		return
	}
	defer channel.Close()
	go ssh.DiscardRequests(requests)
	var sent sync.WaitGroup
	sent.Go(func() {
		io.Copy(conn, channel)
		conn.CloseWrite()
	})
	io.Copy(channel, conn)
	channel.CloseWrite()
	sent.Wait()
}

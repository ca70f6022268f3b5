// As in cmd/ftpfetch.
//go:debug x509negativeserial=1

package cli_test

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/throwaway"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// TestEmptyFilesOverTLS fetches a tree from a server that closes the data connection of an empty file before TLS is up.
// Where the server says that they are empty, they are saved; where it does not, only they fail, and not the host.
func TestEmptyFilesOverTLS(t *testing.T) {
	tree := map[string]string{}
	for i := range 4 {
		tree[fmt.Sprintf("/d/a%d.done", i)] = ""
	}
	for i := range 12 {
		tree[fmt.Sprintf("/d/f%02d.txt", i)] = "hello\n"
	}
	for _, sized := range []bool{true, false} {
		s := testserver.New(t, &testserver.Options{Tree: tree, Scheme: "ftpes", Fault: func(c *testserver.Conn) testserver.Action {
			switch {
			case c.Verb == "RETR" && strings.HasSuffix(c.Arg, ".done"):
				return testserver.Sequence(testserver.Reply("150 Go on."), ftptest.CutData(), testserver.Reply("226 Done."))
			case !sized && (c.Verb == "SIZE" || c.Verb == "MLST" || c.Verb == "MLSD"):
				return testserver.Reply("502 Unknown.")
			}
			return nil
		}})
		dir := t.TempDir()
		ca := filepath.Join(dir, "ca.pem")
		writeFile(t, ca, authority())
		code, _, said := run(t, "-r", "-j", "1", "--retries", "0", "--cacert", ca, "-d", filepath.Join(dir, "out"), s.URL("/d/"))
		done, _ := filepath.Glob(filepath.Join(dir, "out", "*.done"))
		rest, _ := filepath.Glob(filepath.Join(dir, "out", "*.txt"))
		want := map[bool]int{true: 4, false: 0}[sized]
		if len(done) != want || len(rest) != 12 || (code == 0) != sized {
			t.Errorf("sizes given: %v: exit %d with %d empty files and %d others, want %d and 12\n%s", sized, code, len(done), len(rest), want, said)
		}
		for _, name := range rest {
			if b, err := os.ReadFile(name); string(b) != "hello\n" {
				t.Errorf("%s: %q, %v", name, b, err)
			}
		}
	}
}

// devices are certificates as small devices make them for themselves.
var devices = []struct {
	name   string
	change func(*x509.Certificate)
	minus  bool   // its serial number is negative
	says   string // without --cacert
	hint   string
}{
	{"of no known authority", func(*x509.Certificate) {}, false, "certificate signed by unknown authority", "--cacert FILE trusts the authority in FILE, or the server's own certificate"},
	{"expired", func(c *x509.Certificate) { c.NotAfter = time.Unix(1e9, 0) }, false, "it expired on 2001-09-09 01:46 UTC", "--cacert FILE trusts the server's own certificate in FILE, whatever its names and times"},
	{"not valid yet", func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) }, false, "it is valid only from ", "whatever its names and times"},
	{"without SAN", func(c *x509.Certificate) { c.IPAddresses = nil }, false, "certificate relies on legacy Common Name field", "whatever its names and times"},
	{"with another name", func(c *x509.Certificate) { c.IPAddresses, c.DNSNames = nil, []string{"printer.local"} }, false, "cannot validate certificate for 127.0.0.1", "whatever its names and times"},
	{"with another address", func(c *x509.Certificate) { c.IPAddresses = []net.IP{net.IPv4(192, 168, 1, 1)} }, false, "certificate is valid for 192.168.1.1, not 127.0.0.1", "whatever its names and times"},
	{"with a negative serial number", func(c *x509.Certificate) { c.NotAfter = time.Unix(1e9, 0) }, true, "it expired on 2001-09-09 01:46 UTC", "whatever its names and times"},
}

var deviceSerial atomic.Int32

// deviceKey is the key of all these certificates, because it takes long to make one.
var deviceKey = sync.OnceValues(func() (*rsa.PrivateKey, error) { return rsa.GenerateKey(rand.Reader, 2048) })

// device returns the certificate of a device, and a PEM file of it. Each has another serial number.
func device(t *testing.T, change func(*x509.Certificate), minus bool) (tls.Certificate, string) {
	key := must.Get(deviceKey())(t)
	serial := byte(deviceSerial.Add(1)%100) + 3
	c := &x509.Certificate{SerialNumber: big.NewInt(int64(serial)), Subject: pkix.Name{CommonName: "127.0.0.1"}, NotBefore: time.Unix(0, 0), NotAfter: time.Unix(1<<32, 0),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageKeyEncipherment}
	change(c)
	der := must.Get(x509.CreateCertificate(rand.Reader, c, c, key.Public(), key))(t)
	if minus {
		der = bytes.Replace(der, []byte{2, 1, serial}, []byte{2, 1, serial | 0x80}, 1)
	}
	file := filepath.Join(t.TempDir(), "device.pem")
	writeFile(t, file, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})))
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// TestOwnCertificate trusts exactly the certificate in the file of --cacert, whatever is wrong with it: not another one of
// the same device, and not without the flag.
func TestOwnCertificate(t *testing.T) {
	n := 0
	for _, tt := range devices {
		for _, scheme := range []string{"ftps", "ftpes"} {
			for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				n++
				own, file := device(t, tt.change, tt.minus)
				_, other := device(t, tt.change, tt.minus)
				s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": "contents"}, Scheme: scheme, TLSConfig: &tls.Config{Certificates: []tls.Certificate{own}, MaxVersion: version}})
				code, out, said := run(t, "-q", "-o", "-", s.URL("/f"))
				if code != 60 || out != "" || !strings.Contains(said, tt.says) || !strings.Contains(said, tt.hint) || strings.Count(said, "\n") != 1 {
					t.Errorf("%s: exit %d, %q, %s", tt.name, code, out, said)
				}
				if code, out, said = run(t, "-q", "--cacert", other, "-o", "-", s.URL("/f")); code != 60 || out != "" {
					t.Errorf("%s, another certificate: exit %d, %q, %s", tt.name, code, out, said)
				}
				if code, out, said = run(t, "-q", "--cacert", file, "-o", "-", s.URL("/f")); code != 0 || out != "contents" || said != "" {
					t.Errorf("%s, its certificate: exit %d, %q, %s", tt.name, code, out, said)
				}
			}
		}
	}
	t.Logf("%d certificates", n)
}

// With the certificate of one device in the file, an authority in the same file still has to name the host.
func TestOwnCertificateAndAuthority(t *testing.T) {
	_, file := device(t, devices[1].change, false)
	both := filepath.Join(t.TempDir(), "both.pem")
	writeFile(t, both, string(must.Get(os.ReadFile(file))(t))+authority())
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": "contents"}, Scheme: "ftpes"})
	if code, out, said := run(t, "-q", "--cacert", both, "-o", "-", s.URL("/f")); code != 0 || out != "contents" {
		t.Errorf("right host: exit %d, %q, %s", code, out, said)
	}
	id := must.Get(throwaway.New("ftp.example.org"))(t)
	writeFile(t, both, string(must.Get(os.ReadFile(file))(t))+string(id.RootPEM()))
	s = testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": "contents"}, Scheme: "ftpes", TLSConfig: &tls.Config{Certificates: []tls.Certificate{id.Server}}})
	if code, out, said := run(t, "-q", "--cacert", both, "-o", "-", s.URL("/f")); code != 60 || out != "" || !strings.Contains(said, "certificate is valid for ftp.example.org, not 127.0.0.1") && !strings.Contains(said, "cannot validate certificate for 127.0.0.1") {
		t.Errorf("another host: exit %d, %q, %s", code, out, said)
	}
}

// TestRSAKeyExchange fetches from a server that knows no other key exchange. Only the switch accepts it.
func TestRSAKeyExchange(t *testing.T) {
	own, file := device(t, devices[0].change, false)
	for _, suite := range []uint16{tls.TLS_RSA_WITH_AES_128_GCM_SHA256, tls.TLS_RSA_WITH_AES_256_GCM_SHA384, tls.TLS_RSA_WITH_AES_128_CBC_SHA, tls.TLS_RSA_WITH_AES_256_CBC_SHA} {
		for _, scheme := range []string{"ftps", "ftpes"} {
			s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": "contents"}, Scheme: scheme,
				TLSConfig: &tls.Config{Certificates: []tls.Certificate{own}, MaxVersion: tls.VersionTLS12, CipherSuites: []uint16{suite}}})
			args := []string{"-q", "--retries", "0", "--cacert", file, "-o", "-", s.URL("/f")}
			code, out, said := run(t, args...)
			if want := "(FTPFETCH_WITHOUT=forwardsecrecy accepts RSA key exchange, and some old servers know no other)\n"; code != 35 || out != "" || !strings.HasSuffix(said, want) || strings.Count(said, "\n") != 1 {
				t.Errorf("%s: exit %d, %q, %s", tls.CipherSuiteName(suite), code, out, said)
			}
			t.Setenv("FTPFETCH_WITHOUT", "forwardsecrecy")
			if code, out, said = run(t, args...); code != 0 || out != "contents" || said != "" {
				t.Errorf("%s with the switch: exit %d, %q, %s", tls.CipherSuiteName(suite), code, out, said)
			}
			os.Unsetenv("FTPFETCH_WITHOUT")
		}
	}
}

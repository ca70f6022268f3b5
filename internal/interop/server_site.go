//go:build linux

package interop

import (
	"cmp"
	"crypto/x509"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

// site is everything that goes into the configuration of one server.
type site struct {
	Options
	dir   string // the server's own directory
	tree  *Tree
	host  string
	port  int
	cert  string         // PEM file with chain and key; "" without TLS
	roots *x509.CertPool // nil without TLS
}

// program is a command line, ready to run.
type program struct {
	argv []string
	env  []string // the whole environment: nothing is inherited
	dir  string   // the working directory; "" means the root
}

func newSite(tree *Tree, o Options) (*site, error) {
	dir, err := publicTempDir("ftpfetch-interop-server-")
	if err != nil {
		return nil, err
	}
	st := &site{dir: dir, tree: tree, host: cmp.Or(o.Host, "127.0.0.1"), port: o.Port, Options: o}
	if o.IPv6 {
		st.host = "::1"
	}
	if st.port == 0 {
		st.port, err = freePort(st.host)
	}
	if err == nil && o.TLS {
		err = st.writeCertificate()
	}
	if err != nil {
		os.RemoveAll(dir)
		return nil, err
	}
	return st, nil
}

func (st *site) addr() string { return net.JoinHostPort(st.host, strconv.Itoa(st.port)) }

func (st *site) path(name string) string { return filepath.Join(st.dir, name) }

// write creates a file that only the server's privileged process can read, and
// returns its path. Some servers refuse a configuration that others could have
// changed.
func (st *site) write(name, text string) (string, error) {
	path := st.path(name)
	return path, os.WriteFile(path, []byte(text), 0o600)
}

// publicTempDir makes a temporary directory that the servers' unprivileged
// users can enter, unlike those of testing.T.TempDir.
func publicTempDir(prefix string) (string, error) {
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}

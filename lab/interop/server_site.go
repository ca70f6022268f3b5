//go:build linux

package interop

import (
	"cmp"
	"crypto/x509"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"

	"example.com/ftpfetch/internal/throwaway"
)

// site has everything for the configuration of one server. It keeps the first error in err; later calls then have no
// effect.
type site struct {
	Options
	dir   string // the server's own directory
	tree  *Tree
	host  string
	port  int
	cert  string         // PEM file with chain and key; "" without TLS
	roots *x509.CertPool // nil without TLS
	err   error
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
		st.port = st.freePort()
	}
	if o.TLS {
		st.writeCertificate()
	}
	if st.err != nil {
		os.RemoveAll(dir)
	}
	return st, st.err
}

// writeCertificate makes a certificate for the loopback address and writes it, its key and its authority to one PEM file.
// st.roots then holds the authority.
func (st *site) writeCertificate() {
	id, err := throwaway.New(st.host)
	if st.fails(err) {
		return
	}
	pem, err := id.ServerPEM()
	st.fails(err)
	st.roots, st.cert = id.Roots, st.write("server.pem", string(pem))
}

// fails records the first error.
func (st *site) fails(err error) bool {
	st.err = cmp.Or(st.err, err)
	return err != nil
}

func (st *site) addr() string { return net.JoinHostPort(st.host, strconv.Itoa(st.port)) }

func (st *site) path(name string) string { return filepath.Join(st.dir, name) }

func (st *site) freePort() int {
	port, err := freePort(st.host)
	st.fails(err)
	return port
}

// write creates a file that only the server's privileged process can read, and returns its path. Some servers refuse a
// configuration that others could have changed.
func (st *site) write(name, text string) string {
	path := st.path(name)
	st.fails(os.WriteFile(path, []byte(text), 0o600))
	return path
}

// installDir is where install.sh unpacks the servers.
func installDir() (string, error) {
	if dir := os.Getenv("FTPFETCH_INTEROP_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "ftpfetch-interop"), err
}

// Version returns the upstream version of a server's package. A Debian security update changes only what follows it.
func Version(name string) (string, error) {
	dir, err := installDir()
	text, unread := os.ReadFile(dir + "/versions")
	found := regexp.MustCompile(`(?m)^` + name + `\t(?:\d+:)?([0-9.]+)`).FindSubmatch(text)
	if found == nil {
		return "", fmt.Errorf("no %s in %s/versions (%w)", name, dir, cmp.Or(err, unread))
	}
	return strings.TrimSuffix(string(found[1]), "."), nil
}

// installed returns the path of an unpacked file, given from the root of the Debian package that holds it. One "*" may
// stand for a directory whose name depends on the architecture.
func (st *site) installed(file string) string {
	dir, err := installDir()
	st.fails(err)
	found, err := filepath.Glob(filepath.Join(dir, "root", file))
	if st.fails(err); len(found) == 0 {
		st.fails(fmt.Errorf("%s is not in %s: run lab/interop/install.sh", file, dir))
		return ""
	}
	return found[0]
}

// environment returns the whole environment of a server: where its libraries are, and nothing that would make its
// replies differ between machines.
func (st *site) environment(more ...string) []string {
	return append([]string{
		"PATH=/usr/sbin:/usr/bin:/sbin:/bin", "LANG=C.UTF-8", "TZ=UTC",
		"LD_LIBRARY_PATH=" + st.installed("usr/lib/*-linux-gnu") + ":" + st.installed("lib/*-linux-gnu"),
	}, more...)
}

// lines joins the lines of a configuration file.
func lines(l ...string) string { return strings.Join(l, "\n") + "\n" }

// publicTempDir makes a temporary directory that the servers' unprivileged users can enter, unlike those of
// testing.T.TempDir.
func publicTempDir(prefix string) (string, error) {
	dir, err := os.MkdirTemp("", prefix)
	if err != nil {
		return "", err
	}
	return dir, os.Chmod(dir, 0o755)
}

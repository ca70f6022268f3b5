//go:build linux

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

const (
	clearPort = 21   // of the vsftpd without TLS
	tlsPort   = 2021 // of the vsftpd with explicit TLS

	userName     = "reader"
	userPassword = "correct-horse"

	servedUser = 65534 // user and group that vsftpd serves files as
)

// server is vsftpd, once without TLS and once with it. There are two because a
// client may use TLS unasked if a server offers it, and would then be measured
// at another job.
type server struct {
	program   string
	libraries string // LD_LIBRARY_PATH for it; may be ""
	dir       string // its configuration, tree and logs
	// anonymousOnly is set in a user namespace with one user, where vsftpd
	// cannot become another one to serve a named user.
	anonymousOnly bool
	exited        chan error
}

// findServer returns the vsftpd to run, and the directories of its libraries. It
// prefers the one that interop/install.sh unpacked to one of the system.
func findServer() (program, libraries string, err error) {
	dir, err := interopDir()
	if err != nil {
		return "", "", err
	}
	root := filepath.Join(dir, "root")
	if path := filepath.Join(root, "usr/sbin/vsftpd"); isFile(path) {
		usr, err := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-gnu*"))
		if err != nil {
			return "", "", err
		}
		lib, err := filepath.Glob(filepath.Join(root, "lib/*-linux-gnu*"))
		return path, strings.Join(append(usr, lib...), ":"), err
	}
	for _, name := range []string{"vsftpd", "/usr/sbin/vsftpd"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, "", nil
		}
	}
	return "", "", fmt.Errorf("no vsftpd in %s or in PATH: run interop/install.sh first", root)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// interopDir is where interop/install.sh puts servers.
func interopDir() (string, error) {
	if dir := os.Getenv("FTPFETCH_INTEROP_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "ftpfetch-interop"), err
}

// prepareServer writes everything that the servers read.
func prepareServer(dir string, t *tree) (*server, error) {
	program, libraries, err := findServer()
	if err != nil {
		return nil, err
	}
	s := &server{program: program, libraries: libraries, dir: dir, exited: make(chan error, 2)}
	if s.anonymousOnly, err = singleUser(); err != nil {
		return nil, err
	}
	if err := t.write(s.path("tree")); err != nil {
		return nil, err
	}
	if err := writeCertificates(s.path(caFile), s.path("server.pem")); err != nil {
		return nil, err
	}
	return s, s.writeFiles()
}

func (s *server) path(name string) string { return filepath.Join(s.dir, name) }

// singleUser reports whether the user that vsftpd wants to become is missing from
// this user namespace.
func singleUser() (bool, error) {
	m, err := os.ReadFile("/proc/self/uid_map")
	if err != nil {
		return false, err
	}
	var first, outer, size int
	for line := range strings.Lines(string(m)) {
		if _, err := fmt.Sscan(line, &first, &outer, &size); err != nil {
			return false, err
		}
		if first <= servedUser && servedUser < first+size {
			return false, nil
		}
	}
	return true, nil
}

// mount replaces the files that say who may log in, for the calling thread and
// what it starts. Then any password is right for a user in passwd.
func (s *server) mount() error {
	for from, to := range map[string]string{"pam.d": "/etc/pam.d", "passwd": "/etc/passwd"} {
		if err := unix.Mount(s.path(from), to, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("%s: %w", to, err)
		}
	}
	return nil
}

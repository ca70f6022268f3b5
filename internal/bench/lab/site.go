//go:build linux

package lab

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"golang.org/x/sys/unix"
)

// The account that servers have beside the anonymous one. In a user namespace
// with one user (see [Site.AnonymousOnly]) it cannot be served.
const (
	UserName     = "reader"
	UserPassword = "correct-horse"
)

// servedUser is the user and group that servers serve files as.
const servedUser = 65534

// Site is what servers serve and read: a directory with the tree, their
// configurations and logs.
type Site struct {
	// AnonymousOnly is set in a user namespace with one user, where a server
	// cannot become another one to serve a named user.
	AnonymousOnly bool

	dir    string
	exited chan error // why a server has ended
}

// NewSite returns the site in dir and writes the account files.
func NewSite(dir string) (*Site, error) {
	s := &Site{dir: dir, exited: make(chan error, 16)}
	var err error
	if s.AnonymousOnly, err = singleUser(); err != nil {
		return nil, err
	}
	for _, name := range []string{"empty", "tree"} {
		if err := os.MkdirAll(s.Path(name), 0o755); err != nil {
			return nil, err
		}
	}
	if err := WriteFile(s.Path("passwd"), []byte(s.passwd())); err != nil {
		return nil, err
	}
	return s, WriteFile(s.Path("pam.d/vsftpd"), []byte("auth required pam_permit.so\naccount required pam_permit.so\n"))
}

// Path returns the path of a file of the site.
func (s *Site) Path(name string) string { return filepath.Join(s.dir, name) }

// Tree returns the path of a served file or directory, given from the top of the
// tree with slashes.
func (s *Site) Tree(name string) string {
	return s.Path(filepath.Join("tree", filepath.FromSlash(name)))
}

// WriteFile writes a file that every user may read, and its directory.
func WriteFile(path string, contents []byte) error {
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	return os.WriteFile(path, contents, 0o644)
}

// passwd returns the users of the servers. In a user namespace with one user they
// are all that one.
func (s *Site) passwd() string {
	id := servedUser
	if s.AnonymousOnly {
		id = 0
	}
	text := "root:x:0:0:root:/:/bin/sh\n"
	for _, name := range []string{"ftp", "nobody", UserName} {
		text += fmt.Sprintf("%s:x:%d:%d::%s:/bin/sh\n", name, id, id, s.Path("tree"))
	}
	return text
}

// mount replaces the files that say who may log in, for the calling thread and
// what it starts. Then any password is right for a user in passwd.
func (s *Site) mount() error {
	for from, to := range map[string]string{"pam.d": "/etc/pam.d", "passwd": "/etc/passwd"} {
		if err := unix.Mount(s.Path(from), to, "", unix.MS_BIND, ""); err != nil {
			return fmt.Errorf("%s: %w", to, err)
		}
	}
	return nil
}

// singleUser reports whether the user that a server wants to become is missing
// from this user namespace.
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

// findServer returns a server's program (its path from the root), and the
// directories of its libraries. It prefers the one that
// internal/interop/install.sh unpacked to one of the system.
func findServer(file string) (program, libraries string, err error) {
	dir, err := interopDir()
	if err != nil {
		return "", "", err
	}
	root := filepath.Join(dir, "root")
	if path := filepath.Join(root, file); isFile(path) {
		usr, err := filepath.Glob(filepath.Join(root, "usr/lib/*-linux-gnu*"))
		if err != nil {
			return "", "", err
		}
		lib, err := filepath.Glob(filepath.Join(root, "lib/*-linux-gnu*"))
		return path, strings.Join(append(usr, lib...), ":"), err
	}
	for _, name := range []string{filepath.Base(file), "/" + file} {
		if path, err := exec.LookPath(name); err == nil {
			return path, "", nil
		}
	}
	return "", "", fmt.Errorf("no %s in %s or in PATH: run internal/interop/install.sh first", filepath.Base(file), root)
}

func isFile(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular()
}

// interopDir is where internal/interop/install.sh puts servers.
func interopDir() (string, error) {
	if dir := os.Getenv("FTPFETCH_INTEROP_DIR"); dir != "" {
		return filepath.Abs(dir)
	}
	cache, err := os.UserCacheDir()
	return filepath.Join(cache, "ftpfetch-interop"), err
}

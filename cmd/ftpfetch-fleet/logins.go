package main

import (
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"example.com/ftpfetch/internal/cli/netrc"
	"example.com/ftpfetch/internal/local/localfile"
)

// kept is the value of a local file. Passwords come from such files only, never from the server.
type kept[T any] struct {
	atomic.Pointer[T]
	name    string
	load    func(name string) (*T, error)
	changed time.Time // modification time of the file that was read last
}

// read reads the file if it has changed.
func (k *kept[T]) read() (changed bool, err error) {
	at := time.Unix(0, 0)
	info, err := os.Stat(k.name)
	if err == nil {
		at = info.ModTime()
	}
	if at.Equal(k.changed) {
		return false, nil
	}
	k.changed = at
	to, err := k.load(k.name)
	if err == nil {
		k.Store(to)
	}
	return err == nil, err
}

// readLogins reads a netrc file. A missing file has no logins.
func readLogins(name string) (*netrc.File, error) {
	file, err := netrc.Load(name)
	if errors.Is(err, fs.ErrNotExist) {
		return new(netrc.File), nil
	}
	return file, err
}

// readRoots reads a PEM file of certificate authorities.
func readRoots(name string) (*x509.CertPool, error) {
	if name == "" {
		return nil, nil
	}
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, localfile.Failure(name, "cannot be read", err)
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(text) {
		return nil, usage("--cacert %s: it has no certificate in PEM form", name)
	}
	return roots, nil
}

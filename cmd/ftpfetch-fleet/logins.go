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

// logins are those of this machine: no password comes from the server.
type logins struct {
	atomic.Pointer[netrc.File]
	name    string
	changed time.Time // of the file that was read last
}

// read reads the netrc file, if it has changed. One that is not there has no logins.
func (l *logins) read() (changed bool, err error) {
	at := time.Unix(0, 0)
	info, err := os.Stat(l.name)
	if err == nil {
		at = info.ModTime()
	}
	if at.Equal(l.changed) {
		return false, nil
	}
	l.changed = at
	file, err := netrc.Load(l.name)
	if errors.Is(err, fs.ErrNotExist) {
		file = new(netrc.File)
		err = nil
	}
	if err == nil {
		l.Store(file)
	}
	return err == nil, err
}

// readRoots reads the certificates of the authorities that a file has in PEM form.
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

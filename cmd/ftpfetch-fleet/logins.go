package main

import (
	"errors"
	"io/fs"
	"os"
	"sync/atomic"
	"time"

	"example.com/ftpfetch/cmd/internal/cli/certs"
	"example.com/ftpfetch/cmd/internal/cli/netrc"
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

// readTrusted reads the file of --cacert. Without one, there is nothing but the system's authorities.
func readTrusted(name string) (*certs.Trusted, error) {
	if name == "" {
		return new(certs.Trusted), nil
	}
	trusted, err := certs.Read(name)
	switch _, unread := errors.AsType[*fs.PathError](err); {
	case unread:
		return nil, localfile.Failure(name, "cannot be read", err)
	case err != nil:
		return nil, usage("--cacert %s: %s", name, err)
	}
	return trusted, nil
}

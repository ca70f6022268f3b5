// Package netrc reads netrc files, in which FTP clients keep a user's logins, one entry per machine.
// It reads what ftp(1), curl and tnftp agree on: the words machine, default, login, password, account and
// macdef. No error of this package holds a password, and a File prints as nothing.
package netrc

import (
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
)

// maxSize is the largest size of a file, in bytes.
const maxSize = 1 << 20

// File is a netrc file. No method changes it, so it is safe for concurrent use.
type File struct {
	entries []entry // in the order of the file; the default entry comes last
	path    string
	mode    os.FileMode // of the file at path
}

// entry is what a file says about one machine, or by default.
type entry struct {
	machine string            // as written; "" for the default entry
	rest    bool              // it is the default entry
	words   map[string]string // the bytes of login, password and account, as far as they are there
}

// Format hides the passwords from package fmt.
func (File) Format(fmt.State, rune) {}

// ErrUnusable is in the chain of every error of this package.
var ErrUnusable = errors.New("netrc file cannot be used")

// Unusable returns an error that says why the file at path cannot be used. The reason must not quote the file: it may
// quote a password.
func Unusable(path, reason string) error {
	return fmt.Errorf("%s: %s%.0w", path, reason, ErrUnusable)
}

// Load reads the file at path. The error wraps [os.ErrNotExist] if there is no file.
func Load(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, unreadable(path, err)
	}
	file, err := Parse(f, path)
	if err == nil {
		file.mode = info.Mode()
	}
	return file, err
}

func unreadable(path string, err error) error {
	if naming, ok := errors.AsType[*os.PathError](err); ok {
		err = naming.Err
	}
	return fmt.Errorf("%s: cannot be read: %w%.0w", path, err, ErrUnusable)
}

// Secret returns the word, "password" or "account", of the first entry for user on host: its machine is host, or it is
// the default entry, and its login is user, or it has none. The comparison of hosts ignores case and a trailing dot.
func (f *File) Secret(host, user, word string) (text string, ok bool) {
	for _, e := range f.entries {
		if login, named := e.words["login"]; (e.rest || e.isFor(host)) && (!named || login == user) {
			text, ok = e.words[word]
			break
		}
	}
	return text, ok
}

// User returns the login of the first entry that names host and a login. The default entry names no host.
func (f *File) User(host string) (login string, ok bool) {
	for _, e := range f.entries {
		if login, ok = e.words["login"]; ok && !e.rest && e.isFor(host) {
			return login, true
		}
	}
	return "", false
}

func (e entry) isFor(host string) bool {
	return strings.EqualFold(strings.TrimSuffix(e.machine, "."), strings.TrimSuffix(host, "."))
}

// Private returns an error if anyone but the owner can read, change or execute the file. Its text names the
// command that fixes that. Callers should call Private before they use a secret. It returns nil on Windows, where
// the mode does not tell who may read a file.
func (f *File) Private() error {
	if runtime.GOOS == "windows" || f.mode.Perm()&0o077 == 0 {
		return nil
	}
	return Unusable(f.path, "holds a password and is open to other users: run chmod 600 "+f.path)
}

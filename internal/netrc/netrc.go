// Package netrc reads netrc files, in which FTP clients keep a user's logins, one entry per machine.
// It reads what ftp(1), curl and tnftp agree on: the words machine, default, login, password, account and
// macdef. No error and no String of this package holds a password.
package netrc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"
)

// MaxSize is the largest size of a file, in bytes.
const MaxSize = 1 << 20

// File is a netrc file. No method changes it, so it is safe for concurrent use.
type File struct {
	Entries []Entry // in the order of the file; a default entry comes last

	path string
	mode os.FileMode // of the file at path
}

// Entry is what a file says about one machine.
type Entry struct {
	Machine  string // as written; "" for the default entry
	Default  bool
	Login    string // bytes
	HasLogin bool   // if false, the entry is for every user of the machine
	Password Secret
	Account  Secret
	Line     int // the entry's first line, from 1
}

// Secret is text that prints as "***" or, if it is absent, as nothing.
type Secret struct {
	text string
	set  bool
}

// Reveal returns the text, as bytes, and whether it is present. It may be present and empty.
func (s Secret) Reveal() (string, bool) { return s.text, s.set }

// Format hides the text from every verb of package fmt.
func (s Secret) Format(f fmt.State, _ rune) {
	if s.set {
		_, _ = io.WriteString(f, "***")
	}
}

// ErrUnusable is in the chain of every error of this package.
var ErrUnusable = errors.New("netrc file cannot be used")

// Error says why a file cannot be used.
type Error struct {
	Path   string
	Line   int    // from 1; 0 for the whole file
	Reason string // never quotes the file: it may quote a password
	Err    error  // the system's error, or nil
}

// Error returns one line.
func (e *Error) Error() string {
	if e.Line > 0 {
		return fmt.Sprintf("%s: line %d: %s", e.Path, e.Line, e.Reason)
	}
	return e.Path + ": " + e.Reason
}

// Unwrap returns [ErrUnusable], and Err if there is one.
func (e *Error) Unwrap() []error { return []error{ErrUnusable, e.Err} }

// Load reads the file at path. The error is an *[Error], which wraps [os.ErrNotExist] if there is no file.
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
	if err != nil {
		return nil, err
	}
	file.path, file.mode = path, info.Mode()
	return file, nil
}

func unreadable(path string, err error) error {
	reason := err
	var inner *os.PathError
	if errors.As(err, &inner) {
		reason = inner.Err
	}
	return &Error{Path: path, Reason: "cannot be read: " + reason.Error(), Err: err}
}

// Lookup returns the first entry for user on host: its machine is host, or it is the default entry, and its
// login is user, or it has none. The comparison of hosts ignores case and a trailing dot.
func (f *File) Lookup(host, user string) (Entry, bool) {
	for _, e := range f.Entries {
		if (e.Default || e.isFor(host)) && (!e.HasLogin || e.Login == user) {
			return e, true
		}
	}
	return Entry{}, false
}

// Machine returns the first entry that names host and a login. The default entry names no host.
func (f *File) Machine(host string) (Entry, bool) {
	for _, e := range f.Entries {
		if !e.Default && e.HasLogin && e.isFor(host) {
			return e, true
		}
	}
	return Entry{}, false
}

func (e Entry) isFor(host string) bool {
	return strings.EqualFold(strings.TrimSuffix(e.Machine, "."), strings.TrimSuffix(host, "."))
}

// Private returns an *[Error] if anyone but the owner can read, change or execute the file. Its text names the
// command that fixes that. Callers should call Private before they use a secret. It returns nil on Windows, where
// the mode does not tell who may read a file.
func (f *File) Private() error {
	if runtime.GOOS == "windows" || f.mode.Perm()&0o077 == 0 {
		return nil
	}
	return &Error{Path: f.path, Reason: "holds a password and is open to other users: run chmod 600 " + f.path}
}

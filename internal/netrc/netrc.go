// Package netrc reads netrc files: the logins that FTP clients keep for a user, one entry a machine.
//
//	f, err := netrc.Load(path)
//	e, ok := f.Lookup("ftp.example.org", "me")
//	password, ok := e.Password.Reveal()
//
// It reads what ftp(1), curl and tnftp agree on: the words machine, default, login, password, account and
// macdef. No error and no String of this package holds a password.
package netrc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
)

// MaxSize is the most bytes that a file may have.
const MaxSize = 1 << 20

// File is a netrc file. It is not changed once made, and so safe for concurrent use.
type File struct {
	Entries []Entry // in the order of the file; a default entry is the last

	path string      // "" where it came from a reader
	mode os.FileMode // of the file at path
}

// Entry is what a file says about one machine.
type Entry struct {
	Machine  string // as written; "" for the default entry
	Default  bool
	Login    string // bytes
	HasLogin bool   // false: the entry is for every user of the machine
	Password Secret
	Account  Secret
	Line     int // where the entry begins, from 1
}

// Secret is text that is not printed: its String is "***" or, where it is absent, "".
type Secret struct {
	text string
	set  bool
}

// Reveal returns the text, bytes, and whether there is one; it may be present and empty.
func (s Secret) Reveal() (string, bool) { return s.text, s.set }

// String hides the text.
func (s Secret) String() string {
	if !s.set {
		return ""
	}
	return "***"
}

// GoString hides the text from %#v.
func (s Secret) GoString() string { return fmt.Sprintf("netrc.Secret(%q)", s.String()) }

// ErrUnusable is every error of this package, for errors.Is.
var ErrUnusable = errors.New("netrc file cannot be used")

// Error is a file that cannot be used.
type Error struct {
	Path   string // "" where the text came from a reader
	Line   int    // from 1; 0 where the whole file is meant
	Reason string // never quotes the file: it may quote a password
	Err    error  // the system's error, or nil
}

// Error returns one line.
func (e *Error) Error() string {
	s := "netrc"
	if e.Path != "" {
		s = e.Path
	}
	if e.Line > 0 {
		s += fmt.Sprintf(": line %d", e.Line)
	}
	return s + ": " + e.Reason
}

// Is makes every Error an [ErrUnusable].
func (e *Error) Is(target error) bool { return target == ErrUnusable }

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Load reads the file at path. The error is an *[Error]; errors.Is tells [os.ErrNotExist].
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
	if info.IsDir() {
		return nil, &Error{Path: path, Reason: "is a directory"}
	}
	file, err := parse(f, path)
	if err != nil {
		return nil, err
	}
	file.path, file.mode = path, info.Mode()
	return file, nil
}

func unreadable(path string, err error) error {
	reason := err.Error()
	var inner *os.PathError
	if errors.As(err, &inner) {
		reason = inner.Err.Error()
	}
	return &Error{Path: path, Reason: "cannot be read: " + reason, Err: err}
}

// Parse reads a netrc file from r. The error is an *[Error].
func Parse(r io.Reader) (*File, error) { return parse(r, "") }

// Lookup returns the first entry for user on host: one whose machine is host, else the default one, and whose
// login is user, or that has none. Hosts are compared without regard to case and to a dot at the end.
func (f *File) Lookup(host, user string) (Entry, bool) {
	for _, e := range f.Entries {
		if (e.Default || sameHost(e.Machine, host)) && (!e.HasLogin || e.Login == user) {
			return e, true
		}
	}
	return Entry{}, false
}

// Machine returns the first entry that names host and a login: who to log in as there. The default entry
// names no host.
func (f *File) Machine(host string) (Entry, bool) {
	for _, e := range f.Entries {
		if !e.Default && e.HasLogin && sameHost(e.Machine, host) {
			return e, true
		}
	}
	return Entry{}, false
}

func sameHost(a, b string) bool {
	return strings.EqualFold(strings.TrimSuffix(a, "."), strings.TrimSuffix(b, "."))
}

// Private returns an *[Error] where others than the owner may read or change the file, with the command that
// mends it: such a file keeps no secret. It is for the caller to ask, before a secret is used. Where the
// system has no such permissions, or the file came from a reader, it returns nil.
func (f *File) Private() error {
	if f.path == "" || !hasPermissions || f.mode.Perm()&0o077 == 0 {
		return nil
	}
	return &Error{Path: f.path, Reason: "holds a password and is open to other users: type chmod 600 " + f.path}
}

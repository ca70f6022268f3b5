// Package netrc reads netrc files, in which FTP clients keep a user's logins, one entry per machine.
// It reads what ftp(1), curl and tnftp agree on: the words machine, default, login, password, account and
// macdef. No error of this package holds a password, and a File prints as nothing.
package netrc

import (
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"slices"
	"strings"

	"example.com/ftpfetch/internal/lazy"
	"example.com/ftpfetch/internal/local/localfile"
)

const maxSize = 1 << 20

// File is a netrc file. Its methods do not change it, so it is safe for concurrent use.
type File struct {
	entries []entry // in the order of the file; the default entry comes last
	path    string
	info    os.FileInfo

	Warnings []string // what was not read, one line each
}

// entry has the logins of one machine.
type entry struct {
	machine string            // as written; "" for the default entry
	rest    bool              // whether it is the default entry
	words   map[string]string // the bytes of login, password and account, if present
}

// Format hides the passwords from package fmt.
func (File) Format(fmt.State, rune) {}

// ErrUnusable is in the chain of every error of this package.
var ErrUnusable = errors.New("netrc file cannot be used")

// Unusable returns the error for a file that cannot be used. The reason must not quote the file: it may quote a password.
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
	file, err := Parse(f, path)
	if err != nil {
		return nil, err
	}
	if file.info, err = f.Stat(); err != nil {
		return nil, unreadable(path, err)
	}
	return file, nil
}

func unreadable(path string, err error) error {
	return fmt.Errorf("%s: cannot be read: %w%.0w", path, localfile.Cause(err), ErrUnusable)
}

// Secret returns the word, "password" or "account", of the first entry for user on host. That is an entry whose machine
// is host, or the default entry, and whose login is user or missing. The comparison of hosts ignores case and a
// trailing dot.
func (f *File) Secret(host, user, word string) (text string, ok bool) {
	for _, e := range f.entries {
		if login, named := e.words["login"]; (e.rest || e.isFor(host)) && (!named || login == user) {
			text, ok = e.words[word]
			break
		}
	}
	return text, ok
}

// User returns the login of the first entry that has one and whose machine is host. The default entry has no machine.
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

// Private returns an error that names the remedy, if anyone but the owner can read, change or execute the file. Call it
// before using a secret. It returns nil on Windows, where the mode does not tell who may read a file.
func (f *File) Private() error {
	if runtime.GOOS == "windows" || f.info.Mode().Perm()&0o077 == 0 {
		return nil
	}
	return Unusable(f.path, "holds a password and is open to other users: run chmod 600 "+f.path)
}

// parser reads a file.
type parser struct {
	File
	all, text string // the file, and its unread rest
	over      bool   // it was reported that entries follow the default entry
}

// fromNUL matches a NUL and the rest of its line.
var fromNUL = lazy.Regexp(`\x00[^\n]*`)

// Parse reads a netrc file from r. Errors name path.
func Parse(r io.Reader, path string) (*File, error) {
	text, err := io.ReadAll(io.LimitReader(r, maxSize+1))
	switch {
	case err != nil:
		return nil, unreadable(path, err)
	case len(text) > maxSize:
		return nil, Unusable(path, "is too long")
	}
	p := &parser{File: File{path: path}, all: string(text), text: string(text)}
	if at := strings.IndexByte(p.text, 0); at >= 0 { // C programs end a line there
		p.warn(p.text[at:], "a NUL byte ends the line here: save the file as plain text")
		p.all = fromNUL().ReplaceAllString(p.all, "")
		p.text = p.all
	}
	for p.space(); p.text != ""; p.space() {
		if p.text[0] == '#' { // a "#" starts a comment only where a keyword may stand
			p.rest()
		} else if err := p.statement(); err != nil {
			return nil, err
		}
	}
	if i := slices.IndexFunc(p.entries, func(e entry) bool { return e.rest }); i >= 0 {
		p.entries = p.entries[:i+1]
	}
	return &p.File, nil
}

func (p *parser) warn(from, reason string) {
	p.Warnings = append(p.Warnings, p.fail(from, reason).Error())
}

// fail returns the error for the line in which from begins. from is the end of the file from some point.
func (p *parser) fail(from, reason string) error {
	line := 1 + strings.Count(strings.TrimSuffix(p.all, from), "\n")
	return Unusable(p.path, fmt.Sprintf("line %d: %s", line, reason))
}

var keywords = []string{"machine", "default", "login", "password", "account", "macdef"}

func (p *parser) statement() (err error) {
	from := p.text
	word := p.bare()
	value := ""
	if !slices.Contains(keywords, word) {
		return p.fail(from, "not a netrc keyword; put quotes around a value that contains a space")
	}
	if word != "default" {
		if value, err = p.value(word); err != nil {
			return err
		}
	}
	var last entry // the entry that a login belongs to
	if n := len(p.entries); n > 0 {
		last = p.entries[n-1]
	}
	_, twice := last.words[word]
	switch begins := word == "machine" || word == "default"; {
	case word == "macdef": // a macro extends to an empty line
		for p.rest(); p.text != "" && strings.TrimSuffix(p.rest(), "\r") != ""; {
		}
	case begins:
		if last.rest && !p.over {
			p.over = true
			p.warn(from, "what follows the default entry is never used: put default last")
		}
		p.entries = append(p.entries, entry{value, word == "default", make(map[string]string)})
	case last.words == nil:
		return p.fail(from, word+" comes before the first machine")
	case twice:
		return p.fail(from, "a second "+word+" for one machine: write a machine entry for each login")
	default:
		last.words[word] = value
	}
	return nil
}

// value reads the value of word: quoted, or up to white space. A "#" is part of it.
func (p *parser) value(word string) (string, error) {
	from := p.text
	p.space()
	switch {
	case p.text == "":
		return "", p.fail(from, word+" has no value")
	case p.text[0] == '"':
		return p.quoted()
	}
	return p.bare(), nil
}

const blanks = " \t\r\n"

func (p *parser) space() { p.text = strings.TrimLeft(p.text, blanks) }

func (p *parser) rest() (line string) {
	line, p.text, _ = strings.Cut(p.text, "\n")
	return line
}

func (p *parser) bare() string {
	word := p.text
	if end := strings.IndexAny(p.text, blanks); end >= 0 {
		word = p.text[:end]
	}
	p.text = p.text[len(word):]
	return word
}

// quoted reads "...". As in curl, \n, \r and \t stand for control characters.
func (p *parser) quoted() (string, error) {
	var b strings.Builder
	for i := 1; i < len(p.text) && p.text[i] != '\n'; i++ {
		c := p.text[i]
		if c == '"' {
			p.text = p.text[i+1:]
			if p.text != "" && !strings.ContainsRune(blanks, rune(p.text[0])) {
				return "", p.fail(p.text, "no space after a closing quote")
			}
			return b.String(), nil
		}
		if c == '\\' && i+1 < len(p.text) && p.text[i+1] != '\n' {
			i++
			c = p.text[i]
			if at := strings.IndexByte("nrt", c); at >= 0 {
				c = "\n\r\t"[at]
			}
		}
		b.WriteByte(c)
	}
	return "", p.fail(p.text, "a quote that is not closed on its line")
}

package disk

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path"
	"slices"
	"sync"
	"unicode/utf8"

	"example.com/ftpfetch/internal/local/localfile"
)

// Spellings finds out which directories below Root take different spellings of a name for one file, as many do on
// Windows and macOS, and some anywhere. It asks each directory once for each kind of spelling, and believes only its
// answer: neither the operating system nor the type of the file system tells. It is safe for concurrent use.
type Spellings struct {
	Root *os.Root
	Dry  bool // leave the disk as it is: ask only about names that exist

	mu    sync.Mutex
	known map[spelled]bool
}

// spelled is a question to a directory.
type spelled struct {
	dir string
	how localfile.Spelling
}

// FakeFolds, if a test sets it, answers for the directory dir whether it takes two names for one.
var FakeFolds func(dir, name, other string) bool

// Folds reports whether the directory dir takes name and some other spelling of it for one. If dir does not exist yet,
// the directory in which it will be made answers.
func (s *Spellings) Folds(dir, name string) bool {
	if s == nil || s.Root == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for dir != "." {
		if info, err := s.Root.Stat(dir); err == nil && info.IsDir() {
			break
		}
		dir = path.Dir(dir)
	}
	if s.known == nil {
		s.known = make(map[spelled]bool)
	}
	for _, how := range localfile.Spellings {
		other := localfile.Respell(name, how)
		if other == "" {
			continue
		}
		question := spelled{dir, how}
		folds, asked := s.known[question]
		if !asked {
			folds = s.ask(dir, name, other)
			s.known[question] = folds
		}
		if folds {
			return true
		}
	}
	return false
}

// ask reports whether dir takes two names for one. It creates a file whose name ends in the first, and looks for it by
// the second. No other file has such a name, and the file's number would not tell: some file systems give a file another
// number for each spelling of its name.
func (s *Spellings) ask(dir, name, other string) bool {
	if FakeFolds != nil {
		return FakeFolds(dir, name, other)
	}
	if s.Dry {
		return s.look(dir)
	}
	before := path.Join(dir, ".ftpfetch-name-"+rand.Text()+"-")
	name, other = differing(name, other)
	f, err := s.Root.OpenFile(before+name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil { // then no other file can be created in it either
		return false
	}
	f.Close()
	_, err = s.Root.Lstat(before + other)
	_ = s.Root.Remove(before + name)
	return err == nil
}

// differing returns the first runes in which two names differ, so that they fit in a longer name.
func differing(name, other string) (string, string) {
	start := 0
	for start < len(name) && start < len(other) && name[start] == other[start] {
		start++
	}
	for start > 0 && start < len(name) && !utf8.RuneStart(name[start]) {
		start--
	}
	const most = 32
	cut := func(s string) string {
		runes := []rune(s)
		if len(runes) > most && utf8.ValidString(s) {
			return string(runes[:most])
		}
		return s[:min(len(s), 4*most)]
	}
	return cut(name[start:]), cut(other[start:])
}

// look reports whether dir finds an entry by a name in another letter case.
func (s *Spellings) look(dir string) bool {
	names, err := Names(s.Root, dir)
	if err != nil {
		return false
	}
	for name := range names {
		other := localfile.Respell(name, localfile.ASCIICase)
		if other == "" {
			continue
		}
		_, err := s.Root.Lstat(path.Join(dir, other))
		return err == nil && !names[other]
	}
	return false
}

// Names returns the names in a directory, as the directory spells them. If there is no such directory, it has no names.
func Names(root *os.Root, dir string) (map[string]bool, error) {
	f, err := root.Open(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	all, err := f.Readdirnames(-1)
	names := make(map[string]bool, len(all))
	for name := range slices.Values(all) {
		names[name] = true
	}
	return names, err
}

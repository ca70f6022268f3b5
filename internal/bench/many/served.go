//go:build linux

package many

import (
	"bytes"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"strings"

	"example.com/ftpfetch/internal/bench/lab"
)

// fileSize is the size of a small file in bytes: it fits into the first TCP
// window, so that throughput does not matter.
const fileSize = 4096

// files is a directory that a case fetches. Paths are from the directory.
type files struct {
	dir   string
	names []string          // paths of the files in order
	bytes map[string][]byte // by path
	links map[string]string // path -> target
}

// served is what the servers serve.
type served struct{ list, long, tree, large *files }

func newServed(n, size int) served {
	// The contents look random but are the same in every run.
	random := rand.NewChaCha8([32]byte{2})
	s := served{list: newFiles("list"), long: newFiles("long"), tree: newFiles("tree"), large: newFiles("large")}
	for i := range n {
		s.list.add(fmt.Sprintf("f%05d", i), fileSize, random)
	}
	for i := range 20 * n {
		s.long.add(fmt.Sprintf("d%02d/f%05d", i%100, i), fileSize, random)
	}
	s.tree.addTree(10*n, random)
	s.large.add("large", size, random)
	return s
}

func newFiles(dir string) *files {
	return &files{dir: dir, bytes: map[string][]byte{}, links: map[string]string{}}
}

func (f *files) add(name string, size int, random *rand.ChaCha8) {
	b := make([]byte, size)
	_, _ = random.Read(b) // never fails
	f.names = append(f.names, name)
	f.bytes[name] = b
}

// addTree adds entries: of ten, one is a directory, with eight files. One
// directory in two has a link to a file instead of the ninth. A directory is
// inside the one before it, four levels deep, and then at the top again.
func (f *files) addTree(entries int, random *rand.ChaCha8) {
	dir := ""
	for i := range entries {
		switch name := fmt.Sprintf("e%05d", i); {
		case i%10 == 0 && i/10%4 == 0:
			dir = name
		case i%10 == 0:
			dir = path.Join(dir, name)
		case i%20 == 19:
			f.links[path.Join(dir, name)] = path.Base(f.names[len(f.names)-1])
		default:
			f.add(path.Join(dir, name), fileSize, random)
		}
	}
}

func (s *served) write(dir string) error {
	for _, f := range []*files{s.list, s.long, s.tree, s.large} {
		for name, b := range f.bytes {
			if err := lab.WriteFile(filepath.Join(dir, f.dir, name), b); err != nil {
				return err
			}
		}
		for name, target := range f.links {
			if err := os.Symlink(target, filepath.Join(dir, f.dir, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// size returns the sum of the files' sizes in bytes.
func (f *files) size() (n int) {
	for _, b := range f.bytes {
		n += len(b)
	}
	return n
}

// found is what a client left in its directory.
type found struct {
	lost  int // files that are missing or differ
	links int // links that are there, as a link or a file
}

// verify compares what is below dir with the served files. Clients may flatten
// the directories of a list, but a tree must be one, from wherever they let it
// begin.
func (f *files) verify(dir string, isTree bool) (found, error) {
	got := map[string]string{} // served path -> local path
	key := path.Base
	if isTree {
		key = f.below
	}
	err := filepath.WalkDir(dir, func(local string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(dir, local)
			got[key(filepath.ToSlash(rel))] = local
		}
		return err
	})
	var r found
	for _, name := range f.names {
		b, err := os.ReadFile(got[key(name)])
		if err != nil || !bytes.Equal(b, f.bytes[name]) {
			r.lost++
		}
	}
	for name := range f.links {
		if got[key(name)] != "" {
			r.links++
		}
	}
	return r, err
}

// below returns the part of a path after the case's directory, if that is in it.
func (f *files) below(p string) string {
	if _, rest, ok := strings.Cut("/"+p, "/"+f.dir+"/"); ok {
		return rest
	}
	return p
}

//go:build linux

package latency

import (
	"bytes"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"example.com/ftpfetch/internal/bench/lab"
)

// fileSize is the size of every served file in bytes: small enough for the first
// TCP window, so that throughput does not matter.
const fileSize = 4096

const (
	deepFile = "a/b/c/file"
	manyDir  = "many"
)

// tree is what the server serves: path -> bytes.
type tree struct {
	files map[string][]byte
	many  []string // names in manyDir, sorted
}

func newTree(many int) *tree {
	t := &tree{files: map[string][]byte{}}
	// The contents look random but are the same in every run.
	random := rand.NewChaCha8([32]byte{1})
	t.files[deepFile] = octets(random)
	for i := range many {
		name := fmt.Sprintf("f%03d", i+1)
		t.many = append(t.many, name)
		t.files[path.Join(manyDir, name)] = octets(random)
	}
	return t
}

func octets(random *rand.ChaCha8) []byte {
	b := make([]byte, fileSize)
	_, _ = random.Read(b) // never fails
	return b
}

func (t *tree) write(dir string) error {
	for name, b := range t.files {
		if err := lab.WriteFile(filepath.Join(dir, filepath.FromSlash(name)), b); err != nil {
			return err
		}
	}
	return nil
}

// verifyFiles compares the files in dir with the served ones at paths.
func (t *tree) verifyFiles(dir string, paths []string) error {
	for _, p := range paths {
		got, err := os.ReadFile(filepath.Join(dir, path.Base(p)))
		if err != nil {
			return fmt.Errorf("%s was not fetched", path.Base(p))
		}
		if !bytes.Equal(got, t.files[p]) {
			return fmt.Errorf("%s differs from the served file", path.Base(p))
		}
	}
	return nil
}

// verifyList compares a list of names with the served directory. wget writes an
// HTML page instead, which must have every name.
func (t *tree) verifyList(dir string, stdout []byte) error {
	page, err := os.ReadFile(filepath.Join(dir, "index.html"))
	if err == nil {
		for _, name := range t.many {
			if !bytes.Contains(page, []byte(">"+name+"<")) {
				return fmt.Errorf("the page does not have %s", name)
			}
		}
		return nil
	}
	names := map[string]bool{}
	for line := range strings.Lines(string(stdout)) {
		names[path.Base(strings.TrimSpace(line))] = true
	}
	if got := slices.Sorted(maps.Keys(names)); !slices.Equal(got, t.many) {
		return fmt.Errorf("%d names listed, want %d: %.80q", len(got), len(t.many), stdout)
	}
	return nil
}

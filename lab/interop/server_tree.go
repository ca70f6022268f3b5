//go:build linux

package interop

import (
	"math/rand/v2"
	"os"
	"path/filepath"
	"time"
)

// Tree is what the servers serve. It is read-only: many servers share it.
type Tree struct {
	Public string            // the directory that anonymous users see as their root
	Home   string            // the directory that the named user logs in to
	Files  map[string]string // path below Public -> contents, in bytes
}

// bigSize is the size of pub/big.bin in bytes: more than any socket buffers.
const bigSize = 8 << 20

// homeFile is the one file below Home, and homeText its contents.
const (
	homeFile = "docs/deep/note.txt"
	homeText = "for the named user\n"
)

// modTime is the modification time of every file: whole seconds, long ago, neither summer time nor a round number in any
// zone.
var modTime = time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)

// oddNames are names that are hard for a URL or a server.
var oddNames = []string{
	"with space", `with "quotes"`, "it's", "semi;colon", "what?", "hash#mark",
	"100%", "%41", "-dash", "tilde~", backslashName, "star*", "[range]", "plus+and&is=",
	"at@colon:", "<angle>", "{brace}|^`", ";type=i", unicodeName, latin1Name,
}

// fsNames are files below pub/fs, with names that every server can send, and at most two kilobytes long.
var fsNames = []string{"a", "a.txt", "b/with space", "b/c/in two directories", "b.c", "z#%?"}

// Names that one of the servers cannot serve: latin1Name is not UTF-8, some know
// only ASCII, and a backslash may start an escape.
const (
	unicodeName   = "\u00fcn\u00efcode \u2603"
	latin1Name    = "caf\xe9"
	backslashName = `back\slash`
)

// NewTree writes the served files below dir.
func NewTree(dir string) (*Tree, error) {
	t := &Tree{
		Public: filepath.Join(dir, "public"),
		Home:   filepath.Join(dir, "home"),
		Files:  publicFiles(),
	}
	for path, text := range t.Files {
		if err := writeFile(filepath.Join(t.Public, path), text); err != nil {
			return nil, err
		}
	}
	if err := writeFile(filepath.Join(t.Home, homeFile), homeText); err != nil {
		return nil, err
	}
	return t, makePublicDir(filepath.Join(t.Public, "pub/empty"))
}

func publicFiles() map[string]string {
	files := map[string]string{
		"pub/a/b/c/file.txt": "three directories down\n",
		"pub/text.txt":       "first line\nsecond line\n\nlast line\n",
		"pub/big.bin":        pseudoRandom(bigSize),
		"pub/none.bin":       "",
	}
	for _, name := range fsNames {
		files["pub/fs/"+name] = pseudoRandom(len(name) * 100)
	}
	files["pub/fs/none"] = ""
	for _, name := range oddNames {
		files["pub/odd/"+name] = "the file " + name + "\n"
		files["pub/odd-dirs/"+name+"/inside"] = "in the directory " + name + "\n"
	}
	return files
}

// pseudoRandom returns n bytes that are the same in every run.
func pseudoRandom(n int) string {
	b := make([]byte, n)
	rand.NewChaCha8([32]byte{}).Read(b) // never fails
	return string(b)
}

func writeFile(path, text string) error {
	if err := makePublicDir(filepath.Dir(path)); err != nil {
		return err
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		return err
	}
	return os.Chtimes(path, modTime, modTime)
}

func makePublicDir(path string) error { return os.MkdirAll(path, 0o755) }

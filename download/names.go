package download

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"regexp"
	"sync"
	"unicode/utf8"
)

// The suffixes of the files beside a target.
const (
	partSuffix    = ".part"
	journalSuffix = ".part.json"
	freshSuffix   = ".part.json~" // the longest
	badSuffix     = ".bad"
)

// own matches the names that this program alone gives: those of journals, of
// ledgers, and those with a hash. A server can work out the hash, but nothing is
// saved under such a name.
var own = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`(?i)^\.ftpfetch-ledger|\.part\.json~?$|~[0-9a-f]{16}\.(part|bad(\.[0-9])?)$`)
})

const ownReason = "has a name that ftpfetch gives its own files"

// names are the paths of one download, on its disk.
type names struct {
	*disk
	given   string // the target as the caller names it
	path    string // the target
	partial string // the bytes so far
	journal string // what the part holds
	fresh   string // the next journal, until it replaces the journal
	bad     string // a file whose digest was wrong
}

// namesOf returns the names that belong to the target at path, which messages
// show, and which the caller calls given.
func (d *disk) namesOf(given, path string) names {
	dir, name := filepath.Split(path)
	most := d.nameMax(filepath.Dir(path))
	stem := dir + stemOf(name, most)
	if d.hashed {
		stem = dir + hashedStem(name, most)
	}
	return names{
		disk: d, given: given, path: path,
		partial: stem + partSuffix, journal: stem + journalSuffix, fresh: stem + freshSuffix,
		bad: stem + badSuffix,
	}
}

// stemOf returns the name before the suffixes: name, or if name with the longest
// suffix has more than most bytes, the start of name and a hash of it.
func stemOf(name string, most int) string {
	if len(name)+len(freshSuffix) <= most {
		return name
	}
	return hashedStem(name, most)
}

// hashedStem returns the start of name and a hash of it.
func hashedStem(name string, most int) string {
	sum := sha256.Sum256([]byte(name))
	hash := "~" + hex.EncodeToString(sum[:8])
	head := name[:min(len(name), max(0, most-len(freshSuffix)-len(hash)))]
	for cut := head; utf8.ValidString(name) && !utf8.ValidString(head); head = cut {
		cut = head[:len(head)-1]
	}
	return head + hash
}

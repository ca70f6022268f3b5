package download

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"unicode/utf8"
)

// The suffixes of the files beside a target.
const (
	partSuffix    = ".part"
	journalSuffix = ".part.json"
	freshSuffix   = ".part.json~" // the longest
	badSuffix     = ".bad"
)

// names are the paths of one download.
type names struct {
	path    string // the target
	part    string // the bytes so far
	journal string // what the part holds
	fresh   string // the next journal, until it replaces the journal
	bad     string // a file whose digest was wrong
}

// namesOf returns the names that belong to target.
func namesOf(target string) names {
	dir, base := filepath.Split(target)
	stem := dir + stemOf(base, nameMax(filepath.Dir(target)))
	return names{
		path: target,
		part: stem + partSuffix, journal: stem + journalSuffix, fresh: stem + freshSuffix,
		bad: stem + badSuffix,
	}
}

// stemOf returns the name before the suffixes: base, or if base with the longest
// suffix has more than most bytes, the start of base and a hash of it.
func stemOf(base string, most int) string {
	if len(base)+len(freshSuffix) <= most {
		return base
	}
	sum := sha256.Sum256([]byte(base))
	hash := "~" + hex.EncodeToString(sum[:8])
	head := base[:min(len(base), max(0, most-len(freshSuffix)-len(hash)))]
	for cut := head; utf8.ValidString(base) && !utf8.ValidString(head); head = cut {
		cut = head[:len(head)-1]
	}
	return head + hash
}

package partfile

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

// mostName is how many bytes a name may have. Systems allow 255 bytes or 255 UTF-16 units, and a name never has more
// UTF-16 units than bytes.
const mostName = 255

// names are the paths of one download, below the root.
type names struct {
	target  string
	partial string // the bytes so far
	journal string // what the part holds
	fresh   string // the next journal, until it replaces the journal
	bad     string // a file whose digest was wrong
}

// namesOf returns the names that belong to target. If hashed is set or a name would have more than mostName bytes, the
// start of target's name and a hash of it go before the suffixes.
func namesOf(target string, hashed bool) names {
	dir, name := filepath.Split(target)
	stem := name
	if hashed || len(name)+len(freshSuffix) > mostName {
		sum := sha256.Sum256([]byte(name))
		hash := "~" + hex.EncodeToString(sum[:8])
		stem = name[:min(len(name), mostName-len(freshSuffix)-len(hash))]
		for cut := stem; utf8.ValidString(name) && !utf8.ValidString(stem); stem = cut {
			cut = stem[:len(stem)-1]
		}
		stem += hash
	}
	stem = dir + stem
	return names{target: target, partial: stem + partSuffix, journal: stem + journalSuffix, fresh: stem + freshSuffix, bad: stem + badSuffix}
}

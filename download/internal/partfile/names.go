package partfile

import (
	"crypto/sha256"
	"encoding/hex"
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

// names are those of one download, in its directory.
type names struct {
	target  string
	partial string // the bytes so far
	journal string // what the part holds
	fresh   string // the next journal, until it replaces the journal
	bad     string // a file whose digest was wrong
}

// namesOf returns the names that belong to a target. If hashed is set or a name would have more than mostName bytes, the
// start of the target's name and a hash of it go before the suffixes; own reports that.
func namesOf(name string, hashed bool) (_ names, own bool) {
	stem := name
	if own = hashed || len(name)+len(freshSuffix) > mostName; own {
		sum := sha256.Sum256([]byte(name))
		hash := "~" + hex.EncodeToString(sum[:8])
		stem = name[:min(len(name), mostName-len(freshSuffix)-len(hash))]
		for cut := stem; utf8.ValidString(name) && !utf8.ValidString(stem); stem = cut {
			cut = stem[:len(stem)-1]
		}
		stem += hash
	}
	return names{name, stem + partSuffix, stem + journalSuffix, stem + freshSuffix, stem + badSuffix}, own
}

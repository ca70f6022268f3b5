package partfile

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"unicode/utf8"
)

// The suffixes of the files beside a target: no other program's files have them, and nothing is saved under such names.
const (
	partSuffix    = ".ftpfetch.part"
	journalSuffix = ".ftpfetch.json"
	freshSuffix   = ".ftpfetch.json~" // the longest
	badSuffix     = ".ftpfetch.bad"
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

// namesOf returns the names that belong to a target, for one run alone if run is not "". If a name would have more than
// mostName bytes, the start of the target's name and a hash of it go before the suffixes.
func namesOf(name, run string) names {
	stem := name
	if run != "" {
		stem += "~" + run
	}
	if len(stem)+len(freshSuffix) > mostName {
		sum := sha256.Sum256([]byte(stem))
		hash := "~" + hex.EncodeToString(sum[:8])
		if stem = stem[:mostName-len(freshSuffix)-len(hash)]; utf8.ValidString(name) {
			stem = strings.ToValidUTF8(stem, "") // without half a letter at its end
		}
		stem += hash
	}
	return names{name, stem + partSuffix, stem + journalSuffix, stem + freshSuffix, stem + badSuffix}
}

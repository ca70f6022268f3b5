package download

import (
	"crypto/sha256"
	"encoding/hex"
	"path/filepath"
	"unicode/utf8"

	"example.com/ftpfetch/internal/localfile"
	"example.com/ftpfetch/urlparse"
)

// LocalName returns the name under which to save the file that u names: its last
// segment, decoded and otherwise unchanged. The error is [ErrName] if the name
// would leave the directory, if the system cannot have such a file, or if this
// program gives such names to its own files, which a later run would trust.
func LocalName(u *urlparse.URL) (string, error) {
	if why := localfile.Unusable(u.Name); why != "" {
		return "", &Error{Path: u.Name, Reason: why, Err: ErrName}
	}
	return u.Name, nil
}

// The suffixes of the files beside a target.
const (
	partSuffix    = ".part"
	journalSuffix = ".part.json"
	freshSuffix   = ".part.json~" // the longest
	badSuffix     = ".bad"
)

// mostName is how many bytes a name may have. Systems allow 255 bytes or 255 UTF-16
// units, and a name never has more UTF-16 units than bytes.
const mostName = 255

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
	stem := dir + stemOf(name)
	if d.hashed {
		stem = dir + hashedStem(name)
	}
	return names{
		disk: d, given: given, path: path,
		partial: stem + partSuffix, journal: stem + journalSuffix, fresh: stem + freshSuffix,
		bad: stem + badSuffix,
	}
}

// stemOf returns the name before the suffixes: name, or if name with the longest
// suffix has more than mostName bytes, the start of name and a hash of it.
func stemOf(name string) string {
	if len(name)+len(freshSuffix) <= mostName {
		return name
	}
	return hashedStem(name)
}

// hashedStem returns the start of name and a hash of it.
func hashedStem(name string) string {
	sum := sha256.Sum256([]byte(name))
	hash := "~" + hex.EncodeToString(sum[:8])
	head := name[:min(len(name), max(0, mostName-len(freshSuffix)-len(hash)))]
	for cut := head; utf8.ValidString(name) && !utf8.ValidString(head); head = cut {
		cut = head[:len(head)-1]
	}
	return head + hash
}

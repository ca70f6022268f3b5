package download

import (
	"runtime"
	"strings"
)

// EntryNames gives the entries of one directory listing, which are text from a
// server, their names in one local directory. A name is what it is on the
// server or it is refused: nothing is cut, replaced or numbered. The zero value
// is for a directory into which nothing was saved yet; it belongs to one
// goroutine.
//
// It guards against names, not against what is in the directory: files are
// created there exclusively, and a caller that goes down a tree opens
// directories through an [os.Root], which follows no link out of it.
type EntryNames struct {
	taken map[string]bool // by their key
	goos  string          // "" is the system's own
}

// Local returns the local name of an entry, by the last component of its line
// in the listing (octets). [ErrName] tells that the entry cannot be saved: as
// with [LocalName] its name would leave the directory or mean something else
// on this system; it is that of a journal of this package, which a later run
// would believe; or an earlier entry has it, on systems that take upper and
// lower case for the same in that spelling too.
func (n *EntryNames) Local(base string) (string, error) {
	goos := n.goos
	if goos == "" {
		goos = runtime.GOOS
	}
	name, err := localName(base, goos)
	if err != nil {
		return "", err
	}
	key := entryKey(name, goos)
	switch {
	case strings.HasSuffix(strings.ToLower(name), journalSuffix):
		return "", &Error{Path: name, Reason: "is named as a journal of an unfinished download", Err: ErrName}
	case n.taken[key]:
		return "", &Error{Path: name, Reason: "has the name of another entry of the listing", Err: ErrName}
	}
	if n.taken == nil {
		n.taken = make(map[string]bool)
	}
	n.taken[key] = true
	return name, nil
}

// entryKey is the same for names that lead to the same file. The file systems
// of Windows and macOS do not tell case apart, as a rule.
func entryKey(name, goos string) string {
	if goos == "windows" || goos == "darwin" || goos == "ios" {
		return strings.ToLower(strings.ToUpper(name))
	}
	return name
}

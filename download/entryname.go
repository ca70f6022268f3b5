package download

import "runtime"

// EntryNames maps the entries of one directory listing, which are text from a
// server, to names in one local directory. It keeps each name as it is on the
// server or refuses it: it never shortens, changes or numbers a name. The zero
// value is ready to use for one directory. It is not safe for concurrent use.
//
// It guards against bad names, not against what the directory holds: the caller
// must create files exclusively and open directories through an [os.Root], which
// follows no link out of the tree.
type EntryNames struct {
	taken map[string]bool // by pathKey
	goos  string          // "" means runtime.GOOS
}

// Local returns the local name of an entry, given the last component of its line
// in the listing. The error is [ErrName] if the name would leave the directory or
// mean something else on this system (see [LocalName]), or if an earlier entry
// had the same name. Case does not matter on systems that ignore it.
func (n *EntryNames) Local(base string) (string, error) {
	goos := n.goos
	if goos == "" {
		goos = runtime.GOOS
	}
	name, err := localName(base, goos)
	if err != nil {
		return "", err
	}
	key := pathKey(name, goos)
	if n.taken[key] {
		return "", &Error{Path: name, Reason: "has the name of another entry of the listing", Err: ErrName}
	}
	if n.taken == nil {
		n.taken = make(map[string]bool)
	}
	n.taken[key] = true
	return name, nil
}

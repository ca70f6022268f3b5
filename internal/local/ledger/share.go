package ledger

import (
	"cmp"
	"os"
	"slices"
	"sync"
	"time"

	"example.com/ftpfetch/internal/local/localfile"
)

// opened has the stores that Open has opened, while a run of this process uses them.
var opened = struct {
	sync.Mutex
	all map[ownLedger]*entry
}{all: make(map[ownLedger]*entry)}

// ownLedger says which ledger a run adds to.
type ownLedger struct {
	root *os.Root
	name string
}

// entry is a store that runs have in common.
type entry struct {
	of    ownLedger
	users int // opened.Mutex guards it

	sync.Mutex
	store *store // nil before it is open
}

// lookEvery is how often Open looks for new ledgers beside a store that is open.
const lookEvery = 10 * time.Second

// Open opens all ledgers in root. It trusts only ledgers that this user owns and no other user may write to. The ledger
// called name is created with its first record. The caller must call Close.
//
// While a run of this process has a ledger open, another Open with the same [os.Root] and name reads only what has been
// added since, and the records of both are flushed together. It looks for new ledgers at most every ten seconds.
func Open(root *os.Root, name string) (l *Ledger, err error) {
	x := enter(ownLedger{root, name})
	left := false
	defer func() {
		if l == nil && !left {
			x.leave()
		}
	}()
	x.Lock()
	defer x.Unlock()
	switch {
	case x.store == nil:
		var s *store
		if s, err = openTidy(root, name, false); err == nil {
			x.store = s
		}
	case x.store.replaced():
		x.forget()
		x.leave()
		left = true
		return Open(root, name)
	default:
		err = localfile.Failure(name, "the ledger cannot be used", x.store.catchUp())
	}
	if err != nil {
		return nil, err
	}
	return ledgerOf(x.store, x.leave), nil
}

// enter returns the entry of a ledger for another user.
func enter(of ownLedger) *entry {
	opened.Lock()
	defer opened.Unlock()
	x := opened.all[of]
	if x == nil {
		x = &entry{of: of}
		opened.all[of] = x
	}
	x.users++
	return x
}

// leave ends the use of the entry. The last user closes the store.
func (x *entry) leave() {
	opened.Lock()
	x.users--
	last := x.users == 0
	if last && opened.all[x.of] == x {
		delete(opened.all, x.of)
	}
	opened.Unlock()
	if last && x.store != nil {
		x.store.close()
	}
}

// forget makes the next Open begin with another entry.
func (x *entry) forget() {
	opened.Lock()
	defer opened.Unlock()
	if opened.all[x.of] == x {
		delete(opened.all, x.of)
	}
}

// replaced reports whether the ledgers must be opened anew: the own one cannot be written, the directory has another file
// in place of one, or one is not what it was when it was opened.
func (l *store) replaced() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.broken != nil {
		return true
	}
	return slices.ContainsFunc(l.files, func(f *ledgerFile) bool {
		self, err := f.Stat()
		now, nerr := l.root.Lstat(f.name)
		return err != nil || nerr != nil || !os.SameFile(self, now) || now.Size() < f.end || !l.trusts(now)
	})
}

// catchUp reads what was added to the ledgers since they were read.
func (l *store) catchUp() error {
	looks, known := l.toLookFor()
	var names []string
	var err error
	if looks {
		names, err = l.list(known)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	err = cmp.Or(err, l.begin(false))
	for n := range l.files {
		err = cmp.Or(err, l.load(n))
	}
	names = slices.DeleteFunc(names, l.has)
	if err == nil && looks {
		err = l.useAll(names)
	}
	return err
}

// toLookFor reports whether it is time to look for ledgers, and which are known. A ledger that was ignored is no longer
// known once it may be trusted.
func (l *store) toLookFor() (looks bool, known []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	ignored := len(l.ignored)
	l.ignored = slices.DeleteFunc(l.ignored, func(name string) bool {
		info, err := l.root.Lstat(name)
		return err != nil || l.trusts(info)
	})
	for _, f := range l.files {
		known = append(known, f.name)
	}
	return len(l.ignored) < ignored || time.Since(l.looked) >= lookEvery, append(known, l.ignored...)
}

// has reports whether the ledger with this name is open.
func (l *store) has(name string) bool {
	return slices.ContainsFunc(l.files, func(f *ledgerFile) bool { return f.name == name })
}

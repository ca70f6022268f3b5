package ledger

import (
	"os"
	"sync"
	"time"

	"example.com/ftpfetch/internal/local/localfile"
)

// opened has the ledgers that Open has opened, while a run of this process uses them.
var opened = struct {
	sync.Mutex
	all map[whose]*shared
}{all: make(map[whose]*shared)}

// whose says which ledger a run adds to.
type whose struct {
	root *os.Root
	name string
}

// shared is a store that several runs use.
type shared struct {
	users int // opened.Mutex guards it

	sync.Mutex
	store *store // nil before it is open
}

// looking is how often runs that share a store look for new ledgers.
const looking = 10 * time.Second

// Open opens all ledgers in root. It trusts only ledgers that this user owns and no other user may write to. The ledger
// called name is created with its first record. The caller must call Close.
//
// While a run of this process has a ledger open, another Open with the same root and name reads only what has been added
// since. It looks for new ledgers every ten seconds.
func Open(root *os.Root, name string) (*Ledger, error) {
	which := whose{root, name}
	opened.Lock()
	x := opened.all[which]
	if x == nil {
		x = &shared{}
		opened.all[which] = x
	}
	x.users++
	opened.Unlock()
	leave := func() {
		opened.Lock()
		defer opened.Unlock()
		x.users--
		if x.users == 0 {
			delete(opened.all, which)
			if x.store != nil {
				x.store.end()
			}
		}
	}
	x.Lock()
	defer x.Unlock()
	switch {
	case x.store == nil:
		s, err := openTidy(root, name, false)
		if err != nil {
			leave()
			return nil, err
		}
		x.store = s
	case x.store.replaced():
		leave()
		s, err := openTidy(root, name, false)
		return ledgerOf(s, s.end), err
	default:
		if err := x.store.catchUp(); err != nil {
			leave()
			return nil, localfile.Failure(name, "the ledger cannot be used", err)
		}
	}
	return ledgerOf(x.store, leave), nil
}

// replaced reports whether the own ledger must be opened anew: it cannot be written, the directory has another one, or
// it is not what it was when it was opened.
func (l *store) replaced() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.own == nil {
		return l.broken != nil
	}
	own := l.files[l.mine]
	self, err := own.Stat()
	now, nerr := l.root.Lstat(own.name)
	return err != nil || nerr != nil || !os.SameFile(self, now) || now.Size() < own.end || !l.trusts(now)
}

// catchUp reads what was added to the ledgers since they were read.
func (l *store) catchUp() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	for n := range l.files {
		if err := l.load(n); err != nil {
			return err
		}
	}
	if time.Since(l.found) < looking {
		return nil
	}
	return l.find()
}

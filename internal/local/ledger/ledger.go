// Package ledger records the verified files of an output directory, so that a later run fetches only the rest.
package ledger

import (
	"bufio"
	"cmp"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"hash/maphash"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/printable"
)

// Name is the beginning of the name of every ledger in the output directory. The number of the shard follows in the
// name of a shard's ledger.
const Name = ".ftpfetch-ledger"

// Record says that a file with these bytes was verified. It is one line of JSON in a ledger.
type Record struct {
	Path     string    `json:"path"`               // relative to the output directory
	Raw      []byte    `json:"raw,omitempty"`      // the path's bytes, if it is not UTF-8
	URL      string    `json:"url"`                // the source: urlparse.KeyOf returns its key
	Size     int64     `json:"size"`               // in bytes
	Modified time.Time `json:"modified,omitzero"`  // of the local file
	Told     time.Time `json:"told,omitzero"`      // the server's, if the disk made another time of it
	Sum      string    `json:"sum,omitempty"`      // "sha256:hex"
	Verified string    `json:"verified,omitempty"` // what the digest was compared with
	Checked  time.Time `json:"checked,omitzero"`   // when it was compared
	// Login is the login directory, by PWD, for a file of a tree; "" if unknown.
	Login string `json:"login,omitempty"`
	// Todo means that something is still to be done with the file: see download.RunOptions.Done.
	Todo bool `json:"todo,omitempty"`
}

// Of returns a record of the file at path, in which only the path is set.
func Of(path string) Record {
	r := Record{Path: path}
	if !utf8.ValidString(path) {
		r.Raw = []byte(path)
	}
	return r
}

// Local returns the path, byte for byte.
func (r Record) Local() string {
	if r.Raw != nil {
		return string(r.Raw)
	}
	return r.Path
}

// describes reports whether r is about the file at path, and the file still has the recorded size and time.
func (r Record) describes(path string, info fs.FileInfo) bool {
	return r.Local() == path && r.Size == info.Size() && localfile.SameTime(r.Modified, info.ModTime())
}

// Ledger records the verified files of an output directory. The record of a file is on the disk before the file gets
// its name, so that a killed run leaves no file without a record. A record counts only while the file has the recorded
// size and time; [Ledger.Last] also returns one of a file that is not there any more. Records are only added; the last
// record of a path counts. A run that opens a ledger most of whose records are superseded rewrites it without these.
//
// Several runs may add to the ledgers of one directory at the same time, each to its own ledger or all to the same.
// They share a lock on it, so that nobody rewrites it meanwhile. Each run reads all ledgers when it starts; runs of one
// process may have a ledger in common, see [Open]. A Ledger is safe for concurrent use.
type Ledger struct {
	*store
	Ignored []string // names of ledgers that are not trusted
	added   []*lot   // with records of this run; store.mu guards it
	close   func()
}

// store has the ledgers of a directory that are open, for one run or for several of this process.
type store struct {
	root  *os.Root
	names []string // names for the own ledger: the second is used if the first is not trusted
	alone bool     // no other run may add to the own ledger meanwhile
	worn  bool     // most records of the own ledger were superseded when it was read

	flushing sync.Mutex // held while a lot is written and flushed, before mu

	mu      sync.Mutex
	ignored []string          // names of ledgers that are not trusted
	broken  error             // why the own ledger cannot be written; nil if it can
	open777 *bool             // the disk shows every file as writable for all: see modeless
	files   []*ledgerFile     // all ledgers
	own     *os.File          // the ledger that records are added to; nil if there is none yet
	mine    int               // index of own in files
	next    *lot              // to write to own; nil if nothing was added
	torn    bool              // the last line of own may be unfinished
	looked  time.Time         // when ledgers were last looked for
	read    []place           // the last record of each path, sorted; half as large as a map
	later   map[uint64]uint64 // position of the last later record of each path, by its hash; nil until Open ends
}

// ledgerFile is a ledger that is open for reading.
type ledgerFile struct {
	*os.File
	name string
	end  int64 // how far it has been read
}

// place says where a record is.
type place struct {
	path     uint64 // hash of the path
	position uint64
}

// offsetBits is how many low bits of a position are the offset in a file. The other bits are the index of the file in
// files.
const offsetBits = 48

const maxRecord = 256 << 10

// OpenAlone is [Open] for a run beside which no other may add to the same ledger: until Close, another Open of it fails
// with [ErrAtWork]. So does OpenAlone while another run has the ledger open. Where there are no locks, it is as Open.
func OpenAlone(root *os.Root, name string) (*Ledger, error) {
	s, err := openTidy(root, name, true)
	return ledgerOf(s, s.close), err
}

// OpenToRead opens all ledgers in root, also if a run has one for itself. The caller must not add to them, and must call
// Close.
func OpenToRead(root *os.Root) (*Ledger, error) {
	s, err := openAll(root, Name+"-none", false) // there is none of that name
	return ledgerOf(s, s.close), err
}

func ledgerOf(s *store, leave func()) *Ledger {
	s.mu.Lock()
	defer s.mu.Unlock()
	return &Ledger{store: s, Ignored: slices.Clone(s.ignored), close: sync.OnceFunc(leave)}
}

// openTidy opens all ledgers, and rewrites the run's own one if most of its records are superseded.
func openTidy(root *os.Root, name string, alone bool) (*store, error) {
	l, err := openAll(root, name, alone)
	if err != nil || !l.worn {
		return l, err
	}
	l.rewrite()
	l.close()
	return openAll(root, name, alone)
}

func openAll(root *os.Root, name string, alone bool) (*store, error) {
	l := &store{root: root, alone: alone}
	l.names = []string{name, fmt.Sprintf("%s~%d", name, os.Geteuid())}
	names, err := l.list(nil)
	if err == nil {
		err = l.useAll(names)
	}
	l.index()
	if err != nil {
		l.close()
	}
	return l, localfile.Failure(name, "the ledger cannot be used", err)
}

// useAll opens and reads ledgers.
func (l *store) useAll(names []string) (err error) {
	for _, n := range names {
		failed := l.use(n)
		switch {
		case errors.Is(failed, errForeign):
			l.ignored = append(l.ignored, n)
		case errors.Is(failed, ErrAtWork):
			err = cmp.Or(err, failed)
		case slices.Contains(l.names, n) && failed != nil && l.own == nil:
			l.broken = failed // some mounts open no file that they are still writing
		default:
			err = cmp.Or(err, failed)
		}
	}
	if err == nil {
		l.looked = time.Now()
	}
	return err
}

// list returns the names of the ledgers in the directory that are not among known. It looks at no other file, of which
// there may be millions.
func (l *store) list(known []string) (names []string, err error) {
	dir, err := l.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	for err == nil {
		var some []string
		some, err = dir.Readdirnames(1 << 10)
		for _, n := range some {
			if strings.HasPrefix(n, Name) && !slices.Contains(known, n) {
				names = append(names, n)
			}
		}
	}
	slices.Sort(names)
	if err == io.EOF {
		err = nil
	}
	return names, err
}

// index sorts what Open has read, and finds out whether the run's own ledger is worn.
func (l *store) index() {
	slices.SortFunc(l.read, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.path, b.path), cmp.Compare(b.position, a.position))
	})
	own := func(p place) bool { return l.own != nil && p.position>>offsetBits == uint64(l.mine) }
	var before place
	var n counts
	for _, p := range l.read {
		if own(p) {
			n.add(p.path == before.path && own(before))
		}
		before = p
	}
	l.worn = n.worn()
	l.read = slices.Clip(slices.CompactFunc(l.read, func(a, b place) bool { return a.path == b.path }))
	l.later = make(map[uint64]uint64)
}

// use opens and reads a ledger. If it has a name of the run's own ledger, it becomes that.
func (l *store) use(name string) error {
	var f *os.File
	var err error
	mine := l.own == nil && l.broken == nil && slices.Contains(l.names, name)
	if mine {
		f, err = l.openOwn(name)
		if err != nil && !is(err, errForeign, fs.ErrNotExist, ErrAtWork) { // it may still be read
			l.broken = err
			mine = false
		}
	}
	if !mine {
		f, err = l.open(name, os.O_RDONLY)
	}
	if err != nil {
		return err
	}
	l.files = append(l.files, &ledgerFile{File: f, name: name})
	n := len(l.files) - 1
	err = l.load(n)
	if !mine {
		return err
	}
	info, serr := f.Stat()
	if err == nil && serr == nil && info.Size() > l.files[n].end { // a killed run left an unfinished line
		if _, l.broken = f.WriteString("\n"); l.broken != nil {
			return nil
		}
		err = l.load(n)
	}
	l.own = f
	l.mine = n
	return err
}

// begin opens the run's own ledger, or creates it if create is set. If other users own files of both names, the run
// records nothing.
func (l *store) begin(create bool) error {
	for _, name := range l.names {
		if l.own != nil || l.broken != nil {
			break
		}
		var err error
		created := false
		if create {
			created, err = touch(l.root, name)
		}
		if err == nil {
			err = l.use(name)
		}
		if created && errors.Is(err, errForeign) {
			_ = l.root.Remove(name)
			l.broken = errGiven
		}
		absent := errors.Is(err, fs.ErrNotExist) && !create
		if err != nil && !absent && !errors.Is(err, errForeign) {
			return localfile.Failure(name, "the ledger cannot be used", err)
		}
	}
	if create && l.broken != nil {
		return localfile.Failure(l.names[0], "the ledger cannot be written", l.broken)
	}
	return nil
}

// touch creates an empty file unless the file exists.
func touch(root *os.Root, name string) (created bool, err error) {
	f, err := root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	switch {
	case errors.Is(err, fs.ErrExist):
		return false, nil
	case err != nil:
		return false, err
	}
	return true, f.Close()
}

var errForeign = errors.New("not believed")

func is(err error, targets ...error) bool {
	return slices.ContainsFunc(targets, func(target error) bool { return errors.Is(err, target) })
}

// errGiven means that a file that this user has created belongs to another one at once.
var errGiven = errors.New("the disk gives new files to another user: mount it with uid= of this one")

// probeMode is the mode that modeless gives a file; a test changes it.
var probeMode fs.FileMode = 0o600

// modeless reports whether the disk shows every file as writable for all users, whatever mode a file is given, as a
// mount of FAT may. There a ledger's mode says nothing, and whoever can write to the ledger can write to the files as
// well. It makes a file to find out, and removes it again.
func (l *store) modeless() bool {
	if l.open777 != nil {
		return *l.open777
	}
	l.open777 = new(bool)
	name := ".ftpfetch-mode-" + rand.Text()
	f, err := l.root.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, probeMode)
	if err != nil {
		return false
	}
	info, err := f.Stat()
	_ = f.Close()
	_ = l.root.Remove(name)
	*l.open777 = err == nil && disk.Ours(info) && !disk.Alone(info)
	return *l.open777
}

// trusts reports whether info is of a regular file that this user owns and no other user may write to, as far as the disk
// knows.
func (l *store) trusts(info fs.FileInfo) bool {
	return info.Mode().IsRegular() && disk.Ours(info) && (disk.Alone(info) || l.modeless())
}

// open opens a regular file that this user owns and no other user may write to, as far as the disk knows. For any other
// file the error is errForeign.
func (l *store) open(name string, flag int) (*os.File, error) {
	info, err := l.root.Lstat(name)
	if err == nil && !l.trusts(info) {
		err = errForeign
	}
	if err != nil {
		return nil, err
	}
	f, err := l.root.OpenFile(name, flag|disk.NoWait, 0)
	if err != nil {
		return nil, err
	}
	if now, err := f.Stat(); err != nil || !os.SameFile(now, info) {
		f.Close()
		return nil, errForeign
	}
	return f, nil
}

// load reads what was added to l.files[n] since it was read, and notes the positions of the records.
func (l *store) load(n int) (err error) {
	f := l.files[n]
	info, err := f.Stat()
	if err != nil || info.Size() == f.end { // mostly there is nothing new, and a buffer takes long to make
		return err
	}
	f.end, err = lines(f.File, f.end, func(at int64, _ []byte, r Record) {
		l.note(key(r.Local()), uint64(n)<<offsetBits|uint64(at))
	})
	l.merge()
	return err
}

// lines calls f for each record of a ledger from offset at on, with its offset and its line, and returns the offset of
// the end of the last line. It ignores lines that are not records, such as an unfinished last line.
func lines(file *os.File, at int64, f func(at int64, line []byte, r Record)) (end int64, err error) {
	in := bufio.NewReaderSize(io.NewSectionReader(file, at, math.MaxInt64-at), maxRecord)
	for {
		line, err := in.ReadSlice('\n')
		if err == io.EOF {
			return at, nil
		}
		var r Record
		if err == nil && line[0] == '{' && json.Unmarshal(line, &r) == nil && r.Local() != "" {
			f(at, line, r)
		}
		at += int64(len(line))
		if err != nil && !errors.Is(err, bufio.ErrBufferFull) {
			return at, err
		}
	}
}

// note records the position of a record.
func (l *store) note(path, position uint64) {
	if l.later == nil {
		l.read = append(l.read, place{path, position})
		return
	}
	l.later[path] = position
}

// leastMerged is how many later records there are at least when merge moves them. A test changes it.
var leastMerged = 1 << 14

// merge moves the positions of later records to the others, once they are as many, because a map needs more memory.
func (l *store) merge() {
	if len(l.later) < max(leastMerged, len(l.read)) {
		return
	}
	l.read = slices.DeleteFunc(l.read, func(p place) bool {
		_, later := l.later[p.path]
		return later
	})
	l.read = slices.Grow(l.read, len(l.later))
	for path, position := range l.later {
		l.read = append(l.read, place{path, position})
	}
	slices.SortFunc(l.read, func(a, b place) int { return cmp.Compare(a.path, b.path) })
	l.later = make(map[uint64]uint64)
}

// position returns the position of the last record of a path.
func (l *store) position(path uint64) (position uint64, ok bool) {
	if position, ok = l.later[path]; ok {
		return position, true
	}
	i, ok := slices.BinarySearchFunc(l.read, path, func(p place, path uint64) int { return cmp.Compare(p.path, path) })
	if !ok {
		return 0, false
	}
	return l.read[i].position, true
}

// Each calls f with each record of the ledgers that Open found, including older records of the same path.
func (l *store) Each(f func(Record)) error {
	l.mu.Lock()
	files := slices.Clone(l.files)
	l.mu.Unlock()
	for _, file := range files {
		if _, err := lines(file.File, 0, func(_ int64, _ []byte, r Record) { f(r) }); err != nil {
			return localfile.Failure(file.name, "the ledger cannot be read", err)
		}
	}
	return nil
}

// Blank reports whether there are ledgers, but no record in them: where no record could be written, its file stays empty.
func (l *store) Blank() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.files) > 0 && len(l.read) == 0 && len(l.later) == 0
}

// Refresh reads the records that any run has added to the run's own ledger since it was read.
func (l *store) Refresh() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	err := l.begin(false)
	if err != nil || l.own == nil {
		return err
	}
	return l.load(l.mine)
}

var seed = maphash.MakeSeed()

func key(path string) uint64 { return maphash.String(seed, path) }

// Find returns the record of the existing file at path, which info describes.
func (l *store) Find(path string, info fs.FileInfo) (r Record, ok bool) {
	r, ok = l.Last(path)
	return r, ok && r.describes(path, info) && disk.Ours(info)
}

// Last returns the last record of a path, whatever has become of the file.
func (l *store) Last(path string) (r Record, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	at, ok := l.position(key(path))
	if !ok {
		return r, false
	}
	in := io.NewSectionReader(l.files[at>>offsetBits], int64(at&(1<<offsetBits-1)), maxRecord)
	line, err := bufio.NewReaderSize(in, 1<<10).ReadBytes('\n')
	if err != nil || json.Unmarshal(line, &r) != nil {
		return r, false
	}
	return r, r.Local() == path
}

// Add adds a record. It is on the disk only after Flush. Without a ledger that may be trusted, Add records nothing.
func (l *Ledger) Add(r Record) error {
	line := printable.JSON(r)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.begin(true); err != nil || l.own == nil {
		return err
	}
	if l.next == nil {
		l.next = newLot(l.store)
	}
	l.next.lines = append(l.next.lines, line...)
	if !slices.Contains(l.added, l.next) {
		l.added = append(l.added, l.next)
	}
	return nil
}

// Flush writes the added records and flushes them to the disk, with those of other runs that have the ledger in common.
// After an error any of them may be on the disk.
func (l *Ledger) Flush() (err error) {
	l.mu.Lock()
	all := slices.Clone(l.added)
	l.mu.Unlock()
	for _, x := range all {
		err = cmp.Or(err, x.flush())
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.added = slices.DeleteFunc(l.added, func(x *lot) bool { return slices.Contains(all, x) })
	return err
}

// lot has records that are written together.
type lot struct {
	lines []byte
	flush func() error // writes and flushes the lot, once
}

func newLot(l *store) *lot {
	x := &lot{}
	x.flush = sync.OnceValue(func() error { return l.write(x) })
	return x
}

// write adds a lot to the own ledger, and flushes that. While one lot is flushed, the next one grows.
func (l *store) write(x *lot) error {
	l.flushing.Lock()
	defer l.flushing.Unlock()
	own, err := l.append(x)
	err = cmp.Or(err, disk.Flush(own)[0])
	return localfile.Failure(own.Name(), "the ledger cannot be written", err)
}

func (l *store) append(x *lot) (own *os.File, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.next = nil
	if l.torn {
		x.lines = append([]byte("\n"), x.lines...)
	}
	err = disk.Do("append", l.own.Name(), func() error {
		_, err := l.own.Write(x.lines)
		return err
	})
	l.torn = err != nil // the error may have come in the middle of a line
	return l.own, err
}

// Close closes the ledger.
func (l *Ledger) Close() { l.close() }

// close unlocks and closes all ledgers.
func (l *store) close() {
	if l.own != nil {
		disk.Unlock(l.own)
	}
	for _, f := range l.files {
		f.Close()
	}
}

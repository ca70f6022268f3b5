package download

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"example.com/ftpfetch/urlparse"
)

const (
	journalVersion = 3
	maxJournal     = 16 << 20 // bytes: enough for a part in very many pieces
)

// state is what is known about a part: where its bytes come from, and which of
// them it has.
type state struct {
	url      string    // without password
	size     int64     // bytes of the whole file; -1 if unknown
	modTime  time.Time // the server's; zero if unknown
	adopted  int64     // bytes at the start that Continue took from another program
	inode    string    // which file the journal is about: see inodeOf
	complete bool      // only the final name is missing
	run      string    // which run wrote this, where there are no locks
	done     spans
	blocks   blocks // of done
}

// record is the journal file. docs/download.md describes it.
type record struct {
	Version  int        `json:"ftpfetch"`
	URL      string     `json:"url"`
	Size     int64      `json:"size"`
	Modified *time.Time `json:"modified,omitempty"`
	Adopted  int64      `json:"adopted,omitempty"`
	Inode    string     `json:"inode,omitempty"`
	Complete bool       `json:"complete,omitempty"`
	Run      string     `json:"run,omitempty"`
	Done     [][3]int64 `json:"done"`
}

// journalURL returns u as a journal writes it: exactly, but without its password.
func journalURL(u *urlparse.URL) string { return u.WithoutPassword().String() }

// encode returns the journal for s. It claims the bytes of s.blocks.
func (s state) encode() ([]byte, error) {
	r := record{
		Version: journalVersion, URL: s.url, Size: s.size, Adopted: s.adopted, Inode: s.inode, Complete: s.complete, Run: s.run,
		Done: make([][3]int64, 0, len(s.blocks)),
	}
	if !s.modTime.IsZero() {
		utc := s.modTime.UTC()
		r.Modified = &utc
	}
	for _, x := range s.blocks {
		r.Done = append(r.Done, [3]int64{x.start, x.end, int64(x.sum)})
	}
	b, err := json.Marshal(r)
	return append(b, '\n'), err
}

var errJournal = errors.New("its journal is damaged")

// parseJournal parses a journal, which may hold anything. The state it returns is
// consistent: blocks in order and inside the file.
func parseJournal(data []byte) (state, error) {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return state{}, errJournal
	}
	if r.Version != journalVersion {
		return state{}, fmt.Errorf("its journal has version %d, not %d", r.Version, journalVersion)
	}
	s := state{url: r.URL, size: r.Size, adopted: r.Adopted, inode: r.Inode, complete: r.Complete, run: r.Run}
	if r.Modified != nil {
		s.modTime = r.Modified.UTC()
	}
	at := int64(0)
	for _, x := range r.Done {
		if x[0] < at || x[1] <= x[0] || x[2] != int64(uint32(x[2])) {
			return state{}, errJournal
		}
		at = x[1]
		s.blocks = append(s.blocks, block{span{x[0], x[1]}, uint32(x[2])})
	}
	s.done = s.blocks.spans()
	if s.size < -1 || s.url == "" || at > max(s.size, 0) || s.adopted < 0 || s.adopted > s.done.head() ||
		s.complete && s.done.octets() != s.size {
		return state{}, errJournal
	}
	return s, nil
}

// readJournal reads the journal at path. The error is fs.ErrNotExist if there is
// none.
func (d *disk) readJournal(path string) (state, error) {
	f, err := d.openRegular(path, os.O_RDONLY)
	if err != nil {
		return state{}, err
	}
	defer f.Close()
	data, err := readAll(f, maxJournal)
	if err != nil {
		return state{}, err
	}
	if len(data) > maxJournal {
		return state{}, errJournal
	}
	return parseJournal(data)
}

// writeJournal replaces the journal by one for s, whole or not at all. With
// sync the journal is on the disk when writeJournal returns.
func (n names) writeJournal(s state, sync bool) error {
	data, err := s.encode()
	if err != nil {
		return err
	}
	f, err := n.createFresh()
	if err != nil {
		return err
	}
	_, err = diskWriter{f}.Write(data)
	if err == nil && sync {
		err = fsync(f)
	}
	if cerr := closing(f); err == nil {
		err = cerr
	}
	if err == nil {
		err = n.rename(n.fresh, n.journal)
	}
	if err != nil {
		_ = n.remove(n.fresh)
	}
	return err
}

// createFresh opens the next journal. It removes one that a killed run left.
func (n names) createFresh() (*os.File, error) {
	const flag = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	f, err := n.openFile(n.fresh, flag, 0o600)
	if !errors.Is(err, fs.ErrExist) {
		return f, err
	}
	if err := n.removeIfThere(n.fresh); err != nil {
		return nil, err
	}
	return n.openFile(n.fresh, flag, 0o600)
}

// removeJournal removes the journal, and one that was still being written.
func (n names) removeJournal() error {
	return errors.Join(n.removeIfThere(n.fresh), n.removeIfThere(n.journal))
}

// removeIfThere removes the file at path, if there is one.
func (d *disk) removeIfThere(path string) error {
	if err := d.remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// journalHead is the start of every journal.
const journalHead = `{"ftpfetch":`

// checkJournals refuses files under the names of a journal that are not journals:
// another program's file, or one that was retrieved under such a name. there says
// whether the journal is missing.
func (n names) checkJournals(there error) error {
	if !errors.Is(there, fs.ErrNotExist) {
		if err := n.checkHead(n.journal); err != nil {
			return err
		}
	}
	return n.checkHead(n.fresh)
}

func (d *disk) checkHead(path string) error {
	f, err := d.openRegular(path, os.O_RDONLY)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return failure(path, "cannot be read", err)
	}
	defer f.Close()
	b, err := readAll(f, int64(len(journalHead)-1))
	switch {
	case err != nil:
		return failure(path, "cannot be read", err)
	case strings.HasPrefix(journalHead, string(b)): // or what is left of one after a full disk
		return nil
	case len(bytes.Trim(b, "\x00")) == 0: // what is left after a power failure
		return nil
	}
	return &Error{Path: path, Reason: "is in the way: it is not the journal of an unfinished download", Err: ErrForeign}
}

// agrees reports whether any block is in the part: then that is a copy of the one
// that s was written for.
func (s state) agrees(r io.ReaderAt) bool {
	good, err := s.blocks.sound(r)
	return err == nil && len(good) > 0
}

// has makes s claim the first n bytes of f.
func (s *state) has(f diskReader, n int64) (err error) {
	s.done = spans{}.add(span{0, n})
	s.blocks, err = blocks(nil).cover(f, s.done, blockFor(max(s.size, n)))
	return err
}

// about reports whether s is the journal of the file that info describes.
func (s state) about(info fs.FileInfo) bool {
	return info != nil && s.inode != "" && s.inode == inodeOf(info)
}

package partfile

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"
)

const (
	journalVersion = 3
	maxJournal     = 16 << 20 // bytes: enough for a part in very many pieces
)

// journalHead is the start of every journal.
const journalHead = `{"ftpfetch":`

// State is what is known about a part: where its bytes come from, and which of
// them it has.
type State struct {
	URL      string    // whose bytes they are: any text
	Size     int64     // bytes of the whole file; -1 if unknown
	ModTime  time.Time // the source's; zero if unknown
	Adopted  int64     // bytes at the start that another program brought
	Complete bool      // only the final name is missing
	Done     Spans

	inode  string // which file the journal is about: see inodeOf
	run    string // which run wrote this, where there are no locks
	blocks blocks // of Done
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

// encode returns the journal for s. It claims the bytes of s.blocks.
func (s State) encode() ([]byte, error) {
	r := record{
		Version: journalVersion, URL: s.URL, Size: s.Size, Adopted: s.Adopted, Inode: s.inode, Complete: s.Complete, Run: s.run,
		Done: make([][3]int64, 0, len(s.blocks)),
	}
	if !s.ModTime.IsZero() {
		utc := s.ModTime.UTC()
		r.Modified = &utc
	}
	for _, x := range s.blocks {
		r.Done = append(r.Done, [3]int64{x.Start, x.End, int64(x.sum)})
	}
	b, err := json.Marshal(r)
	return append(b, '\n'), err
}

var errJournal = errors.New("its journal is damaged")

// parseJournal parses a journal, which may hold anything. The state it returns is
// consistent: blocks in order and inside the file.
func parseJournal(data []byte) (State, error) {
	var r record
	if err := json.Unmarshal(data, &r); err != nil {
		return State{}, errJournal
	}
	if r.Version != journalVersion {
		return State{}, fmt.Errorf("its journal has version %d, not %d", r.Version, journalVersion)
	}
	s := State{URL: r.URL, Size: r.Size, Adopted: r.Adopted, inode: r.Inode, Complete: r.Complete, run: r.Run}
	if r.Modified != nil {
		s.ModTime = r.Modified.UTC()
	}
	at := int64(0)
	for _, x := range r.Done {
		if x[0] < at || x[1] <= x[0] || x[2] != int64(uint32(x[2])) {
			return State{}, errJournal
		}
		at = x[1]
		s.blocks = append(s.blocks, block{Span{x[0], x[1]}, uint32(x[2])})
	}
	s.Done = s.blocks.spans()
	if s.Size < -1 || s.URL == "" || at > max(s.Size, 0) || s.Adopted < 0 || s.Adopted > s.Done.Head() ||
		s.Complete && s.Done.Octets() != s.Size {
		return State{}, errJournal
	}
	return s, nil
}

// readJournal reads the journal. The error is fs.ErrNotExist if there is none.
func (p *Place) readJournal() (State, error) {
	data, err := p.readStart(p.journal, maxJournal+1)
	if err == nil && len(data) > maxJournal {
		err = errJournal
	}
	if err != nil {
		return State{}, err
	}
	return parseJournal(data)
}

// writeJournal replaces the journal by one for s, whole or not at all. With
// sync the journal is on the disk when writeJournal returns.
func (p *Place) writeJournal(s State, sync bool) error {
	data, err := s.encode()
	if err != nil {
		return err
	}
	const flag = os.O_WRONLY | os.O_CREATE | os.O_EXCL
	f, err := p.openFile(p.fresh, flag, 0o600)
	if errors.Is(err, fs.ErrExist) { // a killed run left it
		if err = p.removeIfThere(p.fresh); err == nil {
			f, err = p.openFile(p.fresh, flag, 0o600)
		}
	}
	if err != nil {
		return err
	}
	err = write(f, data)
	if err == nil && sync {
		err = fsync(f)
	}
	if cerr := closing(f); err == nil {
		err = cerr
	}
	if err == nil {
		err = p.rename(p.fresh, p.journal)
	}
	if err != nil {
		_ = p.remove(p.fresh)
	}
	return err
}

// removeJournal removes the journal, and one that was still being written.
func (p *Place) removeJournal() error {
	return Failure(p.shown(p.journal), "cannot be removed", errors.Join(p.removeIfThere(p.fresh), p.removeIfThere(p.journal)))
}

// checkHead refuses a file under the name of a journal that is not one: another
// program's file, or one that was retrieved under such a name.
func (p *Place) checkHead(name string) error {
	b, err := p.readStart(name, int64(len(journalHead)))
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err != nil:
		return Failure(p.shown(name), "cannot be read", err)
	case strings.HasPrefix(journalHead, string(b)): // or what is left of one after a full disk
		return nil
	case len(bytes.Trim(b, "\x00")) == 0: // what is left after a power failure
		return nil
	}
	return &Error{Path: p.shown(name), Reason: "is in the way: it is not the journal of an unfinished download", Err: ErrForeign}
}

// agrees reports whether any block is in the part: then that is a copy of the one
// that s was written for.
func (s State) agrees(r io.ReaderAt) bool {
	good, err := s.blocks.sound(r)
	return err == nil && len(good) > 0
}

// has makes s claim the first n bytes of f.
func (s *State) has(ctx context.Context, f *os.File, n int64) (err error) {
	s.Done = Spans{}.Add(Span{0, n})
	s.blocks, err = blocks(nil).cover(Reader{ctx, f}, s.Done, blockFor(max(s.Size, n)))
	return err
}

// about reports whether s is the journal of the file that info describes.
func (s State) about(info fs.FileInfo) bool {
	return info != nil && s.inode != "" && s.inode == inodeOf(info)
}

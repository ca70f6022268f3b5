package partfile

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"time"

	"example.com/ftpfetch/internal/owner"
)

const (
	journalVersion = 3
	maxJournal     = 16 << 20 // bytes: enough for a part in very many pieces
)

// journalHead is the start of every journal.
const journalHead = `{"ftpfetch":`

// State is what is known about a part: where its bytes come from, and which of them it has. Its JSON is the journal,
// which docs/download.md describes.
type State struct {
	Version  int       `json:"ftpfetch"`
	URL      string    `json:"url"`                // whose bytes they are: any text
	Size     int64     `json:"size"`               // bytes of the whole file; -1 if unknown
	ModTime  time.Time `json:"modified,omitzero"`  // the source's, UTC; zero if unknown
	Adopted  int64     `json:"adopted,omitempty"`  // bytes at the start that another program brought
	Inode    string    `json:"inode,omitempty"`    // which file the journal is about: see inodeOf
	Complete bool      `json:"complete,omitempty"` // all bytes are there: only the final name is missing
	Run      string    `json:"run,omitempty"`      // which run wrote this, where there are no locks
	Blocks   blocks    `json:"done"`               // of Done
	Done     Spans     `json:"-"`
}

var errJournal = errors.New("its journal is damaged")

// parseJournal parses a journal, which may hold anything. The state it returns is consistent: blocks in order and
// inside the file.
func parseJournal(data []byte) (State, error) {
	var s State
	if err := json.Unmarshal(data, &s); err != nil {
		return State{}, errJournal
	}
	if s.Version != journalVersion {
		return State{}, fmt.Errorf("its journal has version %d, not %d", s.Version, journalVersion)
	}
	at := int64(0)
	for _, x := range s.Blocks {
		if x.Start < at || x.End <= x.Start {
			return State{}, errJournal
		}
		at = x.End
	}
	s.ModTime, s.Done = s.ModTime.UTC(), s.Blocks.spans()
	if s.Size < -1 || s.URL == "" || at > max(s.Size, 0) || s.Adopted < 0 || s.Adopted > s.Done.Head() {
		return State{}, errJournal
	}
	return s, nil
}

// readJournal reads the journal, or one that is still being written. The error is fs.ErrNotExist if there is none, and
// ErrForeign if it belongs to another user or is another program's file.
func (p *Place) readJournal(name string) (State, error) {
	f, err := p.openRegular(name, os.O_RDONLY)
	if err != nil {
		return State{}, err
	}
	defer f.Close()
	if info, err := fstat(f); err == nil && !owner.Ours(info) {
		return State{}, othersFile(p.shown(name))
	}
	data, err := io.ReadAll(io.NewSectionReader(Reader{context.Background(), f}, 0, maxJournal+1))
	if err != nil {
		return State{}, err
	}
	head := data[:min(len(data), len(journalHead))]
	switch {
	case len(data) > maxJournal:
		return State{}, errJournal
	case strings.HasPrefix(journalHead, string(head)), len(bytes.Trim(head, "\x00")) == 0: // or what a full disk or a power failure has left
		return parseJournal(data)
	}
	return State{}, refuse(p.shown(name), "is in the way: it is not the journal of an unfinished download: remove it, or choose another place", ErrForeign)
}

// writeJournal replaces the journal by one for s, whole or not at all. It flushes it, unless s is complete: the file is
// about to get its name.
func (p *Place) writeJournal(s State) error {
	s.Version = journalVersion
	data, err := json.Marshal(s)
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
	if err = write(f, append(data, '\n')); err == nil && !s.Complete {
		err = fsync(f)
	}
	if err = cmp.Or(err, closing(f)); err == nil {
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

func (s State) about(info fs.FileInfo) bool {
	return info != nil && s.Inode != "" && s.Inode == inodeOf(info)
}

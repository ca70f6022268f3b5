package partfile

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"example.com/ftpfetch/internal/disk"
	"example.com/ftpfetch/internal/owner"
)

const (
	journalVersion = 4
	maxJournal     = 16 << 20 // bytes: enough for a part in very many pieces
)

// State is what is known about a part: where its bytes come from, and which of them it has. Its JSON is the journal,
// which docs/download.md describes.
type State struct {
	Version int       `json:"ftpfetch"`
	URL     string    `json:"url"`               // whose bytes they are: any text
	Size    int64     `json:"size"`              // bytes of the whole file; -1 if unknown
	ModTime time.Time `json:"modified,omitzero"` // the source's, UTC; zero if unknown
	Adopted int64     `json:"adopted,omitempty"` // bytes at the start that another program brought
	Blocks  blocks    `json:"done"`              // of Done
	Done    Spans     `json:"-"`
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
	if s.Size < 0 || s.URL == "" || at > s.Size || s.Adopted < 0 || s.Adopted > s.Done.Head() {
		return State{}, errJournal
	}
	return s, nil
}

// readJournal reads the journal. The error is fs.ErrNotExist if there is none, and a [fs.PathError] if it cannot be read.
func (p *Place) readJournal() (State, error) {
	f, err := p.dir.Open(p.journal, os.O_RDONLY)
	if err != nil {
		return State{}, err
	}
	defer f.Close()
	if info, err := disk.Stat(f); err == nil && !owner.Ours(info) {
		return State{}, &fs.PathError{Op: "open", Path: p.shown(p.journal), Err: errors.New("it belongs to another user")}
	}
	data, err := io.ReadAll(io.NewSectionReader(disk.Reader{Ctx: context.Background(), F: f}, 0, maxJournal+1))
	switch {
	case err != nil:
		return State{}, err
	case len(data) > maxJournal:
		return State{}, errJournal
	}
	return parseJournal(data)
}

// writeJournal replaces the journal by one for s, whole or not at all.
func (p *Place) writeJournal(s State) error {
	s.Version = journalVersion
	data, err := json.Marshal(s)
	if err == nil {
		err = p.dir.Write(p.fresh, append(data, '\n'))
	}
	if err == nil {
		err = p.dir.Rename(p.fresh, p.journal)
	}
	return failure(p.shown(p.journal), "cannot be written", err)
}

// removeJournal removes the journal, and one that was still being written.
func (p *Part) removeJournal() error {
	if !p.journaled {
		return nil
	}
	err := errors.Join(p.dir.RemoveIfThere(p.fresh), p.dir.RemoveIfThere(p.journal))
	if err == nil {
		p.journaled, p.claimed = false, nil
	}
	return failure(p.shown(p.journal), "cannot be removed", err)
}

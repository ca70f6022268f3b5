package download

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"sync"
	"time"

	"example.com/ftpfetch/urlparse"
)

const (
	journalVersion = 2
	maxJournal     = 16 << 20 // bytes: enough for a part in very many pieces
)

// state is what is known about a part: where its bytes come from, and which of
// them it has.
type state struct {
	url      string    // without password; the source, for Save
	size     int64     // bytes of the whole file; -1 if unknown
	modTime  time.Time // the server's; zero if unknown
	adopted  int64     // bytes at the start that Continue took from another program
	inode    string    // which file the journal is about: see inodeOf
	complete bool      // only the final name is missing
	run      string    // which run wrote this, where there are no locks
	done     spans
	sums     blockSums // of done
}

// record is the journal file. docs/download.md describes it.
type record struct {
	Version  int        `json:"version"`
	URL      string     `json:"url"`
	Size     int64      `json:"size"`
	Modified *time.Time `json:"modified,omitempty"`
	Adopted  int64      `json:"adopted,omitempty"`
	Inode    string     `json:"inode,omitempty"`
	Complete bool       `json:"complete,omitempty"`
	Run      string     `json:"run,omitempty"`
	Block    int64      `json:"block,omitempty"`
	Done     [][2]int64 `json:"done"`
	Sums     []string   `json:"sums,omitempty"`
}

// journalURL returns u as a journal writes it: exactly, but without its password.
func journalURL(u *urlparse.URL) string { return u.WithoutPassword().String() }

// encode returns the journal for s. It claims the bytes that s.sums cover.
func (s state) encode() ([]byte, error) {
	r := record{
		Version: journalVersion, URL: s.url, Size: s.size, Adopted: s.adopted, Inode: s.inode, Complete: s.complete, Run: s.run,
		Done: make([][2]int64, 0, len(s.sums.extents)),
	}
	if !s.modTime.IsZero() {
		utc := s.modTime.UTC()
		r.Modified = &utc
	}
	for _, e := range s.sums.extents {
		r.Block = s.sums.block
		r.Done = append(r.Done, [2]int64{e.start, e.end})
		r.Sums = append(r.Sums, hexSums(e.sums))
	}
	b, err := json.Marshal(r)
	return append(b, '\n'), err
}

// hexSums writes each checksum as eight hexadecimal digits.
func hexSums(sums []uint32) string {
	b := make([]byte, 0, crc32.Size*len(sums))
	for _, sum := range sums {
		b = append(b, byte(sum>>24), byte(sum>>16), byte(sum>>8), byte(sum))
	}
	return hex.EncodeToString(b)
}

// parseSums reads what hexSums wrote.
func parseSums(text string) ([]uint32, error) {
	b, err := hex.DecodeString(text)
	if err != nil || len(b)%crc32.Size != 0 {
		return nil, errJournal
	}
	sums := make([]uint32, 0, len(b)/crc32.Size)
	for ; len(b) > 0; b = b[crc32.Size:] {
		sums = append(sums, uint32(b[0])<<24|uint32(b[1])<<16|uint32(b[2])<<8|uint32(b[3]))
	}
	return sums, nil
}

var errJournal = errors.New("its journal is damaged")

// parseJournal parses a journal, which may hold anything. The state it returns is
// sound: extents in order, inside the file, with a checksum for each block.
func parseJournal(data []byte) (state, error) {
	var r record
	d := json.NewDecoder(bytes.NewReader(data))
	if err := d.Decode(&r); err != nil {
		return state{}, errJournal
	}
	if _, err := d.Token(); err != io.EOF {
		return state{}, errJournal
	}
	if r.Version != journalVersion {
		return state{}, fmt.Errorf("its journal has version %d, not %d", r.Version, journalVersion)
	}
	s := state{url: r.URL, size: r.Size, adopted: r.Adopted, inode: r.Inode, complete: r.Complete, run: r.Run}
	if r.Modified != nil {
		s.modTime = r.Modified.UTC()
	}
	var err error
	if s.sums, err = r.extents(); err != nil {
		return state{}, err
	}
	s.done = s.sums.spans()
	if !s.sound() {
		return state{}, errJournal
	}
	return s, nil
}

// extents returns the ranges that r claims, with their checksums.
func (r record) extents() (blockSums, error) {
	sums := blockSums{block: r.Block}
	if len(r.Done) != len(r.Sums) || len(r.Done) > 0 && r.Block <= 0 {
		return sums, errJournal
	}
	at := int64(0)
	for i, x := range r.Done {
		e := extent{span: span{x[0], x[1]}}
		if e.start < at || e.end <= e.start {
			return sums, errJournal
		}
		at = e.end
		var err error
		if e.sums, err = parseSums(r.Sums[i]); err != nil || int64(len(e.sums)) != (e.len()-1)/r.Block+1 {
			return sums, errJournal
		}
		sums.extents = append(sums.extents, e)
	}
	return sums, nil
}

// sound reports whether s is consistent; see parseJournal.
func (s state) sound() bool {
	return s.size >= -1 && s.url != "" && s.done.end() <= max(s.size, 0) &&
		s.adopted >= 0 && s.adopted <= s.done.head() && (!s.complete || s.done.octets() == s.size)
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

// journalHead is the start of every journal, with N in place of its version.
const journalHead = `{"version":N,"url":"`

var version = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\{"version":\d+`) }) // when it is first needed

// journalStart returns the start of a journal with N in place of its version.
func journalStart(text string) string { return version().ReplaceAllString(text, `{"version":N`) }

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
	b, err := readAll(f, 63)
	switch {
	case err != nil:
		return failure(path, "cannot be read", err)
	case len(bytes.Trim(b, "\x00")) == 0: // what is left after a power failure
		return nil
	case strings.HasPrefix(journalStart(string(b)), journalHead):
		return nil
	case strings.HasPrefix(journalHead, journalStart(string(b))): // what is left after a full disk
		return nil
	}
	return &Error{Path: path, Reason: "is in the way: it is not the journal of an unfinished download", Err: ErrForeign}
}

// agrees reports whether any block of part matches its checksum in s: then part
// is a copy of the part that s was written for.
func (s state) agrees(r io.ReaderAt) bool {
	bad, blocks, err := s.sums.damaged(r)
	return err == nil && len(bad) < blocks
}

// has makes s claim the first n bytes of f.
func (s *state) has(f diskReader, n int64) error {
	s.done = spans{}.add(span{0, n})
	s.sums = blockSums{block: blockFor(max(s.size, n))}
	return s.sums.cover(f, s.done)
}

// about reports whether s is the journal of the file that info describes.
func (s state) about(info fs.FileInfo) bool {
	return info != nil && s.inode != "" && s.inode == inodeOf(info)
}

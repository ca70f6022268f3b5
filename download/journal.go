package download

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"strconv"
	"syscall"
	"time"

	"example.com/ftpfetch/urlparse"
)

// journalSuffix is of the file beside NAME.part that says what it holds.
const (
	journalSuffix  = ".part.json"
	journalVersion = 1
	maxJournal     = 1 << 20 // octets; ours are far smaller
)

// state is what is known of a partial file: where it comes from, and which of
// its octets are on the disk.
type state struct {
	url     string    // without password
	size    int64     // octets of the whole file; -1 unknown
	modTime time.Time // the server's; zero when unknown
	adopted int64     // octets at the begin that are no work of ours: Continue
	done    spans
	tails   []uint32 // one checksum for each of done: see tailsOf
}

// record is the journal file. Its form is described in docs/download.md.
type record struct {
	Version  int        `json:"version"`
	URL      string     `json:"url"`
	Size     int64      `json:"size"`
	Modified *time.Time `json:"modified,omitempty"`
	Adopted  int64      `json:"adopted,omitempty"`
	Done     [][2]int64 `json:"done"`
	Tails    []string   `json:"tails,omitempty"`
}

// journalURL is how a journal names u: exactly, but with no password.
func journalURL(u *urlparse.URL) string { return u.WithoutPassword().String() }

// encode returns the journal file for s.
func (s state) encode() ([]byte, error) {
	r := record{Version: journalVersion, URL: s.url, Size: s.size, Adopted: s.adopted, Done: make([][2]int64, 0, len(s.done))}
	if !s.modTime.IsZero() {
		utc := s.modTime.UTC()
		r.Modified = &utc
	}
	for _, x := range s.done {
		r.Done = append(r.Done, [2]int64{x.start, x.end})
	}
	for _, sum := range s.tails {
		r.Tails = append(r.Tails, fmt.Sprintf("%08x", sum))
	}
	b, err := json.Marshal(r)
	return append(b, '\n'), err
}

var errJournal = errors.New("its journal is damaged")

// parseJournal reads a journal file, which may hold anything. What it returns
// is sound: ranges in order, inside the file, each with its checksum.
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
	s := state{url: r.URL, size: r.Size, adopted: r.Adopted}
	for _, x := range r.Done {
		s.done = append(s.done, span{x[0], x[1]})
	}
	for _, text := range r.Tails {
		sum, err := strconv.ParseUint(text, 16, 32)
		if err != nil {
			return state{}, errJournal
		}
		s.tails = append(s.tails, uint32(sum))
	}
	if r.Modified != nil {
		s.modTime = r.Modified.UTC()
	}
	if !s.sound() {
		return state{}, errJournal
	}
	return s, nil
}

// sound reports whether s can be: see parseJournal.
func (s state) sound() bool {
	return s.size >= -1 && s.url != "" && s.done.sound(s.size) &&
		len(s.tails) == len(s.done) && s.adopted >= 0 && s.adopted <= s.done.head()
}

// readJournal reads the journal at path; an error that is fs.ErrNotExist means
// that there is none.
func readJournal(path string) (state, error) {
	f, err := openRegular(path, os.O_RDONLY)
	if err != nil {
		return state{}, err
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxJournal+1))
	if err != nil {
		return state{}, err
	}
	if len(data) > maxJournal {
		return state{}, errJournal
	}
	return parseJournal(data)
}

// writeJournal replaces the journal at path by one for s, whole or not at all.
// With sync it is on the disk when writeJournal returns.
func writeJournal(path string, s state, sync bool) error {
	data, err := s.encode()
	if err != nil {
		return err
	}
	fresh := path + "~"
	if err := os.Remove(fresh); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	f, err := os.OpenFile(fresh, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil && sync {
		err = f.Sync()
	}
	if closing := f.Close(); err == nil {
		err = closing
	}
	if err == nil {
		err = os.Rename(fresh, path)
	}
	if err != nil {
		_ = os.Remove(fresh)
	}
	return err
}

// removeJournal removes the journal at path, and one that was being written.
func removeJournal(path string) {
	_ = os.Remove(path)
	_ = os.Remove(path + "~")
}

// journalHead is how every journal begins, of whatever version.
var journalHead = regexp.MustCompile(`^\{"version":\d+,"url":"`)

// checkJournal refuses what stands under the names of a journal and is none:
// another program's file, or one that was retrieved under such a name.
func checkJournal(path string) error {
	for _, name := range []string{path, path + "~"} {
		if err := checkHead(name); err != nil {
			return err
		}
	}
	return nil
}

func checkHead(path string) error {
	f, err := openRegular(path, os.O_RDONLY)
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ENAMETOOLONG):
		return nil
	case err != nil:
		return failure(path, "cannot be read", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, 64))
	switch {
	case err != nil:
		return failure(path, "cannot be read", err)
	case len(bytes.Trim(b, "\x00")) == 0: // what a power failure left of one
		return nil
	case journalHead.Match(b):
		return nil
	}
	return &Error{Path: path, Reason: "is in the way and is no journal of an unfinished download", Err: ErrForeign}
}

// openRegular opens a file that is there, and only a regular one, never
// through a symbolic link.
func openRegular(path string, flag int) (*os.File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, &fs.PathError{Op: "open", Path: path, Err: errors.New("is no regular file")}
	}
	f, err := os.OpenFile(path, flag|noFollow, 0)
	if err != nil {
		return nil, err
	}
	now, err := f.Stat()
	if err == nil && !os.SameFile(now, info) {
		err = &fs.PathError{Op: "open", Path: path, Err: errors.New("changed while it was looked at")}
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

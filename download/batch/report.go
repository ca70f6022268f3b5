package batch

import (
	"bufio"
	"bytes"
	"cmp"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
)

// Report is a file with a row for every outcome. While the run lasts the rows
// come in the order in which the files end. Close puts them in the order of the
// list, unless the report goes to a pipe or a device. A Report is safe for
// concurrent use.
type Report struct {
	path string
	head string // the first line, or ""

	mu    sync.Mutex
	f     *os.File
	w     *bufio.Writer
	rows  []row
	names []string // of the rows that belong to no line
	at    int64
	err   error
}

// row is where a row of the report is, and where it belongs. It is small, because
// there may be a million.
type row struct {
	line   int32 // from 1; or below 0: -1-line is the place of its name in names
	size   int32
	offset int64
}

// CreateReport creates the report, or empties it. head is its first line, without
// the line end, or "". The caller must close it.
func CreateReport(path, head string) (*Report, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	r := &Report{path: path, f: f, w: bufio.NewWriter(f)}
	if head != "" {
		r.head = head + "\n"
	}
	_, r.err = r.w.WriteString(r.head)
	r.at = int64(len(r.head))
	return r, r.err
}

// Write adds a row, which must end in a line end: that of a line of the list, or
// for line 0 that of something with this name.
func (r *Report) Write(line int, name string, text []byte) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if line == 0 {
		r.names = append(r.names, name)
		line = -len(r.names)
	}
	r.rows = append(r.rows, row{int32(line), int32(len(text)), r.at})
	r.at += int64(len(text))
	if _, err := r.w.Write(text); r.err == nil {
		r.err = err
	}
	if err := r.w.Flush(); r.err == nil {
		r.err = err
	}
	return r.err
}

// Close orders the rows and closes the report. It returns the first error of
// writing it.
func (r *Report) Close() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer r.f.Close()
	info, err := r.f.Stat()
	if r.err != nil || err != nil || !info.Mode().IsRegular() || slices.IsSortedFunc(r.rows, r.order) {
		return cmp.Or(r.err, err)
	}
	slices.SortStableFunc(r.rows, r.order)
	return r.replace(info.Mode())
}

// order compares the places of two rows. Those of one line, which are few, are
// compared by their text.
func (r *Report) order(a, b row) int {
	if a.line < 0 && b.line < 0 {
		return cmp.Compare(r.names[-1-a.line], r.names[-1-b.line])
	}
	if a.line != b.line {
		return cmp.Compare(a.line, b.line)
	}
	return bytes.Compare(r.text(a), r.text(b))
}

func (r *Report) text(x row) []byte {
	text := make([]byte, x.size)
	_, _ = r.f.ReadAt(text, x.offset) // copy meets the same error
	return text
}

// replace replaces the report by one with its rows in their order. Whenever it is
// interrupted, one of the two is there.
func (r *Report) replace(mode os.FileMode) error {
	path, err := filepath.EvalSymlinks(r.path)
	if err != nil {
		return err
	}
	fresh, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+"-")
	if err != nil {
		return err
	}
	err = cmp.Or(r.copy(fresh), fresh.Chmod(mode), fresh.Close(), r.f.Close())
	if err == nil {
		err = os.Rename(fresh.Name(), path)
	}
	if err != nil {
		fresh.Close()
		os.Remove(fresh.Name())
	}
	return err
}

// copy writes the rows to w in their order.
func (r *Report) copy(to io.Writer) error {
	w := bufio.NewWriter(to)
	if _, err := w.WriteString(r.head); err != nil {
		return err
	}
	var text []byte
	for _, x := range r.rows {
		text = slices.Grow(text[:0], int(x.size))[:x.size]
		if _, err := r.f.ReadAt(text, x.offset); err != nil {
			return err
		}
		if _, err := w.Write(text); err != nil {
			return err
		}
	}
	return w.Flush()
}

package batch

import (
	"bufio"
	"cmp"
	"io"
	"os"
	"slices"
	"sync"
)

// Report is a file with a row for every outcome. While the run lasts the rows
// come in the order in which the files end. Close puts them in the order of the
// list. A Report is safe for concurrent use.
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
	line   int32 // from 1; or below 0: the place of its name in names, from -1 on
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
	if r.err == nil {
		r.err = r.w.Flush()
	}
	if r.err != nil || slices.IsSortedFunc(r.rows, r.order) {
		return r.err
	}
	slices.SortFunc(r.rows, r.order)
	fresh, err := os.Create(r.path + "~")
	if err != nil {
		return err
	}
	err = r.copy(fresh)
	if cerr := fresh.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(fresh.Name(), r.path)
	}
	if err != nil {
		os.Remove(fresh.Name())
	}
	return err
}

// order compares the places where two rows belong. Rows that belong to no line come
// first, in the order of their names; rows of the same line keep their order.
func (r *Report) order(a, b row) int {
	if a.line < 0 && b.line < 0 {
		return cmp.Or(cmp.Compare(r.names[-a.line-1], r.names[-b.line-1]), cmp.Compare(a.offset, b.offset))
	}
	return cmp.Or(cmp.Compare(max(a.line, 0), max(b.line, 0)), cmp.Compare(a.offset, b.offset))
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

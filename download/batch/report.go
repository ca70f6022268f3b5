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

	mu   sync.Mutex
	f    *os.File
	w    *bufio.Writer
	rows []row
	at   int64
	err  error
}

// row is where a row of the report is, and where it belongs.
type row struct {
	line         int
	name         string // orders rows with the same line
	offset, size int64
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
	if line != 0 {
		name = ""
	}
	r.rows = append(r.rows, row{line, name, r.at, int64(len(text))})
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
	order := func(a, b row) int { return cmp.Or(cmp.Compare(a.line, b.line), cmp.Compare(a.name, b.name)) }
	if r.err != nil || slices.IsSortedFunc(r.rows, order) {
		return r.err
	}
	slices.SortStableFunc(r.rows, order)
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

// copy writes the rows to w in their order.
func (r *Report) copy(to io.Writer) error {
	w := bufio.NewWriter(to)
	if _, err := w.WriteString(r.head); err != nil {
		return err
	}
	for _, x := range r.rows {
		if _, err := io.Copy(w, io.NewSectionReader(r.f, x.offset, x.size)); err != nil {
			return err
		}
	}
	return w.Flush()
}

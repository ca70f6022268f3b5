// Package manifest reads lists of files to retrieve, one [Item] at a time: lists of URLs, tables, and the reports of
// sequence archives.
//
// Call [Check] to find everything that is wrong before anything is fetched, then read the items:
//
//	files, octets, errs := manifest.Check(text, options)
//	// ... stop here if there are errs
//	for item, err := range manifest.Read(again, options) {
//
// The package opens no files and no connections. No error shows a password.
package manifest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// Options says how to read a list. The zero value is ready to use.
type Options struct {
	// Format is the form of the list, such as tsv. "" means that the beginning of the list tells. docs/manifests.md
	// describes the forms.
	Format string
	// AllowPort takes the ports of other protocols; see [urlparse.URL.BadPort].
	AllowPort bool
	// KeepDirs makes the default path of a file that of its first URL, with all directories, instead of the last segment.
	KeepDirs bool
	// Map says which columns of a table, or members of objects, tell about a file of each row: "url=FASTQ_FILE,md5=MD5". The
	// first word is a column of this package's own tables. "ena:fastq" are the columns fastq_ftp, fastq_md5 and fastq_bytes of
	// an ENA file report, "ncbi:_genomic.fna.gz" the files that end so in the directories of an NCBI summary. Several elements
	// are several files of each row; none means that the header tells.
	Map []string
	// Base is the directory that relative names in a list are below. With nothing but a Scheme it is what the lines of a list of
	// URLs lack.
	Base *urlparse.URL
	// Shard {I, N} limits what is read to the I-th, from 1, of N equal shares of the items; {} is all.
	Shard [2]int
}

// Item is one file of many: where it comes from, where it goes, and what is known about it in advance.
type Item struct {
	URLs []*urlparse.URL // places of the same file, in the order to try them; at least one
	Path string          // where to save it, below the output directory, with "/" between its components
	Size *int64          // in bytes; nil means unknown
	Sum  digest.Sum      // the zero value means unknown
	Line int             // the line of the list that names it, from 1; 0 if no list does
}

// ErrLine is in every error about what a list says.
var ErrLine = errors.New("a line of the list is wrong")

// lineError says what is wrong with a line of a list, on one printable line without a password.
type lineError struct {
	line int // from 1; of a record of several lines, the first
	err  error
}

func (e *lineError) Error() string {
	return "line " + strconv.Itoa(e.line) + ": " + printable.Line(e.err.Error())
}

func (e *lineError) Unwrap() []error { return []error{e.err, ErrLine} }

func inField(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// maxLine bounds the bytes of a record, and so the memory that reading needs.
const maxLine = 1 << 20

var errTooLong = fmt.Errorf("the line is longer than %d bytes", maxLine)

// reader is the state of one reading.
type reader struct {
	Options
	in    *lines
	maps  []mapping // what Map says; nil if the header tells
	yield func(Item, error) bool
	done  bool // the caller wants no more
}

// read yields all items, those of other shards too.
func (r *reader) read(source io.Reader) {
	r.in = &lines{r: bufio.NewReaderSize(source, peekSize)}
	for _, text := range r.Map {
		m, err := newMapping(text)
		if err != nil {
			r.fail(1, err)
			return
		}
		r.maps = append(r.maps, m)
	}
	format, err := r.form()
	if err != nil {
		r.fail(1, err)
		return
	}
	format.read(r)
	switch err := r.in.err; {
	case damaged(err):
		r.fail(max(1, r.in.n), errDamaged)
	case err != nil && !r.done:
		r.yield(Item{}, err)
	}
}

// each calls use for each line that is neither empty nor a comment.
func (r *reader) each(use func(line int, text string)) {
	for r.next() {
		if !comment(r.in.text) {
			use(r.in.n, r.in.text)
		}
	}
}

// next reads the next line. It reports lines that are too long or are several, and skips them.
func (r *reader) next() bool {
	for !r.done && r.in.next() {
		switch {
		case r.in.long:
			r.fail(r.in.n, errTooLong)
		case strings.Contains(strings.TrimRight(r.in.text, "\r"), "\r"):
			r.fail(r.in.n, errors.New("lines end in CR alone: end them in LF or CRLF"))
		default:
			return true
		}
	}
	return false
}

func (r *reader) fail(line int, err error) {
	if !r.done {
		r.done = !r.yield(Item{}, &lineError{line, err})
	}
}

// lines reads lines of bounded length.
type lines struct {
	r    *bufio.Reader
	buf  []byte
	back []string // lines to read again

	n    int    // number of the current line, from 1
	text string // the current line without its end
	long bool   // the current line is too long, and text is not all of it
	err  error  // of r
}

// next reads a line. It returns false at the end of the text, or if r fails.
func (l *lines) next() bool {
	if len(l.back) > 0 {
		l.text, l.back, l.long = l.back[0], l.back[1:], false
		l.n++
		return true
	}
	l.buf, l.long = l.buf[:0], false
	for {
		piece, err := l.r.ReadSlice('\n')
		if l.long = l.long || len(l.buf)+len(piece) > maxLine; !l.long {
			l.buf = append(l.buf, piece...)
		}
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && !errors.Is(err, io.EOF):
			l.err = err
			return false
		case err != nil && len(l.buf) == 0 && !l.long:
			return false
		}
		l.n++
		l.text = strings.TrimSuffix(strings.TrimSuffix(string(l.buf), "\n"), "\r")
		return true
	}
}

// comment reports whether a line is empty or a comment.
func comment(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || text[0] == '#'
}

// Package manifest reads lists of files to retrieve, one [Item] at a
// time: lists of URLs, tables, and the reports of sequence archives.
//
// Call [Check] to find everything that is wrong before anything is fetched, then
// read the items:
//
//	summary, errs := manifest.Check(text, options)
//	// ... stop here if there are errs
//	for item, err := range summary.Read(again, options) {
//
// The package opens no files and no connections. No error shows a password.
package manifest

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"

	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// Options says how to read a list. The zero value is ready to use.
type Options struct {
	// Format is the form of the list, one of [Formats]. "" means that the beginning
	// of the list tells. docs/manifests.md describes the forms.
	Format string
	// AllowPort takes the ports of other protocols; see [urlparse.URL.BadPort].
	AllowPort bool
	// KeepDirs makes the default path of a file that of its first URL, with all
	// directories, instead of the last segment.
	KeepDirs bool
	// Columns chooses among the files of an ENA file report: "fastq" means the
	// columns fastq_ftp, fastq_md5 and fastq_bytes. Empty means all.
	Columns []string
	// Suffixes are the ends of the names of the files to fetch for each assembly of
	// an NCBI summary. Empty means "_genomic.fna.gz".
	Suffixes []string
	// Base is the directory that the names in a list of digests are relative to.
	Base *urlparse.URL
	// Shard limits what is read to a share of the items. The zero value is all.
	Shard Shard
}

// LineError says what is wrong with a line of a list. If a URL is at fault,
// errors.As finds an [*urlparse.Error] in it.
type LineError struct {
	Line int   // from 1; of a record of several lines, the first
	Err  error // what is wrong, and what to write instead
}

// Error returns one printable line. It shows no password.
func (e *LineError) Error() string {
	return "line " + strconv.Itoa(e.Line) + ": " + printable.Line(e.Err.Error())
}

// Unwrap returns Err.
func (e *LineError) Unwrap() error { return e.Err }

// Callers tell these causes apart with errors.Is.
var (
	ErrPath = errors.New("write another path")       // two items need the same place
	ErrBase = errors.New("give its URL as the base") // Options.Base
)

var (
	errTooLong = fmt.Errorf("the line is longer than %d bytes", maxLine)
	errCR      = errors.New("lines end in CR alone: end them in LF or CRLF")
	errNoURL   = errors.New("the line has no URL: write one, such as ftp://host/path, in the column url")
)

// inField adds the name of a column to an error.
func inField(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// Read reads the items of a list that was not checked, in order, while it reads r.
// A bad line yields a [*LineError], and reading goes on with the next line. If
// nothing after a line can be understood, or if r fails, the error is the last. An
// error of r is yielded unchanged. Read needs the same memory for a list of any
// length.
func Read(r io.Reader, o Options) iter.Seq2[Item, error] {
	return Summary{}.Read(r, o)
}

// maxLine bounds the bytes of a record, and so the memory that reading needs.
const maxLine = 1 << 20

// reader is the state of one reading.
type reader struct {
	Options
	in    *lines
	yield func(Item, error) bool
	done  bool // the caller wants no more
	empty int  // lines that name no file, where that is allowed
}

// read yields all items, those of other shards too.
func (r *reader) read(source io.Reader) {
	in := bufio.NewReaderSize(source, peekSize)
	format, err := formOf(in, r.Format)
	r.in = &lines{r: in}
	if err != nil {
		r.fail(1, err)
		return
	}
	format.read(r)
	if r.in.err != nil && !r.done {
		r.yield(Item{}, r.in.err)
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

// next reads the next line. It reports lines that are too long or are several, and
// skips them.
func (r *reader) next() bool {
	for !r.done && r.in.next() {
		switch {
		case r.in.long:
			r.fail(r.in.n, errTooLong)
		case strings.Contains(strings.TrimRight(r.in.text, "\r"), "\r"):
			r.fail(r.in.n, errCR)
		default:
			return true
		}
	}
	return false
}

// fail yields the fault of a line.
func (r *reader) fail(line int, err error) {
	if !r.done {
		r.done = !r.yield(Item{}, &LineError{Line: line, Err: err})
	}
}

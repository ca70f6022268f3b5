// Package manifest reads lists of files to retrieve, one [Item] at a
// time: lists of URLs, tables, and the reports of sequence archives.
//
// Call [Check] to find everything that is wrong before anything is fetched, then
// read the items:
//
//	summary, errs := manifest.Check(open, options)
//	// ... stop here if there are errs
//	for item, err := range summary.Read(r, options) {
//
// [Read] reads without a check. Both need the same little memory for a list of
// any length. The package opens no files and no connections. No error shows a
// password.
package manifest

import (
	"bufio"
	"io"
	"iter"
	"strings"

	"example.com/ftpfetch/urlparse"
)

// Format is the form of a list: one of the constants.
type Format string

// The forms. docs/manifests.md describes them.
const (
	Auto   Format = ""       // told by how the list begins
	List   Format = "list"   // a URL on each line
	Text   Format = "text"   // free text with URLs in it, best as <URL:ftp://host/path>: RFC 1738, Appendix
	TSV    Format = "tsv"    // a table with a header, its cells separated by tabs; an ENA file report is one
	CSV    Format = "csv"    // a table with a header, RFC 4180
	NDJSON Format = "ndjson" // a JSON object on each line
	JSON   Format = "json"   // a JSON array of objects
	NCBI   Format = "ncbi"   // an assembly_summary.txt of NCBI
	Sums   Format = "sums"   // a list of digests and names, such as md5checksums.txt
)

// Formats returns all forms except Auto.
func Formats() []Format {
	return []Format{List, Text, TSV, CSV, NDJSON, JSON, NCBI, Sums}
}

// Options says how to read a list. The zero value is ready to use.
type Options struct {
	Format Format
	Parser urlparse.Parser
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

// Read reads the items of a list, in order, while it reads r. A bad line yields a
// [*LineError], and reading goes on with the next line. If nothing after a line
// can be understood, or if r fails, the error is the last. An error of r is
// yielded unchanged.
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
	items int  // yielded so far
	empty int  // lines that name no file, where that is allowed
}

// read yields all items, those of other shards too.
func (r *reader) read(source io.Reader) {
	in := bufio.NewReaderSize(source, peekSize)
	format, fault := detect(in, r.Format)
	r.in = &lines{r: in}
	if fault != nil {
		r.fail(1, fault)
		return
	}
	switch format {
	case Text:
		r.readText()
	case TSV, CSV:
		r.readTable(format)
	case NDJSON:
		r.readNDJSON()
	case JSON:
		r.readJSON()
	case NCBI:
		r.readNCBI()
	case Sums:
		r.readSums()
	default:
		r.readList()
	}
	if r.in.err != nil && !r.done {
		r.yield(Item{}, r.in.err)
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

// emit yields an item.
func (r *reader) emit(item Item) {
	if !r.done {
		r.items++
		r.done = !r.yield(item, nil)
	}
}

// fail yields the fault of a line.
func (r *reader) fail(line int, err error) {
	if !r.done {
		r.done = !r.yield(Item{}, &LineError{Line: line, Err: err})
	}
}

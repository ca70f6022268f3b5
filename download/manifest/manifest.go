// Package manifest reads lists of files to retrieve, one [Item] at a time: lists of URLs, tables, and the reports of
// sequence archives.
//
// Call [Check] to find all errors before you fetch anything, then [Read] the items. The package opens no files and no
// connections. No error shows a password.
package manifest

import (
	"bufio"
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"iter"
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/internal/algorithm"
	"example.com/ftpfetch/download/internal/claims"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// Options says how to read a list. The zero value and nil are ready to use.
type Options struct {
	// Format is the form of the list, such as tsv. If it is "", the beginning of the list shows the form.
	// docs/manifests.md describes the forms.
	Format string
	// KeepDirs gives a file without a path all the directories of its first URL, instead of only its last segment.
	KeepDirs bool
	// MostDirs limits what KeepDirs keeps to so many directories, the last ones. 0 means no limit.
	MostDirs int
	// Map says which columns of a table, or members of objects, describe a file of each row: "url=FASTQ_FILE,md5=MD5".
	// The word before "=" is a column of this package's own tables. "ena:fastq" stands for the columns fastq_ftp,
	// fastq_md5 and fastq_bytes of an ENA file report, and "ncbi:_genomic.fna.gz" for the files with that suffix in the
	// directories of an NCBI summary. A list without a header has numbers in place of names, from 1: "url=2,md5=1". Each
	// element is one file of each row. Without elements, the header decides.
	Map []string
	// Base is the directory of the relative names in a list. A Base with only a Scheme completes URLs without a scheme.
	Base *urlparse.URL
	// Shard selects a part of the items, so that several machines can share a list. The zero value selects all.
	Shard Shard
}

// Kept returns which of the directories of a URL are kept above its file, a new slice.
func (o *Options) Kept(dirs []string) []string {
	switch {
	case !o.KeepDirs:
		return nil
	case o.MostDirs > 0:
		dirs = dirs[max(0, len(dirs)-o.MostDirs):]
	}
	return slices.Clone(dirs)
}

// Shard is one of Of parts of a list that have about the same number of items. Numbers begin at 1. The first URL of an
// item alone decides which part it is in.
type Shard struct{ Number, Of int }

// Item is one file of many: its URLs, where to save it, and what is known about it in advance.
type Item struct {
	URLs []*urlparse.URL // URLs of the same file, in the order to try them; at least one
	// Path is where to save the file, relative to the output directory, with "/" between its components.
	Path string
	Size *int64     // in bytes; nil means unknown
	Sum  digest.Sum // the zero value means unknown
	Line int        // the line of the list that names it, from 1; 0 if no list does
}

// Check reads a whole list. It returns how many files the list names in the shard, their total size, which is -1 if the
// size of one is unknown, and all errors, in the order of the lines. After a hundred bad lines Check stops, and one
// more error says so. An error that does not match [ErrLine] means that the list could not be read to its end. An error
// that matches [errors.ErrUnsupported] only says what Check leaves out.
//
// Two items conflict if they have the same path, or if the path of one is a directory in the path of the other. Items
// that differ only in Line count as one file, without an error. Check needs about fifty bytes of memory for each item.
func Check(text io.Reader, o *Options) (files int, size int64, errs []error) {
	o = cmp.Or(o, new(Options))
	paths := claims.New()
	for item, err := range o.items(text) {
		if err == nil {
			mine := claims.Claim{Who: int32(item.Line), What: paths.Hash(item.identity())}
			other, clash := paths.Add(item.Path, mine)
			if clash == claims.Same && other.What == mine.What {
				continue
			}
			if o.shares(item) {
				files++
				size = plus(size, item.Size)
			}
			err = o.conflict(item, clash, other.Who)
		}
		if err == nil {
			continue
		}
		if len(errs) == mostFaults {
			return files, size, append(errs, errFaults)
		}
		errs = append(errs, err)
	}
	return files, size, errs
}

// conflict returns the error of an item whose path clashes with that of an earlier line, or nil.
func (o *Options) conflict(item Item, clash claims.Clash, line int32) error {
	if clash == claims.None {
		return nil
	}
	hint := ""
	u := item.URLs[0]
	own := strings.Join(append(o.Kept(u.Dirs), u.Name), "/")
	if (!o.KeepDirs || o.MostDirs > 0) && item.Path == own {
		hint = " (Options.KeepDirs saves each file under the directories of its URL)"
	}
	how := clash.With(fmt.Sprint("line ", line))
	return inLine(item.Line, fmt.Errorf("the path %s %s: write another path%s", item.Path, how, hint))
}

// plus adds a size to a sum. It returns -1 if either is unknown or the sum overflows.
func plus(sum int64, size *int64) int64 {
	if sum < 0 || size == nil || *size > math.MaxInt64-sum {
		return -1
	}
	return sum + *size
}

// Read yields the items of a list in order, while it reads source. For a bad line it yields an error that matches
// [ErrLine] and continues with the next line, until a hundred lines are bad. It stops after an error if nothing after
// it can be parsed. If source fails, Read yields its error unchanged. Read needs the same memory for a list of any
// length.
func Read(source io.Reader, o *Options) iter.Seq2[Item, error] {
	o = cmp.Or(o, new(Options))
	return func(yield func(Item, error) bool) {
		faults := 0
		for item, err := range o.items(source) {
			switch {
			case errors.Is(err, errLeftOut), err == nil && !o.shares(item):
				continue
			case err != nil:
				faults++
			}
			if faults > mostFaults {
				yield(Item{}, errFaults)
				return
			}
			if !yield(item, err) {
				return
			}
		}
	}
}

// items yields all items and errors of a list, of all shards and without a limit on errors.
func (o *Options) items(source io.Reader) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		r := &reader{Options: *o, yield: yield}
		r.read(source)
	}
}

// identity returns a text that is the same for items that differ only in path and line.
func (i *Item) identity() string {
	text := i.Sum.String()
	for _, u := range i.URLs {
		text += "\n" + u.String()
	}
	if i.Size != nil {
		text += fmt.Sprint("\n", *i.Size)
	}
	return text
}

// shares reports whether the item is in the shard. Every item is in just one shard, the same on every machine. It
// depends only on the first URL, without the password and however the URL is spelled.
func (o *Options) shares(item Item) bool {
	if o.Shard.Of <= 1 {
		return true
	}
	sum := sha256.Sum256([]byte(item.URLs[0].Key()))
	return binary.BigEndian.Uint64(sum[:])%uint64(o.Shard.Of) == uint64(o.Shard.Number-1)
}

// ErrLine matches every error about the contents of a list.
var ErrLine = errors.New("a line of the list is wrong")

// ColumnsError is in the chain of an error about a list whose columns are not clear.
type ColumnsError struct {
	Map string // an element of [Options.Map] that reads the list, if its columns are what they seem to be
	why string
}

// Error says what is not clear, and what to set Options.Map to.
func (e *ColumnsError) Error() string { return e.why + " (set Options.Map to " + e.Map + ")" }

// mostFaults is how many bad lines are reported before reading stops. More would take time and show nothing new.
const mostFaults = 100

var errFaults = fmt.Errorf(
	"after %d bad lines the rest is not read: is the list of another form (Options.Format)?%.0w",
	mostFaults, ErrLine)

// inLine returns an error about a line of a list. The text is one printable line without a password. line is the first
// line of a record of several lines. inLine keeps only the beginning of a long text, and does not wrap err, which may
// hold the whole line.
func inLine(line int, err error) error {
	text := err.Error()
	kind := ErrLine
	if columns, ok := errors.AsType[*ColumnsError](err); ok {
		kind = &ColumnsError{Map: columns.Map}
	}
	if len(text) > 2*maxField {
		text = text[:maxField] + "..."
	}
	if errors.Is(err, errLeftOut) {
		kind = errLeftOut
	}
	return fmt.Errorf("line %d: %s%.0w%.0w", line, printable.Line(text), kind, ErrLine)
}

func inField(name string, err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w", name, err)
}

// These limits bound the memory that reading takes.
const (
	maxLine  = 1 << 20  // bytes of a record
	maxField = 16 << 10 // bytes of a path, and of a message
)

var errField = fmt.Errorf("is longer than %d bytes", maxField)

var errTooMuch = fmt.Errorf(
	"an object or element is longer than %d bytes: "+
		"leave out what does not count, such as digests of pieces", maxLine)

// mostIdle bounds the bytes between two files, because a compressed list may go on for ever with empty lines.
const mostIdle = 16 << 20

var errIdle = fmt.Errorf("there is no file in %d bytes: leave out comments and empty lines",
	mostIdle)

// reader is the state of one call of Read or Check.
type reader struct {
	Options
	in    *lines
	maps  []mapping // the parsed Map; nil if the header decides
	yield func(Item, error) bool
	done  bool // the caller has stopped reading
	noted bool // errLeftOut was reported
	// separator is what separated the cells of the last line without a header that had a digest; 0 if there was none
	separator byte
}

// check returns an error if the arguments of the call are wrong.
func (o *Options) check(source io.Reader) error {
	switch {
	case source == nil:
		return errors.New("there is no list: write an io.Reader")
	case o.Shard != Shard{} && (o.Shard.Number < 1 || o.Shard.Number > o.Shard.Of):
		return fmt.Errorf("there is no Shard %d of %d: write one from 1", o.Shard.Number, o.Shard.Of)
	}
	return nil
}

// read yields all items, including those of other shards.
func (r *reader) read(source io.Reader) {
	err := r.Options.check(source)
	var format form
	if err == nil {
		r.in = &lines{r: bufio.NewReaderSize(source, peekSize)}
		format, err = r.form()
	}
	if err != nil {
		r.fail(1, err)
		return
	}
	format.read(r)
	switch {
	case damaged(r.in.err):
		r.fail(max(1, r.in.n), errDamaged)
	case r.in.err != nil && !r.done:
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

// next reads the next line. It reports and skips lines that are too long or contain a CR.
func (r *reader) next() bool {
	for !r.done && r.in.next() {
		switch {
		case r.in.idle > mostIdle:
			r.fail(r.in.n, errIdle)
			return false
		case r.in.long:
			r.fail(r.in.n, fmt.Errorf("the line is longer than %d bytes", maxLine))
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
		r.done = !r.yield(Item{}, inLine(line, err))
	}
}

// finish checks and yields the item of a line, or the error of parsing the line. It sets the path of an item without
// one.
func (r *reader) finish(item Item, err error) {
	r.in.idle = 0
	if err == nil {
		err = checkURLs(item.URLs)
	}
	if err == nil {
		err = r.setPath(&item)
	}
	if err != nil {
		r.fail(item.Line, err)
	} else if !r.done {
		r.done = !r.yield(item, nil)
	}
}

// checkURLs returns an error if an item has no URLs.
func checkURLs(urls []*urlparse.URL) error {
	if len(urls) == 0 {
		return errors.New(
			"the line has no URL: write one, such as ftp://host/path, in the column url")
	}
	return nil
}

// setPath checks the path of an item. If the list gave none, it sets the item's own path.
func (r *reader) setPath(item *Item) (err error) {
	switch {
	case len(item.Path) > maxField:
		return inField("path", errField)
	case item.Path != "":
		return inField("path", localfile.CheckPath(item.Path))
	}
	item.Path, err = r.ownPath(item.URLs[0])
	return err
}

// ownPath returns the path of a file for which the list gives none.
func (r *reader) ownPath(u *urlparse.URL) (string, error) {
	components := append(r.Kept(u.Dirs), u.Name)
	for _, name := range components {
		if why := localfile.Unusable(name); why != "" {
			return "", fmt.Errorf("%s: cannot be saved under its own name: %q %s: give it a path",
				u.Redacted(), name, why)
		}
	}
	return strings.Join(components, "/"), nil
}

// addURL adds a URL of the file, or returns err if that is not nil.
func (i *Item) addURL(u *urlparse.URL, err error) error {
	if err == nil && u.IsDir() {
		err = inField(u.Redacted(), errors.New("names a directory: write the URL of a file"))
	}
	if err == nil && strings.Contains(strings.Join(u.Dirs, "/")+"/"+u.Name, "***@") {
		err = inField(u.Redacted(),
			errors.New(`"***" stands for a part that was hidden: write the part itself`))
	}
	if err == nil {
		i.URLs = append(i.URLs, u)
	}
	return err
}

// setSize parses a number of bytes.
func (i *Item) setSize(text string) error {
	n, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return errors.New("is not a number of bytes: write digits only, such as 1048576")
	}
	i.Size = new(int64(n))
	return nil
}

// setEncoded sets the path to an encoded one, whatever the column path says. Every octet may be encoded as in a URL.
func (i *Item) setEncoded(text string) error {
	if text == "" {
		return nil
	}
	path, err := url.PathUnescape(text)
	if err != nil {
		return errors.New(`has a "%" without two hexadecimal digits: write %25 for a "%"`)
	}
	i.Path = path
	return nil
}

// addSum adds a digest, or returns err if that is not nil. It keeps the strongest digest.
func (i *Item) addSum(sum digest.Sum, err error) error {
	if err == nil && algorithm.Stronger(string(sum.Algorithm), string(i.Sum.Algorithm)) {
		i.Sum = sum
	}
	return err
}

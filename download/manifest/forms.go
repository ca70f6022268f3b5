package manifest

import (
	"bufio"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/internal/algorithm"
	"example.com/ftpfetch/download/internal/sums"
	"example.com/ftpfetch/urlparse"
)

// form is a form of lists.
type form struct {
	name  string
	shown func(b *beginning) bool // reports whether a list with this beginning has the form
	read  func(r *reader)
	maps  bool // Options.Map may name its columns
}

// forms has all forms, in the order in which they are tried. The order matters: a table's header may look like a URL or
// a digest, and a JSON document may begin like a line of NDJSON.
var forms = []form{
	{"tsv", (*beginning).tsv, (*reader).readTSV, true},
	{"csv", (*beginning).csv, (*reader).readCSV, true},
	{"json", (*beginning).document, (*reader).readJSON, true},
	{"ndjson", (*beginning).ndjson, (*reader).readNDJSON, true},
	{"metalink", (*beginning).metalink, (*reader).readMetalink, false},
	{"curl", (*beginning).curl, (*reader).readCurl, false},
	{"list", (*beginning).list, (*reader).readList, false},
	{"sums", (*beginning).sums, (*reader).readSums, false},
}

func (r *reader) readTSV() {
	r.readTable("\t", func() ([]string, error) { return cells(r.in.text, "\t"), nil })
}

func (r *reader) readCSV()    { r.readTable(",", r.record) }
func (r *reader) readNDJSON() { r.each(r.object) }
func (r *reader) readCurl()   { r.each(r.command) }
func (r *reader) readSums()   { r.each(r.listed) }

func (b *beginning) tsv() bool    { return b.heads("\t") }
func (b *beginning) csv() bool    { return b.heads(",") }
func (b *beginning) ndjson() bool { return strings.HasPrefix(b.first, "{") }
func (b *beginning) list() bool   { return hasScheme(b.first) }

func (b *beginning) metalink() bool {
	return strings.HasPrefix(b.first, "<?xml") || strings.HasPrefix(b.first, "<metalink")
}

// curl reports whether the list is a script of curl commands. A script may begin with "#!", but so may a list of URLs
// with a comment.
func (b *beginning) curl() bool {
	script := strings.HasPrefix(strings.Join(b.head, ""), "#!")
	return strings.HasPrefix(b.first, "curl ") || script && !hasScheme(b.first)
}

func (b *beginning) sums() bool {
	_, _, ok := sums.Line(b.first)
	return ok
}

// summed reports whether the first line has a digest and something else, and so is no header.
func (b *beginning) summed() bool {
	line := newBare(b.first, false)
	return len(line.cells) > 1 && line.count(sum) > 0
}

// Formats returns the names of the forms for Options.Format, in the order in which Read tries them.
func Formats() (names []string) {
	for _, f := range forms {
		names = append(names, f.name)
	}
	return names
}

// peekSize is how many bytes of a list are examined to find its form.
const peekSize = 64 << 10

// beginning is the beginning of a list.
type beginning struct {
	*reader
	first string   // the first line that is neither empty nor a comment
	head  []string // the lines up to and including first
}

// heads reports whether one of the lines of b.head is the header of a table.
func (b *beginning) heads(separator string) bool {
	return slices.ContainsFunc(b.head, func(line string) bool {
		return b.isHeader(header(line, separator), comment(line))
	})
}

// document reports whether the list is one JSON value. If the first line is an object with a URL, the list is NDJSON
// instead.
func (b *beginning) document() bool {
	names, _, _ := members(b.first)
	return strings.HasPrefix(b.first, "[") || strings.HasPrefix(b.first, "{") &&
		!b.isHeader(plain(names...), false)
}

// form parses Map, reads the beginning of the list, and returns the form: Format, or else the form that the beginning
// shows.
func (r *reader) form() (form, error) {
	for _, text := range r.Map {
		m, err := newMapping(text)
		if err != nil {
			return form{}, err
		}
		r.maps = append(r.maps, m)
	}
	start, err := r.begin()
	if err != nil {
		return form{}, err
	}
	want := cmp.Or(r.Format, r.guess(start))
	i := slices.Index(Formats(), want)
	if i < 0 {
		return form{}, fmt.Errorf("there is no form of list %q: write one of %q", want, Formats())
	}
	return forms[i], nil
}

// begin starts to decompress a list that gzip compressed, skips a byte order mark, and returns the beginning of the
// text.
func (r *reader) begin() (string, error) {
	peeked, err := r.in.r.Peek(peekSize) // other errors come again when the list is read
	start := string(peeked)
	if strings.HasPrefix(start, "\x1f\x8b") {
		text, wrong := gzip.NewReader(r.in.r)
		if wrong != nil {
			return "", errDamaged
		}
		r.in.r = bufio.NewReaderSize(text, peekSize)
		peeked, err = r.in.r.Peek(peekSize)
		start = string(peeked)
	}
	const mark = "\xef\xbb\xbf"
	if strings.HasPrefix(start, mark) {
		_, _ = r.in.r.Discard(len(mark))
		start = start[len(mark):]
	}
	if start == "" && err == io.EOF {
		return "", errors.New("the list is empty")
	}
	return start, foreign(start)
}

// foreign returns an error if a text begins like a file in another format, which the user must save differently.
func foreign(start string) error {
	switch {
	case strings.HasPrefix(start, "\xff\xfe"), strings.HasPrefix(start, "\xfe\xff"):
		return errors.New("the list is in UTF-16: save it as UTF-8")
	case strings.HasPrefix(start, "PK\x03\x04"):
		return errors.New("the list is a ZIP archive or a workbook: save it as CSV")
	case strings.IndexByte(start, 0) >= 0:
		return errors.New("the list is no text")
	}
	return nil
}

var errDamaged = errors.New("the list is compressed and damaged: download it again")

// damaged reports whether err means that the compressed data is damaged.
func damaged(err error) bool {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	return corrupt || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) ||
		errors.Is(err, gzip.ErrHeader)
}

// guess returns the form that the beginning of a list shows. If it shows none, guess chooses the form with the most
// useful error: a table if there is a tab, or a comma and no sign of a URL, so that the error asks for the columns;
// else a list of URLs, so that the error names the URL. With Map the form is always a table.
func (r *reader) guess(text string) string {
	b := r.beginning(text)
	if r.numbered() {
		return "list"
	}
	i := slices.IndexFunc(forms, func(f form) bool { return f.shown(b) })
	if i >= 0 && (r.maps == nil || forms[i].maps) {
		return forms[i].name
	}
	return b.unshown()
}

// unshown returns the form of a list whose beginning shows none: the one with the most helpful errors.
func (b *beginning) unshown() string {
	if b.maps == nil && b.summed() {
		return "list"
	}
	tab := strings.Contains(b.first, "\t")
	comma := strings.Contains(b.first, ",") && !tab
	switch {
	case comma && (b.maps != nil || b.Base == nil && !strings.ContainsAny(b.first, "/:")):
		return "csv"
	case b.maps != nil, tab && !strings.Contains(b.first, "://"):
		return "tsv"
	}
	return "list"
}

// beginning returns the beginning of a list up to the first line that is neither empty nor a comment.
func (r *reader) beginning(text string) *beginning {
	b := &beginning{reader: r}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		b.head = append(b.head, line)
		if !comment(line) {
			b.first = line
			break
		}
	}
	return b
}

func hasScheme(text string) bool {
	scheme, rest, ok := strings.Cut(strings.ToLower(text), ":")
	return ok && (scheme == "url" || strings.HasPrefix(rest, "//") &&
		slices.Contains([]string{"ftp", "ftps", "ftpes"}, scheme))
}

// url parses a URL of a list of URLs. It completes a relative one from Base.
func (r *reader) url(text string) (*urlparse.URL, error) {
	text = trim(text)
	bare := !hasScheme(text) && !strings.Contains(text, "://")
	if bare && r.Base != nil {
		base := r.Base.Scheme + "://"
		if r.Base.Host != "" {
			base = strings.TrimSuffix(r.Base.String(), "/") + "/"
		}
		text = base + strings.TrimPrefix(strings.TrimPrefix(text, "./"), "//")
	}
	u, err := urlparse.Parse(text)
	if bad, ok := errors.AsType[*urlparse.Error](err); ok && bare && r.Base == nil {
		hintAtBase(bad, text)
	}
	return u, err
}

// hintAtBase adds to the error about a text without a scheme that Base may be missing.
func hintAtBase(bad *urlparse.Error, text string) {
	u, err := urlparse.Parse("ftp://" + text)
	switch {
	case !strings.ContainsAny(text, "/:@"): // text is a file name
		bad.Hint = "write ftp://host/path, or set Options.Base to URL for the directory of the whole list"
	case err == nil && !u.IsDir():
		bad.Hint += ", or set Options.Base to ftp:// for the whole list"
	}
}

var errNoSum = errors.New("is not a digest and a name: write the digest, two spaces and the name")

var errNoBase = errors.New("a list of digests names files without their directory: " +
	"give its URL as the base (set Options.Base to URL)")

// listed yields the file in a line of a list of digests. The file is below Base.
func (r *reader) listed(line int, text string) {
	name, sum, ok := sums.Line(text)
	item := Item{Line: line, Sum: sum}
	var err error
	switch {
	case strings.Contains(text, "://") && (!ok || sum.Digest != nil):
		err = r.sumOfURL(&item, text, name)
	case r.Base == nil || r.Base.Host == "":
		r.fail(line, errNoBase)
		r.done = true
		return
	case !ok || name == "":
		err = errNoSum
	case sum.Digest == nil:
		const known = "write one of md5, sha1, sha256, sha512, blake2b"
		err = fmt.Errorf("%s is an algorithm that is not supported: %s", sum.Algorithm, known)
	default:
		err = item.below(r.Base, name)
	}
	r.finish(item, err)
}

// sumOfURL adds the URL in a line of a list of digests: a name never has "://". It adds what else the line says about the
// file.
func (r *reader) sumOfURL(i *Item, text, name string) error {
	first := strings.FieldsFunc(text, isBlank)[0]
	switch {
	case i.Sum.Digest != nil && !isSum(first): // the line has another form than digest and URL
		return r.describe(i, name)
	case newBare(text, false).count(sum) == 0:
		return errNoSum
	}
	i.Sum = digest.Sum{}
	return r.describe(i, text)
}

// comment reports whether a line is empty or a comment.
func comment(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || text[0] == '#'
}

var errLeftOut = fmt.Errorf("places that are no ftp URLs are left out here and below%.0w",
	errors.ErrUnsupported)

// places adds the URLs of a file. It omits URLs that are not ftp URLs, unless there are no others.
func (r *reader) places(i *Item, texts []string) (err error) {
	other := ""
	for n := 0; n < len(texts) && err == nil; n++ {
		text := texts[n]
		if strings.Contains(text, "://") && !hasScheme(text) {
			other = cmp.Or(other, text)
		} else {
			err = i.addURL(r.url(text))
		}
	}
	switch {
	case other == "" || err != nil:
	case len(i.URLs) == 0:
		return i.addURL(r.url(other)) // returns an error that names it
	case !r.noted:
		r.fail(i.Line, errLeftOut)
		r.noted = true
	}
	return err
}

// optionLetters are the characters in the names of aria2's options.
const optionLetters = "abcdefghijklmnopqrstuvwxyz0123456789-"

// readList reads a list of URLs. A line has the URLs of one file, separated by tabs, or a URL and what is known about its
// file. Indented lines below it are options of aria2 for that file. A "#" inside a line does not start a comment: the URL
// parser reports that it must be encoded.
func (r *reader) readList() {
	if r.numbered() {
		r.readTable("\t", func() ([]string, error) { return columnsOf(r.in.text), nil })
		return
	}
	f := &listedFile{reader: r}
	r.each(func(line int, text string) {
		option := strings.TrimLeft(text, " \t")
		name, value, ok := strings.Cut(option, "=")
		if ok && option != text && f.item.Line > 0 && strings.Trim(name, optionLetters) == "" {
			f.option(name, trim(value))
			return
		}
		f.end()
		f.item = Item{Line: line}
		f.err = r.describe(&f.item, text)
	})
	if r.in.err == nil {
		f.end()
	}
}

// listedFile is the file of a list of URLs whose options are being read.
type listedFile struct {
	*reader
	item Item // its Line is 0 before the first file
	err  error
}

// option applies an option of aria2 to the file.
func (f *listedFile) option(name, value string) {
	switch {
	case f.err != nil:
	case len(f.item.Path) > maxField:
		f.err = inField("path", errField)
	case name == "dir":
		dir := strings.TrimPrefix(strings.TrimSuffix(value, "/")+"/", "./")
		f.item.Path = dir + f.item.Path
	case name == "out":
		f.item.Path += value
	case name == "checksum":
		f.err = inField(name, columns[name](&f.item, value))
	case algorithm.Named(name) != "": // aria2 has no such option, and a digest is never ignored
		f.err = inField(name, cellOf(name)(&f.item, value))
	}
}

// end yields the file, if there is one.
func (f *listedFile) end() {
	if f.err == nil && strings.HasSuffix(f.item.Path, "/") {
		var own string
		own, f.err = f.ownPath(f.item.URLs[0])
		f.item.Path += own
	}
	if f.item.Line > 0 {
		f.finish(f.item, f.err)
	}
}

var errNoCommand = errors.New("is no command for one file: " +
	"write curl -L ftp://host/path -o NAME, or a list of URLs alone")

// quotes turns the words of a shell command into CSV cells separated by spaces.
var quotes = strings.NewReplacer("'", `"`, "\t", " ")

// command parses a line of a script: "curl -L ftp://host/path -o NAME".
func (r *reader) command(line int, text string) {
	cells := csv.NewReader(strings.NewReader(quotes.Replace(text)))
	cells.Comma = ' '
	cells.TrimLeadingSpace = true
	words, err := cells.Read()
	words = slices.DeleteFunc(words, isPlainFlag)
	item := Item{Line: line}
	if i := slices.Index(words, "-o"); i > 0 && i+1 < len(words) {
		item.Path = words[i+1]
		words = slices.Delete(words, i, i+2)
	}
	if err != nil || strings.ContainsAny(text, "\\$`|&;<>") || !isCurl(words) {
		err = errNoCommand
	} else {
		err = r.places(&item, words[1:])
	}
	r.finish(item, err)
}

// isPlainFlag reports whether a word of a command is empty or a flag that does not change what curl fetches.
func isPlainFlag(word string) bool {
	return strings.Trim(word, "-LOfsS") == "" || word == "--location"
}

// isCurl reports whether words are "curl" and one argument that is not a flag.
func isCurl(words []string) bool {
	return len(words) == 2 && words[0] == "curl" && words[1][0] != '-'
}

package manifest

import (
	"bufio"
	"bytes"
	"cmp"
	"compress/flate"
	"compress/gzip"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"example.com/ftpfetch/download/internal/sums"
	"example.com/ftpfetch/urlparse"
)

// form is a form of list.
type form struct {
	name string
	told func(b *beginning) bool // whether a list that begins like this has the form
	read func(r *reader)
	maps bool // Options.Map may name its columns
}

// forms are all forms. The first that the beginning of a list tells counts: a table's header may look like a URL or a
// digest, and one JSON document begins like a line of NDJSON.
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

// curl also knows a script by its first line, unless URLs follow.
func (b *beginning) curl() bool {
	script := strings.HasPrefix(strings.Join(b.head, ""), "#!")
	return strings.HasPrefix(b.first, "curl ") || script && !hasScheme(b.first)
}

func (b *beginning) sums() bool {
	_, _, ok := sums.Line(b.first)
	return ok
}

// Formats returns the names of the forms, as [Options] has them, in the order in which they are recognized.
func Formats() (names []string) {
	for _, f := range forms {
		names = append(names, f.name)
	}
	return names
}

// peekSize is how many bytes of a list decide its form.
const peekSize = 64 << 10

// beginning is the beginning of a list.
type beginning struct {
	*reader
	first string   // the first line that is neither empty nor a comment
	head  []string // the lines up to that one
}

// heads reports whether one of the lines is the header of a table.
func (b *beginning) heads(separator string) bool {
	return slices.ContainsFunc(b.head, func(line string) bool { return b.isHeader(header(line, separator), comment(line)) })
}

// document reports whether the list is one JSON value. An object on a line of its own that has a URL is a row.
func (b *beginning) document() bool {
	names, _, _ := members(b.first)
	return strings.HasPrefix(b.first, "[") || strings.HasPrefix(b.first, "{") &&
		!b.isHeader(plain(names...), false)
}

// form reads Map, skips a byte order mark, decompresses what gzip has compressed, and returns the form of the list: that of Format,
// or else the one that the beginning tells.
func (r *reader) form() (form, error) {
	for _, text := range r.Map {
		m, err := newMapping(text)
		if err != nil {
			return form{}, err
		}
		r.maps = append(r.maps, m)
	}
	start, err := r.in.r.Peek(peekSize) // what else is wrong with the reader shows later
	if bytes.HasPrefix(start, []byte("\x1f\x8b")) {
		text, wrong := gzip.NewReader(r.in.r)
		if wrong != nil {
			return form{}, errDamaged
		}
		r.in.r = bufio.NewReaderSize(text, peekSize)
		start, err = r.in.r.Peek(peekSize)
	}
	switch {
	case bytes.HasPrefix(start, []byte("\xef\xbb\xbf")):
		_, _ = r.in.r.Discard(3)
		start = start[3:]
	case bytes.HasPrefix(start, []byte("\xff\xfe")), bytes.HasPrefix(start, []byte("\xfe\xff")):
		return form{}, errors.New("the list is in UTF-16: save it as UTF-8")
	case bytes.HasPrefix(start, []byte("PK\x03\x04")):
		return form{}, errors.New("the list is a ZIP archive or a workbook: save it as CSV")
	case bytes.IndexByte(start, 0) >= 0:
		return form{}, errors.New("the list is no text")
	}
	if len(start) == 0 && err == io.EOF {
		return form{}, errors.New("the list is empty")
	}
	want := cmp.Or(r.Format, r.guess(string(start)))
	i := slices.Index(Formats(), want)
	if i < 0 {
		return form{}, fmt.Errorf("there is no form of list %q: write one of %q", want, Formats())
	}
	return forms[i], nil
}

var errDamaged = errors.New("the list is compressed and damaged: download it again")

// damaged reports whether err is about what gzip has compressed.
func damaged(err error) bool {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	return corrupt || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) ||
		errors.Is(err, gzip.ErrHeader)
}

// guess tells the form of a list from its beginning. What looks like nothing else is a table if it has a tab, or a
// comma and nothing of a URL, so that the error asks for the columns, or else a list of URLs, so that the error names the URL. What Map is for is a table.
func (r *reader) guess(text string) string {
	b := &beginning{reader: r}
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		b.head = append(b.head, line)
		if !comment(line) {
			b.first = line
			break
		}
	}
	i := slices.IndexFunc(forms, func(f form) bool { return f.told(b) })
	switch {
	case i >= 0 && (r.maps == nil || forms[i].maps):
		return forms[i].name
	case strings.Contains(b.first, ",") && !strings.Contains(b.first, "\t") &&
		(r.maps != nil || r.Base == nil && !strings.ContainsAny(b.first, "/:")):
		return "csv"
	case r.maps != nil, strings.Contains(b.first, "\t") && !strings.Contains(b.first, "://"):
		return "tsv"
	}
	return "list"
}

func hasScheme(text string) bool {
	scheme, rest, ok := strings.Cut(strings.ToLower(text), ":")
	return ok && (scheme == "url" || strings.HasPrefix(rest, "//") &&
		slices.Contains([]string{"ftp", "ftps", "ftpes"}, scheme))
}

// url reads a URL of a list of them, which may lack what Base has.
func (r *reader) url(text string) (*urlparse.URL, error) {
	text = strings.TrimSpace(text)
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
		switch u, err := urlparse.Parse("ftp://" + text); {
		case !strings.ContainsAny(text, "/:@"): // a name
			bad.Hint = "write ftp://host/path, or --base URL for the directory of the whole list"
		case err == nil && !u.IsDir():
			bad.Hint += ", or --base ftp:// for the whole list"
		}
	}
	return u, err
}

// listed yields the file of a line of a list of digests, which is below Base.
func (r *reader) listed(line int, text string) {
	name, sum, ok := sums.Line(text)
	item := Item{Line: line, Sum: sum}
	var err error
	switch {
	case r.Base == nil || r.Base.Host == "":
		r.fail(line, errors.New(
			"a list of digests names files without their directory: give its URL as the base (--base URL)"))
		r.done = true
		return
	case !ok || name == "":
		err = errors.New("is not a digest and a name: write the digest, two spaces and the name")
	default:
		err = item.below(r.Base, name)
	}
	r.finish(item, err)
}

// comment reports whether a line is empty or a comment.
func comment(text string) bool {
	text = strings.TrimSpace(text)
	return text == "" || text[0] == '#'
}

var errLeftOut = fmt.Errorf("places that are no ftp URLs are left out here and below%.0w",
	errors.ErrUnsupported)

// places adds the places of a file, without those that are no ftp URLs unless all are.
func (r *reader) places(i *Item, texts []string) (err error) {
	other := ""
	for n := 0; n < len(texts) && err == nil; n++ {
		if text := texts[n]; strings.Contains(text, "://") && !hasScheme(text) {
			other = cmp.Or(other, text)
		} else {
			err = i.addURL(r.url(text))
		}
	}
	switch {
	case other == "" || err != nil:
	case len(i.URLs) == 0:
		return i.addURL(r.url(other)) // says what it is
	case !r.noted:
		r.fail(i.Line, errLeftOut)
		r.noted = true
	}
	return err
}

// optionLetters are what the names of aria2's options have.
const optionLetters = "abcdefghijklmnopqrstuvwxyz0123456789-"

// readList reads the places of a file from each line, with tabs between them, and from the lines below it the options that
// aria2 has for it. A "#" within a line is not a comment: the parser says that it must be encoded.
func (r *reader) readList() {
	var item Item
	var err error
	finish := func() {
		if err == nil && strings.HasSuffix(item.Path, "/") {
			var own string
			own, err = r.ownPath(item.URLs[0])
			item.Path += own
		}
		if item.Line > 0 {
			r.finish(item, err)
		}
	}
	r.each(func(line int, text string) {
		option := strings.TrimLeft(text, " \t")
		name, value, ok := strings.Cut(option, "=")
		switch value = strings.TrimSpace(value); {
		case !ok || option == text || item.Line == 0 || strings.Trim(name, optionLetters) != "":
			finish()
			item = Item{Line: line}
			err = r.places(&item, strings.FieldsFunc(text, func(c rune) bool { return c == '\t' }))
		case err != nil:
		case len(item.Path) > maxField:
			err = inField("path", errField)
		case name == "dir":
			item.Path = strings.TrimPrefix(strings.TrimSuffix(value, "/")+"/", "./") + item.Path
		case name == "out":
			item.Path += value
		case name == "checksum":
			err = inField(name, columns[name](&item, value))
		}
	})
	if r.in.err == nil {
		finish()
	}
}

// command reads a line of a script: "curl -L ftp://host/path -o NAME".
func (r *reader) command(line int, text string) {
	cells := csv.NewReader(strings.NewReader(strings.NewReplacer("'", `"`, "\t", " ").Replace(text)))
	cells.Comma = ' '
	cells.TrimLeadingSpace = true
	words, err := cells.Read()
	words = slices.DeleteFunc(words, func(word string) bool { return strings.Trim(word, "-LOfsS") == "" || word == "--location" })
	item := Item{Line: line}
	if i := slices.Index(words, "-o"); i > 0 && i+1 < len(words) {
		item.Path = words[i+1]
		words = slices.Delete(words, i, i+2)
	}
	if err != nil || len(words) != 2 || words[0] != "curl" || words[1][0] == '-' ||
		strings.ContainsAny(text, "\\$`|&;<>") {
		err = errors.New(
			"is no command for one file: write curl -L ftp://host/path -o NAME, or a list of URLs alone")
	} else {
		err = r.places(&item, words[1:])
	}
	r.finish(item, err)
}

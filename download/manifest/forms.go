package manifest

import (
	"bufio"
	"bytes"
	"compress/flate"
	"compress/gzip"
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
}

// forms are all forms, in the order in which the beginning of a list tells them.
var forms = []form{
	{"tsv", func(b *beginning) bool { return b.heads("\t") }, func(r *reader) { r.readTable("\t", func() ([]string, error) { return cells(r.in.text, "\t"), nil }) }},
	{"csv", func(b *beginning) bool { return b.heads(",") }, func(r *reader) { r.readTable(",", r.record) }},
	{"json", (*beginning).document, (*reader).readJSON},
	{"ndjson", func(b *beginning) bool { return strings.HasPrefix(b.first, "{") }, func(r *reader) { r.each(r.object) }},
	{"list", func(b *beginning) bool { return hasScheme(b.first) }, func(r *reader) { r.each(r.line) }},
	{"sums", func(b *beginning) bool { _, _, ok := sums.Line(b.first); return ok }, func(r *reader) { r.each(r.listed) }},
}

func formats() (names []string) {
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

func (r *reader) beginning(text string) *beginning {
	b := &beginning{reader: r}
	for line := range strings.Lines(text) {
		b.head = append(b.head, strings.TrimSpace(line))
		if !comment(line) {
			b.first = strings.TrimSpace(line)
			break
		}
	}
	return b
}

// heads reports whether one of the lines is the header of a table.
func (b *beginning) heads(separator string) bool {
	return slices.ContainsFunc(b.head, func(line string) bool { return b.isHeader(header(line, separator), comment(line)) })
}

// document reports whether the list is one JSON value. An object on a line of its own that has a URL is a row.
func (b *beginning) document() bool {
	names, _, _ := members(b.first)
	return strings.HasPrefix(b.first, "[") || strings.HasPrefix(b.first, "{") && !b.isHeader(plain(names...), false)
}

// form skips a byte order mark, decompresses what gzip has compressed, and returns the form of the list: that of Format,
// or else the one that the beginning tells.
func (r *reader) form() (form, error) {
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
	want := r.Format
	if want == "" {
		want = r.guess(string(start))
	}
	i := slices.Index(formats(), want)
	if i < 0 {
		return form{}, fmt.Errorf("there is no form of list %q: write one of %q", want, formats())
	}
	return forms[i], nil
}

var errDamaged = errors.New("the list is compressed and damaged: download it again")

// damaged reports whether err is about what gzip has compressed.
func damaged(err error) bool {
	_, corrupt := errors.AsType[flate.CorruptInputError](err)
	return corrupt || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, gzip.ErrChecksum) || errors.Is(err, gzip.ErrHeader)
}

// guess tells the form of a list from its beginning. What looks like nothing else is a table if it has a tab, or a
// comma and nothing of a URL, so that the error asks for the columns, or else a list of URLs, so that the error names the URL. What Map is for is a table.
func (r *reader) guess(text string) string {
	b := r.beginning(text)
	i := slices.IndexFunc(forms, func(f form) bool { return f.told(b) })
	switch {
	case i >= 0 && (r.maps == nil || i < 4):
		return forms[i].name
	case strings.Contains(b.first, ",") && !strings.Contains(b.first, "\t") && (r.maps != nil || r.Base == nil && !strings.ContainsAny(b.first, "/:")):
		return "csv"
	case r.maps != nil, strings.Contains(b.first, "\t") && !strings.Contains(b.first, "://"):
		return "tsv"
	}
	return "list"
}

func hasScheme(text string) bool {
	scheme, rest, ok := strings.Cut(strings.ToLower(text), ":")
	return ok && (scheme == "url" || strings.HasPrefix(rest, "//") && slices.Contains([]string{"ftp", "ftps", "ftpes"}, scheme))
}

// line yields the file of a line of a list of URLs, which may lack what Base has. A "#" within the line is not a comment: the
// parser says that it must be encoded.
func (r *reader) line(line int, text string) {
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
	r.single(line, u, err)
}

// listed yields the file of a line of a list of digests, which is below Base.
func (r *reader) listed(line int, text string) {
	name, sum, ok := sums.Line(text)
	item, err := Item{Line: line, Sum: sum}, error(nil)
	switch {
	case r.Base == nil || r.Base.Host == "":
		r.fail(line, errors.New("a list of digests names files without their directory: give its URL as the base (--base URL)"))
		r.done = true
		return
	case !ok || name == "":
		err = errors.New("is not a digest and a name: write the digest, two spaces and the name")
	default:
		err = item.below(r.Base, name)
	}
	r.finish(item, err)
}

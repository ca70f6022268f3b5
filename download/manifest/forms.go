package manifest

import (
	"bufio"
	"bytes"
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
	{"ncbi", func(*beginning) bool { return false }, (*reader).readTabs}, // told as tsv
	{"tsv", func(b *beginning) bool { return b.heads("\t") }, (*reader).readTabs},
	{"csv", func(b *beginning) bool { return b.heads(",") }, (*reader).readCommas},
	{"ndjson", func(b *beginning) bool { return strings.HasPrefix(b.first, "{") }, (*reader).readNDJSON},
	{"json", func(b *beginning) bool { return strings.HasPrefix(b.first, "[") }, (*reader).readJSON},
	{"list", func(b *beginning) bool { return hasScheme(b.first) }, (*reader).readList},
	{"sums", func(b *beginning) bool { _, _, ok := sums.Line(b.first); return ok }, (*reader).readSums},
	{"text", func(b *beginning) bool { return wrapped(b.text) }, (*reader).readText},
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
	text  string
	first string   // the first line that is neither empty nor a comment
	head  []string // the lines up to that one
}

func newBeginning(text string) *beginning {
	b := &beginning{text: text}
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
	return slices.ContainsFunc(b.head, func(line string) bool { return isHeader(header(line, separator)) })
}

// formOf skips a byte order mark and returns the form of the list: the wanted one, or else the one that the beginning
// tells.
func formOf(in *bufio.Reader, want string) (form, error) {
	start, err := in.Peek(peekSize) // what else is wrong with the reader shows later
	switch {
	case bytes.HasPrefix(start, []byte("\xef\xbb\xbf")):
		_, _ = in.Discard(3)
		start = start[3:]
	case bytes.HasPrefix(start, []byte("\xff\xfe")), bytes.HasPrefix(start, []byte("\xfe\xff")):
		return form{}, errors.New("the list is in UTF-16: save it as UTF-8")
	case bytes.HasPrefix(start, []byte("\x1f\x8b")):
		return form{}, errors.New("the list is compressed: decompress it with gunzip")
	case bytes.HasPrefix(start, []byte("PK\x03\x04")):
		return form{}, errors.New("the list is a ZIP archive or a workbook: save it as CSV")
	case bytes.IndexByte(start, 0) >= 0:
		return form{}, errors.New("the list is no text")
	}
	if len(start) == 0 && err == io.EOF {
		return form{}, errors.New("the list is empty")
	}
	if want == "" {
		want = guess(string(start))
	}
	i := slices.Index(formats(), want)
	if i < 0 {
		return form{}, fmt.Errorf("there is no form of list %q: write one of %q", want, formats())
	}
	return forms[i], nil
}

// guess tells the form of a list from its beginning. What looks like nothing else is a table if it has a tab, so that the
// error asks for the columns, or else a list of URLs, so that the error names the URL.
func guess(text string) string {
	b := newBeginning(text)
	i := slices.IndexFunc(forms, func(f form) bool { return f.told(b) })
	switch {
	case i >= 0:
		return forms[i].name
	case strings.Contains(b.first, "\t") && !strings.Contains(b.first, "://"):
		return "tsv"
	}
	return "list"
}

func hasScheme(text string) bool {
	text = strings.ToLower(text)
	return slices.ContainsFunc([]string{"ftp://", "ftps://", "ftpes://", "url:"}, func(prefix string) bool {
		return strings.HasPrefix(text, prefix)
	})
}

// wrapped reports whether text has a URL in angle brackets.
func wrapped(text string) bool {
	for _, part := range strings.Split(text, "<")[1:] {
		if hasScheme(part[:min(len(part), len("ftpes://"))]) {
			return true
		}
	}
	return false
}

// readList reads a URL from each line. A "#" within a line is not a comment: the parser says that it must be encoded.
func (r *reader) readList() {
	r.each(func(line int, text string) {
		text = strings.TrimSpace(text)
		bare := !hasScheme(text) && !strings.Contains(text, "://")
		if bare && r.Base != nil {
			text = r.below() + strings.TrimPrefix(strings.TrimPrefix(text, "./"), "//")
		}
		u, err := urlparse.Parse(text)
		if bad, ok := errors.AsType[*urlparse.Error](err); ok && bare && r.Base == nil {
			if u, err := urlparse.Parse("ftp://" + text); err == nil && !u.IsDir() {
				bad.Hint += ", or --base ftp:// for the whole list"
			}
		}
		r.single(line, u, err)
	})
}

// below returns what a line without a scheme goes on.
func (r *reader) below() string {
	if r.Base.Host == "" {
		return r.Base.Scheme + "://"
	}
	return strings.TrimSuffix(r.Base.String(), "/") + "/"
}

func (r *reader) readText() {
	r.in.err = urlparse.Find(r.in.r, func(line int, u *urlparse.URL, err error) bool {
		r.single(line, u, err)
		return !r.done
	})
}

// readSums reads a list of digests of files below Base.
func (r *reader) readSums() {
	if r.Base == nil || r.Base.Host == "" {
		r.fail(1, errors.New("a list of digests names files without their directory: give its URL as the base (--base URL)"))
		return
	}
	r.each(func(line int, text string) {
		item := Item{Line: line}
		name, sum, ok := sums.Line(text)
		item.Path, item.Sum = strings.TrimPrefix(name, "./"), sum
		err := inField("the name", checkPath(item.Path))
		if !ok || name == "" {
			err = errors.New("is not a digest and a name: write the digest, two spaces and the name")
		}
		if err == nil {
			u := r.Base
			for segment := range strings.SplitSeq(item.Path, "/") {
				u = u.Child(segment, "")
			}
			err = item.addURL(u, u.Check())
		}
		r.finish(item, err)
	})
}

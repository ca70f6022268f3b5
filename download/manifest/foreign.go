package manifest

import (
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/internal/algorithm"
	"example.com/ftpfetch/urlparse"
)

// note is an error about what a list is read without. Nothing is wrong.
type note string

func (n note) Error() string      { return string(n) }
func (note) Is(target error) bool { return target == errors.ErrUnsupported }

// leftOut tells once what is left out.
func (r *reader) leftOut(line int, what string) {
	if !r.done && !slices.Contains(r.noted, what) {
		r.noted = append(r.noted, what)
		r.done = !r.yield(Item{}, note("line "+strconv.Itoa(line)+": "+what))
	}
}

// places adds the places of a file, without those that are no ftp URLs unless all are.
func (r *reader) places(item *Item, texts []string) error {
	var other error
	for _, text := range texts {
		u, err := r.url(text)
		if errors.Is(err, urlparse.ErrScheme) {
			other = cmp.Or(other, err)
		} else if err := item.addURL(u, err); err != nil {
			return err
		}
	}
	if len(item.URLs) == 0 || other == nil {
		return other
	}
	r.leftOut(item.Line, "places that are no ftp URLs are left out")
	return nil
}

// option reads a line of aria2's input file about the URLs above it.
func option(line string) (name, value string, ok bool) {
	text := strings.TrimLeft(line, " \t")
	name, value, ok = strings.Cut(text, "=")
	return name, strings.TrimSpace(value), ok && text != line && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-") == ""
}

// readList reads a URL from each line, or several of one file with tabs between them, and the options that aria2 has for
// it in the lines below. A "#" within a line is not a comment: the parser says that it must be encoded.
func (r *reader) readList() {
	var item Item
	var dir string
	var err error
	flush := func() {
		if err == nil && dir != "" && len(item.URLs) > 0 {
			item.Path = dir + "/" + cmp.Or(item.Path, item.URLs[0].Name)
		}
		if item.Line > 0 {
			r.finish(item, err)
		}
	}
	r.each(func(line int, text string) {
		name, value, ok := option(text)
		if !ok || item.Line == 0 {
			flush()
			item, dir = Item{Line: line}, ""
			err = r.places(&item, strings.FieldsFunc(strings.TrimSpace(text), func(c rune) bool { return c == '\t' }))
			return
		}
		switch name {
		case "out":
			item.Path = value
		case "dir":
			dir = strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(value, "/")+"/", "./"), "/")
		case "checksum":
			err = cmp.Or(err, inField("checksum", item.addSum(digest.Parse(strings.Replace(value, "=", ":", 1)))))
		default:
			r.leftOut(line, "options of aria2 other than out, dir and checksum are left out")
		}
	})
	if r.in.err == nil {
		flush()
	}
}

// readCurl reads a script of lines such as "curl -L ftp://host/path -o NAME".
func (r *reader) readCurl() {
	r.each(func(line int, text string) {
		item := Item{Line: line}
		err := r.curl(&item, text)
		r.finish(item, err)
	})
}

var errNotCurl = errors.New("is no command such as curl -L ftp://host/path -o NAME: write such a command, or URLs alone")

func (r *reader) curl(item *Item, text string) error {
	words := strings.Fields(text)
	for i, word := range words {
		if n := len(word) - 1; n > 0 && (word[0] == '"' || word[0] == '\'') && word[n] == word[0] {
			words[i] = word[1:n]
		}
	}
	if words[0] != "curl" || strings.ContainsAny(strings.Join(words, " "), "\\$`\"'|&<>(){}*") {
		return errNotCurl
	}
	for i := 1; i < len(words); i++ {
		switch word := words[i]; {
		case word == "-L", word == "--location", word == "-O", word == "--remote-name":
		case (word == "-o" || word == "--output") && i+1 < len(words) && item.Path == "":
			i++
			item.Path = words[i]
		case strings.HasPrefix(word, "-") || len(item.URLs) > 0:
			return errNotCurl
		default:
			u, err := r.url(word)
			if err := item.addURL(u, err); err != nil {
				return err
			}
		}
	}
	return nil
}

// metafile is a file of Metalink 3 or 4 (RFC 5854). The digests of pieces are elsewhere.
type metafile struct {
	Path  string    `xml:"name,attr"`
	Size  string    `xml:"size"`
	Sums  []element `xml:"hash"`
	URLs  []element `xml:"url"`
	Sums3 []element `xml:"verification>hash"`
	URLs3 []element `xml:"resources>url"`
}

type element struct {
	Text       string `xml:",chardata"`
	Type       string `xml:"type,attr"`
	Priority   string `xml:"priority,attr"`   // of Metalink 4, the best is 1
	Preference string `xml:"preference,attr"` // of Metalink 3, the best is 100
}

// rank is lower for better places.
func (e element) rank() int {
	n, err := strconv.Atoi(cmp.Or(e.Priority, "-"+e.Preference))
	if err != nil {
		return math.MaxInt
	}
	return n
}

// readMetalink reads file by file. After a fault in the syntax nothing can be understood.
func (r *reader) readMetalink() {
	in := &placer{r: r.in.r, line: 1}
	tokens := xml.NewDecoder(in)
	var token xml.Token
	var err error
	for err == nil && !r.done {
		token, err = tokens.Token()
		item := Item{Line: in.lineAt(tokens.InputOffset())}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "file" {
			var f metafile
			if err = tokens.DecodeElement(&f, &start); err == nil {
				wrong := r.metalink(&item, f)
				r.finish(item, wrong)
			}
		}
	}
	if r.in.err = in.err; errors.Is(err, errTooLong) {
		r.fail(in.line, err)
	} else if err != nil && err != io.EOF && in.err == nil {
		r.fail(in.lineAt(tokens.InputOffset()), errors.New("is not XML in UTF-8, or is cut off: download the list again"))
	}
}

func (r *reader) metalink(item *Item, f metafile) error {
	var err error
	if item.Path = f.Path; f.Size != "" {
		err = inField("size", item.setSize(strings.TrimSpace(f.Size)))
	}
	for _, sum := range append(f.Sums, f.Sums3...) {
		if a := algorithm.Named(sum.Type); a != "" {
			err = cmp.Or(err, inField("hash", item.addSum(digest.Parse(a+":"+strings.TrimSpace(sum.Text)))))
		}
	}
	urls := append(f.URLs, f.URLs3...)
	slices.SortStableFunc(urls, func(a, b element) int { return cmp.Compare(a.rank(), b.rank()) })
	var texts []string
	for _, u := range urls {
		texts = append(texts, strings.TrimSpace(u.Text))
	}
	return cmp.Or(err, r.places(item, texts))
}

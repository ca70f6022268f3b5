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
			dir = strings.TrimPrefix(strings.TrimSuffix(value, "/")+"/", "./")
			dir = strings.TrimSuffix(dir, "/")
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

// place is a URL of a Metalink, and its rank: a lower one comes first.
type place struct {
	text string
	rank int
}

// readMetalink reads Metalink 3 and 4 (RFC 5854), element by element. After a fault in the syntax nothing can be understood.
func (r *reader) readMetalink() {
	in := &placer{r: r.in.r, line: 1}
	tokens := xml.NewDecoder(in)
	var item Item
	var wrong, err error
	var urls []place
	var element xml.StartElement // the last one; those with a text have no others within
	var text strings.Builder
	for !r.done && err == nil {
		var token xml.Token
		token, err = tokens.Token()
		line := in.lineAt(tokens.InputOffset())
		switch t := token.(type) {
		case xml.StartElement:
			element = t.Copy()
			text.Reset()
			if t.Name.Local == "file" {
				item, wrong, urls = Item{Line: line, Path: attribute(element, "name")}, nil, nil
			}
		case xml.CharData:
			text.Write(t[:min(len(t), maxLine-min(maxLine, text.Len()))])
		case xml.EndElement:
			if t.Name.Local == "file" {
				slices.SortStableFunc(urls, func(a, b place) int { return cmp.Compare(a.rank, b.rank) })
				var texts []string
				for _, u := range urls {
					texts = append(texts, u.text)
				}
				r.finish(item, cmp.Or(wrong, r.places(&item, texts)))
			} else if t.Name == element.Name {
				wrong = cmp.Or(wrong, item.metalink(element, strings.TrimSpace(text.String()), &urls))
			}
		}
	}
	switch line := in.lineAt(tokens.InputOffset()); {
	case err == nil || err == io.EOF || in.err != nil:
	case errors.Is(err, errTooLong):
		r.fail(line, errTooLong)
	default:
		r.fail(line, errors.New("is not XML in UTF-8, or is cut off: download the list again"))
	}
	r.in.err = in.err
}

// metalink reads an element with a text. The digests of pieces have no type.
func (i *Item) metalink(e xml.StartElement, text string, urls *[]place) error {
	switch e.Name.Local {
	case "size":
		return inField("size", i.setSize(text))
	case "hash":
		if a := algorithm.Named(attribute(e, "type")); a != "" {
			return inField("hash", i.addSum(digest.Parse(a+":"+text)))
		}
	case "url":
		rank := math.MaxInt
		if n, err := strconv.Atoi(attribute(e, "priority")); err == nil {
			rank = n
		} else if n, err := strconv.Atoi(attribute(e, "preference")); err == nil {
			rank = -n // of Metalink 3
		}
		*urls = append(*urls, place{text, rank})
	}
	return nil
}

func attribute(e xml.StartElement, name string) string {
	for _, a := range e.Attr {
		if a.Name.Local == name {
			return a.Value
		}
	}
	return ""
}

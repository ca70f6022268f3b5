package manifest

import (
	"cmp"
	"encoding/xml"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"

	"example.com/ftpfetch/download/internal/algorithm"
)

// metafile is a file of Metalink 3 or 4 (RFC 5854), without the digests of its pieces.
type metafile struct {
	Path  string    `xml:"name,attr"`
	Size  string    `xml:"size"`
	Sums  []element `xml:"hash"`
	Sums3 []element `xml:"verification>hash"`
	URLs  []element `xml:"url"`
	URLs3 []element `xml:"resources>url"`
}

// element is an element of a Metalink that has text, with the attributes that matter.
type element struct {
	Text       string `xml:",chardata"`
	Type       string `xml:"type,attr"`
	Priority   int64  `xml:"priority,attr"`   // of Metalink 4: the best is 1, the worst 999,999
	Preference int64  `xml:"preference,attr"` // of Metalink 3: the best is 100
}

var errPriority = errors.New("priority or preference: is not a number: write one from 1 to 100")
var errNoMetalink = errors.New(
	"is no Metalink in UTF-8 that names files, or is cut off: " +
		"download it again, or save it as UTF-8")

// readMetalink reads file by file. It stops at the first syntax error, because nothing after it can be parsed.
func (r *reader) readMetalink() {
	tokens := xml.NewDecoder(r.in)
	files := 0
	var err error
	for err == nil && !r.done {
		var token xml.Token
		token, err = tokens.Token()
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "file" {
			files++
			err = r.decodeFile(tokens, start)
		}
	}
	if _, bad := errors.AsType[*strconv.NumError](err); bad {
		err = errPriority
	}
	if errors.Is(err, errTooMuch) || err == errPriority {
		r.fail(r.in.n, err)
	} else if err != nil && r.in.err == nil && (err != io.EOF || files == 0) {
		r.fail(max(1, r.in.n), errNoMetalink)
	}
}

// decodeFile reads the file of a Metalink that begins at start, and yields it. The error is about the syntax.
func (r *reader) decodeFile(tokens *xml.Decoder, start xml.StartElement) error {
	item := Item{Line: r.in.n}
	var f metafile
	err := tokens.DecodeElement(&f, &start)
	if err == nil {
		wrong := r.metafile(&item, f)
		r.finish(item, wrong)
	}
	r.in.held = 0
	return err
}

// rank returns the rank of a URL by either attribute. The lowest rank is the best.
func (e element) rank() int64 { return cmp.Or(e.Priority, 1_000_100-e.Preference) }

// metafile sets the fields of an item from a file of a Metalink.
func (r *reader) metafile(i *Item, f metafile) (err error) {
	i.Path = f.Path
	if f.Size != "" {
		err = inField("size", i.setSize(strings.TrimSpace(f.Size)))
	}
	for _, sum := range append(f.Sums, f.Sums3...) {
		if algorithm.Named(sum.Type) != "" {
			err = cmp.Or(err, inField("hash", cellOf(sum.Type)(i, strings.TrimSpace(sum.Text))))
		}
	}
	urls := append(f.URLs, f.URLs3...)
	slices.SortStableFunc(urls, func(a, b element) int { return cmp.Compare(a.rank(), b.rank()) })
	var texts []string
	for _, u := range urls {
		texts = append(texts, strings.TrimSpace(u.Text))
	}
	return cmp.Or(err, r.places(i, texts))
}

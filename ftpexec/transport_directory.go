package ftpexec

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"example.com/ftpfetch/urlparse"
)

// directory returns the answer for the directory that u names.
func (t *Transport) directory(req *http.Request, u *urlparse.URL) (*answer, error) {
	kind, list := "text/plain; charset=utf-8", t.names
	if prefersJSON(req.Header) {
		kind, list = "application/json", t.entries
	}
	text, odd, err := list(req, u)
	if err != nil {
		return nil, err
	}
	a := newAnswer()
	a.status, a.length, a.body = http.StatusOK, int64(len(text)), io.NopCloser(bytes.NewReader(text))
	a.header.Set("Content-Type", kind)
	a.header.Set("Vary", "Accept")
	if odd != nil {
		a.length, a.body = -1, io.NopCloser(io.MultiReader(bytes.NewReader(text), failing{odd}))
	} else {
		a.header.Set("Content-Length", strconv.Itoa(len(text)))
	}
	return a, nil
}

// names returns the names in a directory, one on each line.
func (t *Transport) names(req *http.Request, u *urlparse.URL) (text []byte, odd, err error) {
	for e, err := range t.client().List(req.Context(), u) {
		if err != nil {
			return nil, nil, err
		}
		text = append(text, e.Base+"\n"...)
	}
	return text, nil, nil
}

// entries returns the entries of a directory as a JSON array. odd is about an entry that is not understood.
func (t *Transport) entries(req *http.Request, u *urlparse.URL) (text []byte, odd, err error) {
	all := []Entry{}
	for e, err := range t.client().Entries(req.Context(), u) {
		switch {
		case errors.Is(err, ErrLine):
			odd = err
		case err != nil:
			return nil, nil, err
		default:
			all = append(all, e)
		}
	}
	text, err = json.Marshal(all)
	return append(text, '\n'), odd, err
}

// failing is a reader without bytes.
type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// prefersJSON reports whether Accept wants JSON more than text.
func prefersJSON(header http.Header) bool {
	accept := strings.Join(header.Values("Accept"), ",")
	return quality(accept, "application/json") > quality(accept, "text/plain")
}

// quality returns what the most specific range in accept says about a media type (RFC 9110 section 12.5.1).
func quality(accept, media string) (q float64) {
	kind, _, _ := strings.Cut(media, "/")
	best := 0
	for item := range strings.SplitSeq(accept, ",") {
		name, params, err := mime.ParseMediaType(item)
		exact := slices.Index([]string{"", "*/*", kind + "/*", media}, name)
		if err != nil || exact < max(1, best) {
			continue
		}
		best, q = exact, 1
		if value, err := strconv.ParseFloat(params["q"], 64); err == nil {
			q = value
		}
	}
	return q
}

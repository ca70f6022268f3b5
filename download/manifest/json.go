package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"example.com/ftpfetch/download/internal/sums"
)

var errNotObject = errors.New(`is not a JSON object: write {"url": "ftp://host/path"}`)
var errNotArray = errors.New(
	"the list has neither a JSON array nor digests: write [ before the first object")

// readJSON reads one document after another to the end of the list, which may be joined from several files. It stops at
// the first syntax error, because nothing after it can be parsed.
func (r *reader) readJSON() {
	d := &document{reader: r, values: json.NewDecoder(r.in)}
	more, err := d.next(true)
	for more && !r.done {
		more, err = d.next(false)
	}
	switch {
	case err == nil || r.in.err != nil:
		return
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("the JSON ends too early: download the list again")
	case !errors.Is(err, errTooMuch) && !errors.Is(err, errNotArray): // its text may quote the list
		err = errors.New(
			"is not JSON: write each object as " +
				`{"url": "ftp://host/path"}, with a comma between two`)
	}
	r.fail(r.in.n, err)
}

// document is a JSON document. The objects in its arrays are rows, and its other members may be digests of files.
type document struct {
	*reader
	values *json.Decoder
	found  bool // there was an array or a digest
}

// next reads the next document of the list, if there is one. A list has at least a first document.
func (d *document) next(first bool) (more bool, err error) {
	token, err := d.values.Token()
	if err == io.EOF && !first { // unlike an end inside a document, this is the end of the list
		return false, nil
	}
	if err == nil {
		err = d.whole(token)
	}
	return err == nil, err
}

// whole reads the rest of a document that begins with token. A document must have an array or a digest.
func (d *document) whole(token json.Token) error {
	d.found = false
	err := d.value("", token, 0)
	if err == nil && !d.found {
		err = errNotArray
	}
	return err
}

// value reads the rest of the value of the member name, which begins with token. depth is the number of objects around
// it.
func (d *document) value(name string, token json.Token, depth int) error {
	const most = 100
	element := func() error { return d.member(depth + 1) }
	switch {
	case depth > most:
		return errNotArray
	case token == json.Delim('['):
		d.found = true
		element = func() error { return d.element(depth == 0) }
	case token != json.Delim('{'):
		d.digest(name, token)
		return nil
	}
	for !d.done && d.values.More() {
		err := element()
		if err != nil {
			return err
		}
	}
	if d.done {
		return nil
	}
	_, err := d.values.Token() // the closing delimiter
	return err
}

// element reads an element of an array as a row. If row is false, because the array is inside an object, it skips
// elements that are not objects.
func (d *document) element(row bool) error {
	var text json.RawMessage
	err := d.values.Decode(&text)
	if err == nil && (row || text[0] == '{') {
		d.object(d.in.n-bytes.Count(text, []byte("\n")), string(text))
		d.in.held = 0
	}
	return err
}

// member reads a member of an object.
func (d *document) member(depth int) error {
	name, err := d.values.Token()
	if err != nil {
		return err
	}
	token, err := d.values.Token()
	if err != nil {
		return err
	}
	return d.value(name.(string), token, depth)
}

// digest reads a member that may be a digest. Its name is then the name of the file.
func (d *document) digest(name string, value json.Token) {
	text, isText := value.(string)
	text += "  " + name
	_, _, ok := sums.Line(text)
	if ok && isText {
		d.found = true
		d.in.held = 0
		d.listed(d.in.n, text)
	}
}

// object reads an object as a row of a table. An array in it stands for several columns of the same name.
func (r *reader) object(line int, text string) {
	names, values, err := members(text)
	var t *table
	if err == nil {
		t, err = r.newTable(names)
	}
	if errors.Is(err, errNoHeader) {
		r.finish(Item{Line: line}, nil) // reports that there is no URL
		return
	}
	if err != nil {
		r.fail(line, err)
		return
	}
	cells := make([]string, len(values))
	for _, c := range slices.Concat(t.files...) {
		switch value := values[c.at].(type) {
		case nil:
		case string, json.Number:
			cells[c.at] = fmt.Sprint(value)
		default:
			r.fail(line, fmt.Errorf(
				"%s is neither a string nor a number: write it as a string", c.shown))
			return
		}
	}
	r.row(t, line, cells)
}

// members returns the names and values of an object, sorted by name. The elements of an array all have the array's
// name.
func members(text string) (names []string, values []any, err error) {
	in := json.NewDecoder(strings.NewReader(text))
	in.UseNumber()
	var object map[string]any
	if err := in.Decode(&object); err != nil || object == nil {
		return nil, nil, errNotObject
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, errors.New("text follows the JSON object: write one object on each line")
	}
	for _, name := range slices.Sorted(maps.Keys(object)) {
		list, several := object[name].([]any)
		if !several {
			list = []any{object[name]}
		}
		if len(names)+len(list) > mostColumns {
			return nil, nil, errColumns
		}
		names = append(names, slices.Repeat([]string{name}, len(list))...)
		values = append(values, list...)
	}
	return names, values, nil
}

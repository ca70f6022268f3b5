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

var (
	errNotObject = errors.New(`is not a JSON object: write {"url": "ftp://host/path"}`)
	errNotArray  = errors.New("the list has neither a JSON array nor digests: write [ before the first object")
)

// readJSON reads a document. After a fault in the syntax nothing can be understood.
func (r *reader) readJSON() {
	in := &placer{r: r.in.r, line: 1}
	d := &document{r, in, json.NewDecoder(in), false}
	err := d.value("", 0)
	if err == nil && !d.found {
		err = errNotArray
	}
	if err != nil && in.err == nil {
		r.fail(in.lineAt(d.values.InputOffset()), syntax(err))
	}
	r.in.err = in.err
}

// document is a JSON document: the objects in its arrays are rows, and its other members may be digests of files.
type document struct {
	*reader
	in     *placer
	values *json.Decoder
	found  bool // an array or a digest
}

// value reads the value of a member, which is within as many objects as depth says.
func (d *document) value(name string, depth int) error {
	const most = 100
	token, err := d.values.Token()
	line := d.in.lineAt(d.values.InputOffset())
	switch {
	case err != nil:
		return err
	case depth > most:
		return errNotArray
	case token == json.Delim('['):
		d.found = true
		for err == nil && !d.done && d.values.More() {
			var row json.RawMessage
			err = d.values.Decode(&row)
			line := d.in.lineAt(d.values.InputOffset() - int64(len(row)))
			if err == nil && (depth == 0 || row[0] == '{') {
				d.object(line, string(row))
			}
		}
	case token == json.Delim('{'):
		for err == nil && !d.done && d.values.More() {
			if token, err = d.values.Token(); err == nil {
				err = d.value(token.(string), depth+1)
			}
		}
	default:
		text, isText := token.(string)
		if _, _, ok := sums.Line(text + "  " + name); ok && isText {
			d.found = true
			d.listed(line, text+"  "+name)
		}
		return nil
	}
	if err == nil && !d.done {
		_, err = d.values.Token() // its end
	}
	return err
}

// syntax says what is wrong with JSON, without the text.
func syntax(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON ends too early: download the list again")
	}
	if errors.Is(err, errTooLong) || errors.Is(err, errNotArray) {
		return err
	}
	return errors.New("is not JSON: write each object as {\"url\": \"ftp://host/path\"}, with a comma between two")
}

// object reads an object as a row of a table. An array of strings stands for several columns of the same name.
func (r *reader) object(line int, text string) {
	names, values, err := members(text)
	var t *table
	if err == nil {
		t, err = r.newTable(names)
	}
	if errors.Is(err, errNoHeader) {
		r.finish(Item{Line: line}, nil) // which has no URL
		return
	}
	cells := make([]string, len(values))
	for i, value := range values {
		switch value.(type) {
		case nil:
		case string, json.Number:
			cells[i] = fmt.Sprint(value)
		default:
			if err == nil && slices.ContainsFunc(slices.Concat(t.files...), func(c column) bool { return c.at == i }) {
				err = fmt.Errorf("%s is neither a string nor a number: write it as a string", names[i])
			}
		}
	}
	if err != nil {
		r.fail(line, err)
		return
	}
	r.row(t, line, cells)
}

// members returns the names and values of an object, in the order of the names. What is in an array has the same name.
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
		names, values = append(names, slices.Repeat([]string{name}, len(list))...), append(values, list...)
	}
	return names, values, nil
}

// placer tells in which line an offset of what is read through it is, and bounds what is read for one value.
type placer struct {
	r    io.Reader
	text bytes.Buffer // read, from the offset asked for last on
	from int64        // which this is,
	line int          // and its line
	err  error        // of r
}

func (p *placer) Read(b []byte) (int, error) {
	if p.text.Len() > 2*maxLine {
		return 0, errTooLong
	}
	n, err := p.r.Read(b)
	p.text.Write(b[:n])
	if err != nil && !errors.Is(err, io.EOF) {
		p.err = err
	}
	return n, err
}

// lineAt returns the line of an offset, which must not go back.
func (p *placer) lineAt(offset int64) int {
	p.line += bytes.Count(p.text.Next(int(offset-p.from)), []byte("\n"))
	p.from = offset
	return p.line
}

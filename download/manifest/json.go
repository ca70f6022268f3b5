package manifest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"

	"example.com/ftpfetch/download/internal/sums"
)

var (
	errNotObject = errors.New(`is not a JSON object: write {"url": "ftp://host/path"}`)
	errNotArray  = errors.New("the list has neither a JSON array nor digests: write [ before the first object")
)

func (r *reader) readNDJSON() {
	r.each(func(line int, text string) { r.object(line, []byte(text)) })
}

// readJSON reads a document: its objects in arrays are rows, and its other members may be digests of files. After a fault
// in the syntax nothing can be understood.
func (r *reader) readJSON() {
	in := &placer{r: r.in.r, line: 1}
	values := json.NewDecoder(in)
	err := r.document(in, values)
	if err != nil && in.err == nil {
		r.fail(in.lineAt(values.InputOffset()), syntax(err))
	}
	r.in.err = in.err
}

// document reads the tokens of a document but for those of arrays' elements.
func (r *reader) document(in *placer, values *json.Decoder) error {
	depth, inside, found, name := 0, false, false, "" // inside: a name has come, whose value is next
	for !r.done {
		token, err := values.Token()
		line := in.lineAt(values.InputOffset())
		text, isText := token.(string)
		switch {
		case err != nil:
			return err
		case token == json.Delim('['):
			found = true
			if err := r.elements(in, values, depth > 0); err != nil {
				return err
			}
			inside = false
		case token == json.Delim('{'):
			depth, inside = depth+1, false
		case token == json.Delim('}'):
			depth, inside = depth-1, false
		case !inside:
			name, inside = text, true
		default:
			inside = false
			if _, _, ok := sums.Line(text + "  " + name); ok && isText {
				found = true
				r.listed(line, text+"  "+name)
			}
		}
		if depth == 0 && !found {
			return errNotArray
		} else if depth == 0 {
			return nil
		}
	}
	return nil
}

// elements reads the elements of an array, of which the rows are objects.
func (r *reader) elements(in *placer, values *json.Decoder, within bool) error {
	for values.More() && !r.done {
		var value json.RawMessage
		if err := values.Decode(&value); err != nil {
			return err
		}
		if line := in.lineAt(values.InputOffset() - int64(len(value))); !within || value[0] == '{' {
			r.object(line, value)
		}
	}
	if r.done {
		return nil
	}
	_, err := values.Token() // the "]"
	return err
}

// syntax says what is wrong with JSON, without the text.
func syntax(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return errors.New("the JSON ends too early: download the list again")
	}
	for _, known := range []error{errTooLong, errNotArray} {
		if errors.Is(err, known) {
			return known
		}
	}
	return errors.New("is not JSON: write each object as {\"url\": \"ftp://host/path\"}, with a comma between two")
}

// object reads an object as a row of a table. An array of strings stands for several columns of the same name.
func (r *reader) object(line int, text []byte) {
	names, cells, err := r.members(text)
	var t *table
	if err == nil {
		t, err = r.newTable(names)
	}
	switch {
	case errors.Is(err, errNoHeader):
		r.finish(Item{Line: line}, nil) // which has no URL
	case err != nil:
		r.fail(line, err)
	default:
		r.row(t, line, cells)
	}
}

// members returns the names and values of an object. The value of a name that means nothing is "".
func (r *reader) members(text []byte) (names, cells []string, err error) {
	in := json.NewDecoder(bytes.NewReader(text))
	in.UseNumber()
	if token, err := in.Token(); err != nil || token != json.Delim('{') {
		return nil, nil, errNotObject
	}
	for in.More() {
		var value any
		token, err := in.Token()
		name, ok := token.(string)
		if err != nil || !ok || in.Decode(&value) != nil {
			return nil, nil, errNotObject
		}
		if !r.means(plain(name)) {
			names, cells = append(names, name), append(cells, "")
			continue
		}
		if slices.ContainsFunc(names, func(other string) bool { return plain(other) == plain(name) }) {
			return nil, nil, fmt.Errorf("%s is there twice: leave one out", name)
		}
		values, several := value.([]any)
		if !several {
			values = []any{value}
		}
		for _, one := range values {
			if number, ok := one.(json.Number); ok && !several {
				one = number.String()
			} else if one == nil && !several {
				one = ""
			}
			cell, ok := one.(string)
			if !ok {
				return nil, nil, fmt.Errorf("%s is neither a string nor a number: write it as a string", name)
			}
			names, cells = append(names, name), append(cells, cell)
		}
	}
	if _, err := in.Token(); err != nil {
		return nil, nil, errNotObject
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return nil, nil, errors.New("text follows the JSON object: write one object on each line")
	}
	return names, cells, nil
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

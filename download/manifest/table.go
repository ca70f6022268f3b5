package manifest

import (
	"bytes"
	"cmp"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/internal/algorithm"
	"example.com/ftpfetch/download/internal/sums"
	"example.com/ftpfetch/urlparse"
)

// columns say what a cell of the column with that name tells about a file.
var columns = map[string]func(i *Item, text string) error{
	"url": func(i *Item, text string) error { return i.addURL(urlparse.Parse(text)) },
	"urls": func(i *Item, text string) (err error) {
		for one := range strings.FieldsSeq(text) {
			err = cmp.Or(err, i.addURL(urlparse.Parse(one)))
		}
		return err
	},
	"path": func(i *Item, text string) error { i.Path = text; return nil },
	"size": (*Item).setSize,
	"checksum": func(i *Item, text string) error {
		// the text may be a URL with a password
		if i := strings.IndexAny(text, ":="); i < 0 || algorithm.Named(text[:i]) == "" {
			return errors.New(
				"is not a digest: write ALGO:HEX, such as md5: and 32 hexadecimal digits")
		}
		return i.addSum(digest.Parse(text))
	},
}

// cellOf returns what a cell of a column tells, nil if the column means nothing. A column with the name of an algorithm
// has digests.
func cellOf(name string) func(i *Item, text string) error {
	if a := algorithm.Named(strings.TrimSuffix(name, "sum")); a != "" {
		return func(i *Item, text string) error { return i.addSum(digest.Parse(a + ":" + text)) }
	}
	return columns[name]
}

// header returns the names in a header as they compare. A "#" before the first does not count.
func header(line, separator string) []string {
	return plain(cells(strings.TrimLeft(line, "# "), separator)...)
}

// cells returns the cells of a line without the white space and one pair of quotes around each.
func cells(line, separator string) []string {
	cells := strings.Split(line, separator)
	for i, cell := range cells {
		cell = strings.TrimSpace(cell)
		if len(cell) >= 2 && cell[0] == '"' && cell[len(cell)-1] == '"' {
			cell = strings.ReplaceAll(cell[1:len(cell)-1], `""`, `"`)
		}
		cells[i] = cell
	}
	return cells
}

// table is what the header of a table says.
type table struct {
	width  int       // cells of the header
	needed int       // cells that a row must have
	files  []mapping // the columns of each file in a row
	// an archive's: cells are lists, and a row may be longer than the header or lack what does not count
	mapped bool
}

var errNoHeader = errors.New(
	"the first line names no column url, and none that an archive's list has: " +
		"write a header such as url, path, size, sha256, or say which columns to read (--map url=COLUMN)")

// mostColumns bounds what is kept of a header, and of an array of URLs.
const mostColumns = 10_000

var errColumns = fmt.Errorf(
	"there are more than %d columns or elements: write one file on each line", mostColumns)

// newTable returns the meaning of a header.
func (r *reader) newTable(header []string) (*table, error) {
	names := plain(header...)
	t := &table{width: len(names), needed: len(names), mapped: true}
	if t.width > mostColumns {
		return nil, errColumns
	}
	maps := r.maps
	if maps == nil {
		maps, t.mapped = mappings(names)
	}
	places := make(map[string][]int) // of each name
	for i, name := range names {
		places[name] = append(places[name], i)
	}
	for _, m := range maps {
		file, err := r.columns(m, header, places, t.mapped)
		if err != nil {
			return nil, err
		}
		t.files = append(t.files, file)
	}
	switch {
	case t.files == nil:
		return nil, errNoHeader
	case t.mapped:
		t.needed = 1 + slices.MaxFunc(slices.Concat(t.files...), func(a, b column) int { return a.at - b.at }).at
	}
	return t, nil
}

// argoRoot reads what Argo's lists say of their server in a comment. It becomes Base, unless --base names another server,
// which has the same files.
func (r *reader) argoRoot(comment string) {
	_, text, ok := strings.Cut(comment, "FTP root number 1 : ")
	if !ok {
		return
	}
	root, err := urlparse.Parse(strings.TrimSpace(text) + "/")
	if err == nil && (r.Base == nil || r.Base.Host == root.Host) {
		r.Base = root
	}
}

// readTable reads a table with a header. The header may be a comment, which has a name of a column of URLs, or as many
// names as the first row has cells.
func (r *reader) readTable(separator string, cells func() ([]string, error)) {
	var t *table
	above := ""
	for r.next() {
		line, text := r.in.n, r.in.text
		if comment(text) && (t != nil || !r.isHeader(header(text, separator), true)) {
			r.argoRoot(text)
			above = text
			continue
		}
		switch values, err := cells(); {
		case err != nil:
			r.fail(line, err)
		case t != nil:
			r.row(t, line, values)
		default:
			if r.maps != nil && above != "" && !r.isHeader(header(text, separator), false) && strings.Count(above, separator) == len(values)-1 {
				values = strings.Split(above, separator)
			}
			values[0] = strings.TrimLeft(values[0], "# ")
			if t, err = r.newTable(values); err != nil {
				r.fail(line, err)
			}
		}
		if t == nil {
			return
		}
	}
}

// row reads a row of a table.
func (r *reader) row(t *table, line int, cells []string) {
	first := t.files[0]
	switch {
	case len(cells) < t.needed, len(cells) > t.width && !t.mapped:
		r.fail(line, fmt.Errorf(
			"the number of cells is %d, but that of the header is %d: write one cell for each column",
			len(cells), t.width))
	// the header again, of lists that were joined
	case t.mapped && strings.EqualFold(cells[first[0].at], first[0].shown):
	default:
		for _, file := range t.files {
			r.files(t, file, line, cells)
		}
	}
}

// files reads the files of one mapping in a row.
func (r *reader) files(t *table, file mapping, line int, cells []string) {
	lists := make([][]string, len(file))
	n := 1
	for i, c := range file {
		lists[i] = []string{cells[c.at]}
		if !t.mapped {
			continue
		}
		if lists[i] = elements(cells[c.at]); i == 0 {
			n = len(lists[0])
		} else if len(lists[i]) != 0 && len(lists[i]) != n {
			r.fail(line, fmt.Errorf(
				"the number of elements of %s is %d, but that of %s is %d: download the list again",
				c.shown, len(lists[i]), file[0].shown, n))
			return
		}
	}
	for k := 0; k < n && !r.done; k++ {
		item := Item{Line: line}
		var err error
		for i, c := range file {
			if err == nil && k < len(lists[i]) && (lists[i][k] != "" || t.mapped && i == 0) {
				err = inField(c.shown, c.tell(&item, lists[i][k]))
			}
		}
		r.finish(item, err)
	}
}

// record returns the cells of the CSV record that begins on the current line. If a quotation mark is not closed, only this
// line is lost.
func (r *reader) record() ([]string, error) {
	odd := func(text string) bool { return strings.Count(text, `"`)%2 != 0 }
	record, rest := r.in.text, []string(nil)
	size, open := len(record), odd(record)
	for open && size <= maxLine && r.in.next() && !r.in.long {
		rest = append(rest, r.in.text)
		size += len(r.in.text) + 1
		open = open != odd(r.in.text)
	}
	if open {
		r.in.back, r.in.n = append(rest, r.in.back...), r.in.n-len(rest)
	} else {
		record = strings.Join(append([]string{record}, rest...), "\n")
	}
	if !strings.Contains(record, `"`) {
		return strings.Split(record, ","), nil
	}
	cells, err := csv.NewReader(strings.NewReader(record)).Read()
	if fault, ok := errors.AsType[*csv.ParseError](err); ok {
		why := `a quotation mark is not closed, or text follows it: write "" for one in a cell`
		if errors.Is(err, csv.ErrBareQuote) {
			why = `a quotation mark in a cell that does not begin with one: write "" for it, and " around the cell`
		}
		return nil, fmt.Errorf("column %d: %s", fault.Column, why)
	}
	for i, cell := range cells {
		cells[i] = strings.TrimSpace(cell)
	}
	return cells, err
}

var errNotObject = errors.New(`is not a JSON object: write {"url": "ftp://host/path"}`)
var errNotArray = errors.New(
	"the list has neither a JSON array nor digests: write [ before the first object")

// readJSON reads a document. After a fault in the syntax nothing can be understood.
func (r *reader) readJSON() {
	d := &document{reader: r, values: json.NewDecoder(r.in)}
	err := d.value("", 0)
	if err == nil && !d.found {
		err = errNotArray
	}
	switch {
	case err == nil || r.in.err != nil:
		return
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = errors.New("the JSON ends too early: download the list again")
	case !errors.Is(err, errTooMuch) && !errors.Is(err, errNotArray): // without the text
		err = errors.New(
			"is not JSON: write each object as {\"url\": \"ftp://host/path\"}, with a comma between two")
	}
	r.fail(r.in.n, err)
}

// document is a JSON document: the objects in its arrays are rows, and its other members may be digests of files.
type document struct {
	*reader
	values *json.Decoder
	found  bool // an array or a digest
}

// value reads the value of a member, which is within as many objects as depth says.
func (d *document) value(name string, depth int) error {
	const most = 100
	token, err := d.values.Token()
	if err != nil {
		return err
	}
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
	_, err = d.values.Token() // its end
	return err
}

// element reads an element of an array as a row. Those of an array within an object may be something else.
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
	return d.value(name.(string), depth)
}

// digest reads a member that may be the digest of the file with its name.
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
		if len(names)+len(list) > mostColumns {
			return nil, nil, errColumns
		}
		names = append(names, slices.Repeat([]string{name}, len(list))...)
		values = append(values, list...)
	}
	return names, values, nil
}

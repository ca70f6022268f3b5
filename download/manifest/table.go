package manifest

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/internal/algorithm"
	"example.com/ftpfetch/urlparse"
)

// blanks are the characters around a cell that do not count. Other white space, such as a no-break space, may be part
// of a name, whose octets this package does not interpret.
const blanks = " \t\r\n\v\f"

func isBlank(c rune) bool { return strings.ContainsRune(blanks, c) }

// trim removes the blanks around a text.
func trim(text string) string { return strings.Trim(text, blanks) }

// columns maps the name of a column to the function that sets a field of an item from a cell.
var columns = map[string]func(i *Item, text string) error{
	"url": func(i *Item, text string) error { return i.addURL(urlparse.Parse(trim(text))) },
	"urls": func(i *Item, text string) (err error) {
		for one := range strings.FieldsFuncSeq(text, isBlank) {
			err = cmp.Or(err, i.addURL(urlparse.Parse(one)))
		}
		return err
	},
	"path":    func(i *Item, text string) error { i.Path = text; return nil },
	"encoded": (*Item).setEncoded,
	"size":    func(i *Item, text string) error { return i.setSize(trim(text)) },
	"checksum": func(i *Item, text string) error {
		text = trim(text)
		// do not show the text: it may be a URL with a password
		if i := strings.IndexAny(text, ":="); i < 0 || algorithm.Named(text[:i]) == "" {
			return errors.New(
				"is not a digest: write ALGO:HEX, such as md5: and 32 hexadecimal digits")
		}
		return i.addSum(digest.Parse(text))
	},
}

// cellOf returns the function for the cells of a column, or nil if the column is unknown. A column named like an
// algorithm has digests.
func cellOf(name string) func(i *Item, text string) error {
	if a := algorithm.Named(strings.TrimSuffix(name, "sum")); a != "" {
		return func(i *Item, text string) error { return i.addSum(digest.Parse(a + ":" + trim(text))) }
	}
	return columns[name]
}

// header returns the names in a header as [plain] returns them. It ignores a "#" before the first.
func header(line, separator string) []string {
	return plain(cells(strings.TrimLeft(line, "# "), separator)...)
}

// cells returns the cells of a line. It removes the blanks and then one pair of quotes around each. The blanks in the
// quotes stay.
func cells(line, separator string) []string {
	cells := strings.Split(line, separator)
	for i, cell := range cells {
		cell = trim(cell)
		if len(cell) >= 2 && cell[0] == '"' && cell[len(cell)-1] == '"' {
			cell = strings.ReplaceAll(cell[1:len(cell)-1], `""`, `"`)
		}
		cells[i] = cell
	}
	return cells
}

// table is the meaning of the header of a table.
type table struct {
	width  int       // cells of the header
	needed int       // cells that a row must have
	files  []mapping // the columns of each file in a row
	// mapped means that the table is an archive's. Its cells are lists, and a row may be longer than the header, or
	// shorter if it has the needed cells.
	mapped bool
}

var errNoHeader = errors.New(
	"the first line names no column url, and none that an archive's list has: " +
		"write a header such as url, path, size, sha256, " +
		"or say which columns to read (set Options.Map to url=COLUMN)")

// mostColumns bounds the number of columns in a header, and of elements in an array.
const mostColumns = 10_000

var errColumns = fmt.Errorf(
	"there are more than %d columns or elements: write one file on each line", mostColumns)

// newTable returns the meaning of a header.
func (r *reader) newTable(header []string) (*table, error) {
	names := plain(header...)
	t := &table{width: len(names), mapped: true}
	if t.width > mostColumns {
		return nil, errColumns
	}
	maps := r.maps
	if maps == nil {
		maps, t.mapped = mappings(names)
	}
	places := make(map[string][]int) // positions of each name
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
	case !t.mapped:
		t.needed = t.width
	default:
		for _, c := range slices.Concat(t.files...) {
			t.needed = max(t.needed, 1+c.at)
		}
	}
	return t, nil
}

// argoRoot parses a comment of Argo's lists, which names their server, and sets Base to it. A Base on another server
// stays, because that server has the same files.
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

// readTable reads a table with a header. The header may be a comment if it names a column of URLs, or has as many names
// as the first row has cells.
func (r *reader) readTable(separator string, cells func() ([]string, error)) {
	var t *table
	above := ""
	for r.next() {
		line := r.in.n
		text := r.in.text
		if comment(text) && (t != nil || r.numbered() || !r.isHeader(header(text, separator), true)) {
			r.argoRoot(text)
			above = text
			continue
		}
		values, err := cells()
		switch {
		case err != nil:
		case t != nil:
			r.row(t, line, values)
		case r.numbered():
			if t, err = r.newTable(columnNames(len(values))); err == nil {
				r.row(t, line, values)
			}
		default:
			if r.isAbove(above, text, separator, len(values)) {
				values = strings.Split(above, separator)
			}
			values[0] = strings.TrimLeft(values[0], "# ")
			t, err = r.newTable(values)
			if errors.Is(err, errNoHeader) {
				err = r.noHeader(values, cells)
			}
		}
		if err != nil {
			r.fail(line, err)
		}
		if t == nil {
			return
		}
	}
}

// isAbove reports whether the header of a table is the comment above its first line. cells is the number of cells in
// that line.
func (r *reader) isAbove(comment, first, separator string, cells int) bool {
	return r.maps != nil && comment != "" && !r.isHeader(header(first, separator), false) &&
		strings.Count(comment, separator) == cells-1
}

// row yields the files of a row of a table.
func (r *reader) row(t *table, line int, cells []string) {
	first := t.files[0]
	switch {
	case len(cells) < t.needed && r.numbered():
		r.fail(line, fmt.Errorf("there is no column %d: the line has %d", t.needed, len(cells)))
	case len(cells) < t.needed, len(cells) > t.width && !t.mapped:
		r.fail(line, fmt.Errorf(
			"the number of cells is %d in the row and %d in the header: "+
				"write one cell for each column",
			len(cells), t.width))
	// lists were joined, and this is the next header
	case t.mapped && strings.EqualFold(cells[first[0].at], first[0].shown):
	default:
		for _, file := range t.files {
			r.files(t, file, line, cells)
		}
	}
}

// files yields the files of one mapping in a row.
func (r *reader) files(t *table, file mapping, line int, cells []string) {
	lists := make([][]string, len(file))
	for i, c := range file {
		if t.mapped {
			lists[i] = elements(cells[c.at])
		} else {
			lists[i] = []string{cells[c.at]}
		}
		if n := len(lists[i]); n != 0 && n != len(lists[0]) {
			r.fail(line, fmt.Errorf(
				"the number of elements is %d in %s and %d in %s: download the list again",
				n, c.shown, len(lists[0]), file[0].shown))
			return
		}
	}
	for k := 0; k < len(lists[0]) && !r.done; k++ {
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

// restOfRecord returns the lines after the current one up to the end of an open quotation, each after a line feed. If
// the quotation does not end, restOfRecord returns "" and puts the lines back.
func (r *reader) restOfRecord() string {
	size := len(r.in.text)
	var rest []string
	for size <= maxLine && r.in.next() && !r.in.long {
		rest = append(rest, r.in.text)
		size += len(r.in.text) + 1
		if strings.Count(r.in.text, `"`)%2 != 0 {
			return "\n" + strings.Join(rest, "\n")
		}
	}
	r.in.back = append(rest, r.in.back...)
	r.in.n -= len(rest)
	return ""
}

// record returns the cells of the CSV record that begins on the current line. Blanks are part of a cell (RFC 4180). If a
// quotation does not end, only this line is lost.
func (r *reader) record() ([]string, error) {
	record := r.in.text
	if strings.Count(record, `"`)%2 != 0 {
		record += r.restOfRecord()
	}
	if !strings.Contains(record, `"`) {
		return strings.Split(record, ","), nil
	}
	cells, err := csv.NewReader(strings.NewReader(record)).Read()
	if fault, ok := errors.AsType[*csv.ParseError](err); ok {
		return nil, misquoted(fault)
	}
	return cells, err
}

// misquoted returns an error that says which quotation mark of a CSV record is wrong.
func misquoted(fault *csv.ParseError) error {
	why := `a quotation mark is not closed, or text follows it: write "" for one in a cell`
	if errors.Is(fault, csv.ErrBareQuote) {
		why = "a quotation mark in a cell that does not begin with one: " +
			`write "" for it, and " around the cell`
	}
	return fmt.Errorf("column %d: %s", fault.Column, why)
}

package manifest

import (
	"encoding/csv"
	"errors"
	"fmt"
	"strings"

	"example.com/ftpfetch/download/digest"
)

// column is what a column of a table means.
type column struct {
	name string
	kind kind
	sum  digest.Algorithm // for sumColumn
}

type kind int

const (
	otherColumn    kind = iota // is ignored
	urlColumn                  // a URL
	urlsColumn                 // URLs with white space between them
	pathColumn                 // where to save the file
	sizeColumn                 // in bytes
	sumColumn                  // hexadecimal digits
	checksumColumn             // ALGO:HEX
)

// columnOf returns the meaning of a column's name.
func columnOf(name string) column {
	lower := strings.ToLower(name)
	c := column{name: lower}
	switch lower {
	case "url":
		c.kind = urlColumn
	case "urls":
		c.kind = urlsColumn
	case "path":
		c.kind = pathColumn
	case "size":
		c.kind = sizeColumn
	case "checksum":
		c.kind = checksumColumn
	default:
		if c.sum = digest.Named(strings.TrimSuffix(lower, "sum")); c.sum != "" {
			c.kind = sumColumn
		}
	}
	return c
}

// header returns the names in a header, in lower case. A "#" before the first does
// not count.
func header(line, separator string) []string {
	line = strings.TrimLeft(strings.TrimRight(line, "\r\n"), "# ")
	names := strings.Split(line, separator)
	for i, name := range names {
		names[i] = strings.ToLower(unquote(name))
	}
	return names
}

// isHeader reports whether one of the names is that of a column of URLs.
func isHeader(names []string) bool {
	for _, name := range names {
		if k := columnOf(name).kind; k == urlColumn || k == urlsColumn || isReport(name) {
			return true
		}
	}
	return false
}

// unquote removes white space and one pair of quotes around a cell.
func unquote(cell string) string {
	cell = strings.TrimSpace(cell)
	if len(cell) >= 2 && cell[0] == '"' && cell[len(cell)-1] == '"' {
		return strings.ReplaceAll(cell[1:len(cell)-1], `""`, `"`)
	}
	return cell
}

// table is what the header of a table says.
type table struct {
	columns []column
	sets    []set // of an ENA file report; then the columns do not count
}

// newTable returns the meaning of a header.
func (r *reader) newTable(names []string) (*table, error) {
	t := &table{}
	seen := map[kind]bool{}
	for _, name := range names {
		c := columnOf(name)
		if seen[c.kind] && (c.kind == pathColumn || c.kind == sizeColumn) {
			return nil, fmt.Errorf("the column %s is there twice: leave one out", c.name)
		}
		seen[c.kind] = true
		t.columns = append(t.columns, c)
	}
	if seen[urlColumn] || seen[urlsColumn] {
		return t, nil
	}
	var err error
	t.sets, err = reportSets(names, r.Columns)
	return t, err
}

var errNoHeader = errors.New("the first line names no column url, and none that ends in _ftp: write a header such as url, path, size, sha256")

// readTable reads a table with a header.
func (r *reader) readTable(format Format) {
	separator, cells := "\t", r.tabCells
	if format == CSV {
		separator, cells = ",", r.commaCells
	}
	var t *table
	for r.next() {
		line, text := r.in.n, r.in.text
		isComment := comment(text) && (t != nil || !isHeader(header(text, separator)))
		if isComment {
			continue
		}
		values, err := cells()
		if t != nil {
			r.row(t, line, values, err)
			continue
		}
		if err == nil {
			values[0] = strings.TrimLeft(values[0], "# ")
			t, err = r.newTable(values)
		}
		if err != nil {
			r.fail(line, err)
			return
		}
	}
}

// row reads a row of a table.
func (r *reader) row(t *table, line int, cells []string, err error) {
	switch {
	case err != nil:
		r.fail(line, err)
	case len(cells) != len(t.columns):
		r.fail(line, fmt.Errorf("the line has %d cells, but the header has %d: write one cell for each column", len(cells), len(t.columns)))
	case t.sets != nil:
		r.reportRow(t, line, cells)
	default:
		d := draft{line: line}
		r.finish(&d, r.fill(&d, t.columns, cells))
	}
}

// fill reads the cells of a row.
func (r *reader) fill(d *draft, columns []column, cells []string) error {
	for i, c := range columns {
		if cells[i] == "" {
			continue
		}
		if err := r.cell(d, c, cells[i]); err != nil {
			return inField(c.name, err)
		}
	}
	return nil
}

func (r *reader) cell(d *draft, c column, text string) error {
	switch c.kind {
	case urlColumn:
		return r.addURL(d, text)
	case urlsColumn:
		for _, one := range strings.Fields(text) {
			if err := r.addURL(d, one); err != nil {
				return err
			}
		}
	case pathColumn:
		d.path = text
	case sizeColumn:
		return d.setSize(text)
	case sumColumn:
		return d.addSum(c.sum, text)
	case checksumColumn:
		sum, err := parseChecksum(text)
		if err == nil {
			d.keepStrongest(sum)
		}
		return err
	}
	return nil
}

// parseChecksum reads ALGO:HEX. Its error shows nothing of the text, which in a
// row that has slipped may be a URL with a password.
func parseChecksum(text string) (digest.Sum, error) {
	name, digits, ok := strings.Cut(text, ":")
	a := digest.Named(name)
	if !ok || a == "" {
		return digest.Sum{}, errors.New("is not a digest: write ALGO:HEX, such as md5: and 32 hexadecimal digits")
	}
	return digest.ParseHex(a, digits)
}

// addURL adds the URL that the text is.
func (r *reader) addURL(d *draft, text string) error {
	u, err := r.Parser.Parse(text)
	if err != nil {
		return err
	}
	return d.addURL(u)
}

// tabCells returns the cells of the current line.
func (r *reader) tabCells() ([]string, error) {
	cells := strings.Split(r.in.text, "\t")
	for i, cell := range cells {
		cells[i] = unquote(cell)
	}
	return cells, nil
}

// commaCells returns the cells of the record that begins on the current line. If
// a quotation mark is not closed, only this line is lost.
func (r *reader) commaCells() ([]string, error) {
	record := r.in.text
	if strings.Contains(record, `"`) {
		record = r.record()
	}
	in := csv.NewReader(strings.NewReader(record))
	cells, err := in.Read()
	if err != nil {
		return nil, csvFault(err)
	}
	for i, cell := range cells {
		cells[i] = strings.TrimSpace(cell)
	}
	return cells, nil
}

// record returns the current line and those that its quotation marks include.
func (r *reader) record() string {
	first := r.in.text
	var rest []string
	size, open := len(first), odd(first)
	for open && size <= maxLine && r.in.next() && !r.in.long {
		rest = append(rest, r.in.text)
		size += len(r.in.text) + 1
		open = open != odd(r.in.text)
	}
	if open {
		r.in.unread(rest)
		return first
	}
	return strings.Join(append([]string{first}, rest...), "\n")
}

func odd(text string) bool { return strings.Count(text, `"`)%2 != 0 }

// csvFault says what is wrong with the quotation marks of a record.
func csvFault(err error) error {
	var fault *csv.ParseError
	switch {
	case errors.As(err, &fault) && errors.Is(err, csv.ErrBareQuote):
		return fmt.Errorf(`column %d: a quotation mark in a cell that does not begin with one: write "" for it, and " around the cell`, fault.Column)
	case errors.As(err, &fault):
		return fmt.Errorf(`column %d: a quotation mark is not closed, or text follows it: write "" for one in a cell`, fault.Column)
	}
	return err
}

package manifest

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/urlparse"
)

// columns say what a cell of the column with that name tells about a file. Those
// of digests are added below.
var columns = map[string]func(r *reader, d *draft, text string) error{
	"url":  (*reader).addURL,
	"urls": (*reader).addURLs,
	"path": func(_ *reader, d *draft, text string) error { d.path = text; return nil },
	"size": func(_ *reader, d *draft, text string) error { return d.setSize(text) },
	"checksum": func(_ *reader, d *draft, text string) error {
		if name, _, ok := strings.Cut(text, ":"); !ok || digest.Named(name) == "" { // the text may be a URL with a password
			return errors.New("is not a digest: write ALGO:HEX, such as md5: and 32 hexadecimal digits")
		}
		return d.addSum(digest.Parse(text))
	},
}

// columnOf returns the name by which columns knows a column, or "".
func columnOf(name string) string {
	name = strings.ToLower(name)
	if a := digest.Named(strings.TrimSuffix(name, "sum")); a != "" {
		return string(a)
	}
	if columns[name] == nil {
		return ""
	}
	return name
}

// cell reads a cell of a column.
func (r *reader) cell(d *draft, column, text string) error {
	if text == "" || column == "" {
		return nil
	}
	if read := columns[column]; read != nil {
		return read(r, d, text)
	}
	return d.addSum(digest.Parse(column + ":" + text))
}

func (r *reader) addURL(d *draft, text string) error { return d.addURL(urlparse.Parse(text)) }

func (r *reader) addURLs(d *draft, text string) error {
	for _, one := range strings.Fields(text) {
		if err := r.addURL(d, one); err != nil {
			return err
		}
	}
	return nil
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
	return slices.ContainsFunc(names, func(name string) bool {
		return name == "url" || name == "urls" || presetOf(name) != nil
	})
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
	names []string
	sets  []set // of an archive's report; then the other columns do not count
}

// newTable returns the meaning of a header.
func (r *reader) newTable(names []string) (t *table, err error) {
	t = &table{}
	for _, name := range names {
		name = strings.ToLower(name)
		if (name == "path" || name == "size") && slices.Contains(t.names, name) {
			return nil, fmt.Errorf("the column %s is there twice: leave one out", name)
		}
		t.names = append(t.names, name)
	}
	if !slices.Contains(t.names, "url") && !slices.Contains(t.names, "urls") {
		t.sets, err = r.presets(t.names)
	}
	return t, err
}

var errNoHeader = errors.New("the first line names no column url, and none that ends in _ftp: write a header such as url, path, size, sha256")

// readTabs reads a table whose cells are separated by tabs.
func (r *reader) readTabs() {
	r.readTable("\t", func() ([]string, error) {
		cells := strings.Split(r.in.text, "\t")
		for i, cell := range cells {
			cells[i] = unquote(cell)
		}
		return cells, nil
	})
}

// readCommas reads a table whose cells are separated by commas.
func (r *reader) readCommas() { r.readTable(",", r.record) }

// readTable reads a table with a header. The header may be a comment.
func (r *reader) readTable(separator string, cells func() ([]string, error)) {
	var t *table
	for r.next() {
		line, text := r.in.n, r.in.text
		if comment(text) && (t != nil || !isHeader(header(text, separator))) {
			continue
		}
		values, err := cells()
		switch {
		case err != nil && t != nil:
			r.fail(line, err)
			continue
		case err == nil && t != nil:
			r.row(t, line, values)
			continue
		case err == nil:
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
func (r *reader) row(t *table, line int, cells []string) {
	d := draft{line: line}
	cut := len(cells) != len(t.names)
	if len(t.sets) == 1 && t.sets[0].preset == ncbi { // the header of some is shorter than the rows
		cut = len(cells) <= t.sets[0].at
	}
	switch {
	case cut:
		r.fail(line, fmt.Errorf("the line has %d cells, but the header has %d: write one cell for each column", len(cells), len(t.names)))
	case t.sets != nil:
		r.files(t, line, cells)
	default:
		var err error
		for i, name := range t.names {
			if err == nil {
				err = inField(name, r.cell(&d, columnOf(name), cells[i]))
			}
		}
		r.finish(&d, err)
	}
}

// record returns the cells of the CSV record that begins on the current line. If a
// quotation mark is not closed, only this line is lost.
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
		r.in.unread(rest)
	} else {
		record = strings.Join(append([]string{record}, rest...), "\n")
	}
	cells, err := csv.NewReader(strings.NewReader(record)).Read()
	var fault *csv.ParseError
	switch {
	case errors.As(err, &fault) && errors.Is(err, csv.ErrBareQuote):
		return nil, fmt.Errorf(`column %d: a quotation mark in a cell that does not begin with one: write "" for it, and " around the cell`, fault.Column)
	case errors.As(err, &fault):
		return nil, fmt.Errorf(`column %d: a quotation mark is not closed, or text follows it: write "" for one in a cell`, fault.Column)
	}
	for i, cell := range cells {
		cells[i] = strings.TrimSpace(cell)
	}
	return cells, err
}

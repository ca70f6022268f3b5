package manifest

import (
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/internal/algorithm"
	"example.com/ftpfetch/urlparse"
)

// columns say what a cell of the column with that name tells about a file.
var columns = map[string]func(i *Item, text string) error{
	"url": func(i *Item, text string) error { return i.addURL(urlparse.Parse(text)) },
	"urls": func(i *Item, text string) error {
		for one := range strings.FieldsSeq(text) {
			if err := i.addURL(urlparse.Parse(one)); err != nil {
				return err
			}
		}
		return nil
	},
	"path": func(i *Item, text string) error { i.Path = text; return nil },
	"size": (*Item).setSize,
	"checksum": func(i *Item, text string) error {
		if name, _, ok := strings.Cut(text, ":"); !ok || algorithm.Named(name) == "" { // the text may be a URL with a password
			return errors.New("is not a digest: write ALGO:HEX, such as md5: and 32 hexadecimal digits")
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

// header returns the names in a header, in lower case. A "#" before the first does not count.
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
		return name == "url" || name == "urls" || reports(name)
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
	names  []string
	files  [][]column // the columns of each file in a row
	report bool       // an archive's: cells are lists, and other columns do not count
	open   bool       // a row may have more cells, because the header of some is shorter
}

// column is a column of a table, and what its cells tell.
type column struct {
	at   int
	name string
	tell func(i *Item, text string) error
}

var errNoHeader = errors.New("the first line names no column url, and none that ends in _ftp: write a header such as url, path, size, sha256")

// newTable returns the meaning of a header.
func (r *reader) newTable(names []string) (*table, error) {
	for i, name := range names {
		names[i] = strings.ToLower(name)
		if (names[i] == "path" || names[i] == "size") && slices.Contains(names[:i], names[i]) {
			return nil, fmt.Errorf("the column %s is there twice: leave one out", names[i])
		}
	}
	if !slices.Contains(names, "url") && !slices.Contains(names, "urls") {
		return r.report(names)
	}
	var file []column
	for i, name := range names {
		if tell := cellOf(name); tell != nil {
			file = append(file, column{i, name, tell})
		}
	}
	return &table{names: names, files: [][]column{file}}, nil
}

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
	if len(cells) != len(t.names) && !(t.open && len(cells) > t.files[0][0].at) {
		r.fail(line, fmt.Errorf("the line has %d cells, but the header has %d: write one cell for each column", len(cells), len(t.names)))
		return
	}
	for _, file := range t.files {
		lists, n := make([][]string, len(file)), 1
		for i, c := range file {
			if lists[i] = []string{cells[c.at]}; !t.report {
				continue
			}
			if lists[i] = elements(cells[c.at]); i == 0 {
				n = len(lists[0])
			} else if len(lists[i]) != 0 && len(lists[i]) != n {
				r.fail(line, fmt.Errorf("%s has %d elements, but %s has %d: download the report again", c.name, len(lists[i]), file[0].name, n))
				n = 0
				break
			}
		}
		for k := range n {
			item, err := Item{Line: line}, error(nil)
			for i, c := range file {
				if err == nil && k < len(lists[i]) && (lists[i][k] != "" || t.report && i == 0) {
					err = inField(c.name, c.tell(&item, lists[i][k]))
				}
			}
			if r.finish(item, err); err != nil && t.open {
				return // the same is wrong with the row's other files
			}
		}
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

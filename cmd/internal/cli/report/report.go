// Package report writes what happened to each file of a run: the rows of --report, which docs/many.md documents.
package report

import (
	"bufio"
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/printable"
)

// File is a report: a table, or a JSON object per line for each file.
type File struct {
	to     io.Writer
	file   *os.File      // nil on standard output
	buffer *bufio.Writer // is to; nil: each row is written at once
	dir    string        // the directory of the paths
	form   string        // ".tsv" or ".csv" for a table
}

// Create creates the file of a report about files below dir. The report is a table if name ends in .tsv or .csv; "-" is
// standard output. Create replaces an older report, but no other file, which may be the list of the run or a file that
// an earlier run fetched.
func Create(name, dir string, stdout io.Writer) (*File, error) {
	f := &File{to: stdout, dir: dir, form: strings.ToLower(filepath.Ext(name))}
	if name == "-" {
		return f, nil
	}
	info, err := os.Stat(name)
	if err == nil && info.Mode().IsRegular() && info.Size() > 0 && !isReport(name) {
		return nil, errors.New("it exists and is not a report: choose another name for --report")
	}
	file, err := os.Create(name)
	if err != nil {
		return nil, err
	}
	f.to, f.file = file, file
	if f.isTable() {
		_, err = file.Write(f.join(strings.Split(heading, ",")))
	}
	return f, err
}

func (f *File) isTable() bool { return f.form == ".tsv" || f.form == ".csv" }

// join returns a line of a table with these cells.
func (f *File) join(cells []string) []byte {
	if f.form == ".tsv" {
		return []byte(strings.Join(cells, "\t") + "\n")
	}
	var line bytes.Buffer
	_ = csv.NewWriter(&line).WriteAll([][]string{cells}) // writing to a buffer cannot fail
	return line.Bytes()
}

// heading names the columns of a table.
const heading = "line,url,path,status,size,sum,verified,error,code,checked,encoded"

func isReport(name string) bool {
	file, err := os.Open(name)
	if err != nil {
		return false
	}
	defer file.Close()
	const begins = "line,url,path,status,size,sum," // reports of all versions
	text, _ := io.ReadAll(io.LimitReader(file, int64(len(begins))))
	return strings.ReplaceAll(string(text), "\t", ",") == begins || strings.HasPrefix(string(text), `{"version":`)
}

// Row is the outcome for a file, or for a link that was not followed.
type Row struct {
	Version  int         `json:"version"`
	Line     int         `json:"line,omitempty"`
	URL      string      `json:"url"`
	Path     string      `json:"path,omitempty"`
	Status   string      `json:"status"` // complete, before, once, failed or link
	Size     json.Number `json:"size,omitempty"`
	Sum      string      `json:"sum,omitempty"`
	Verified string      `json:"verified,omitempty"`
	Checked  string      `json:"checked,omitempty"` // time of the check
	Error    string      `json:"error,omitempty"`
	Code     int         `json:"code,omitempty"`
	// Encoded is the path with its octets encoded as in a URL, if Path does not show all of them; else "".
	Encoded string `json:"encoded,omitempty"`
}

// At returns the row for a file at path.
func (x Row) At(path string) Row {
	x.Path = path
	if !utf8.ValidString(path) { // JSON cannot show it
		x.Encoded = encoded(path)
	}
	return x
}

// Add writes the row for the end of a task. text and code describe its error. The row shows no password.
func (f *File) Add(e download.Event, text string, code int) error {
	x := RowOf(e, text, code)
	return f.Write(x.At(filepath.Join(f.dir, x.Path)))
}

// RowOf returns the row for the end of a task, as Add writes it, with the path of the task.
func RowOf(e download.Event, text string, code int) Row {
	u := e.Task.URLs[0].WithoutPassword()
	x := Row{
		Version: 1,
		Line:    e.Task.Line,
		URL:     u.String(),
		Path:    e.Task.Path,
		Status:  "complete",
	}
	switch {
	case e.Err == nil && e.Text != "":
		x.Status = "link"
		x.Error = e.Text
	case e.Err != nil:
		x.Status = "failed"
		x.Error = text
		x.Code = code
		x.URL = u.Redacted() // the path of a URL that failed may be a password
	default:
		if e.Result.Size >= 0 {
			x.Size = json.Number(strconv.FormatInt(e.Result.Size, 10))
		}
		x.Sum = e.Result.Sum.String()
		x.Verified = e.Result.Verified
		if !e.Result.Checked.IsZero() {
			x.Checked = e.Result.Checked.Format(time.RFC3339)
		}
		switch e.Result.Left {
		case "":
		case download.LeftBefore:
			x.Status = "once"
		default:
			x.Status = "before"
		}
	}
	return x
}

// Write writes a row.
func (f *File) Write(x Row) error {
	var line []byte
	if x.Encoded == "" && !f.shows(x.Path) {
		x.Encoded = encoded(x.Path)
	}
	if f.isTable() {
		cells := []string{
			strconv.Itoa(x.Line), x.URL, x.Path, x.Status, x.Size.String(), x.Sum, x.Verified,
			x.Error, strconv.Itoa(x.Code), x.Checked, x.Encoded,
		}
		for i, cell := range cells {
			cells[i] = printable.Line(cell)
		}
		line = f.join(cells)
	} else {
		line = printable.JSON(x)
	}
	_, err := f.to.Write(line)
	return err
}

// shows reports whether a program that reads the report gets the path from its cell or member, octet for octet.
func (f *File) shows(path string) bool {
	if f.isTable() { // whose reader may ignore blanks and quotes around a cell
		return printable.Line(path) == path && strings.Trim(path, `" `) == path
	}
	return utf8.ValidString(path)
}

// encoded returns a path with each octet that does not stand for itself in every URL as "%" and two digits.
func encoded(path string) string {
	components := strings.Split(filepath.ToSlash(path), "/")
	for i, name := range components {
		components[i] = url.PathEscape(name)
	}
	return strings.Join(components, "/")
}

// Info describes the file; nil means that there is none.
func (f *File) Info() fs.FileInfo {
	if f == nil || f.file == nil {
		return nil
	}
	info, _ := f.file.Stat()
	return info
}

// Buffer has the rows written in large pieces: the last ones are in the report only after Close.
func (f *File) Buffer() {
	f.buffer = bufio.NewWriterSize(f.to, 1<<16)
	f.to = f.buffer
}

// Close writes the last rows and closes the file.
func (f *File) Close() (err error) {
	if f.buffer != nil {
		err = f.buffer.Flush()
	}
	if f.file != nil {
		err = errors.Join(err, f.file.Close())
	}
	return err
}

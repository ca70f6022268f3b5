package cli

import (
	"bytes"
	"cmp"
	"errors"
	"io"
	"path/filepath"

	"example.com/ftpfetch/internal/cli/show"
	"example.com/ftpfetch/internal/printable"
)

// astray tells who redirects standard output, as other programs want it, where the files are: the output is empty.
func (r *run) astray() {
	if r.last == "" || r.last == "-" || r.Report == "-" || !show.IsTerminal(r.Err) || show.IsTerminal(r.Out) || show.IsNull(r.Out) {
		return
	}
	text := "saved as " + printable.Line(r.last) + "; standard output is empty (-o - writes there)"
	if r.Many {
		text = "saved in " + printable.Line(filepath.ToSlash(cmp.Or(r.Dir, "."))) + "/; standard output is empty"
	}
	r.print.Note(show.Notice, "", text)
}

// readable is a terminal on which a file is shown. It refuses one whose beginning is no text.
type readable struct {
	io.Writer
	begun bool
}

func (s *readable) Write(data []byte) (int, error) {
	if !s.begun && bytes.IndexByte(data, 0) >= 0 {
		return 0, errors.New("it is a terminal, and the file is no text (-o FILE saves it, -o /dev/tty shows it)")
	}
	s.begun = true
	return s.Writer.Write(data)
}

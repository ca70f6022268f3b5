package cli

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"

	"example.com/ftpfetch/cmd/internal/mirror"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// listDir writes a directory to w, one entry per line: the name, escaped on a terminal, or with -l all that the server
// tells. With a tree, it lists what the patterns of the tree match. A try that failed and is repeated has written
// nothing.
func (r *run) listDir(ctx context.Context, u *urlparse.URL, tree *download.Tree, w io.Writer, terminal bool) error {
	return r.again(ctx, func() error {
		out := bufio.NewWriterSize(w, 64<<10)
		d := directory{run: r, u: u, out: out, terminal: terminal, sort: "none", told: true}
		entries := r.source.List
		if r.Long || terminal && u.Type != urlparse.TypeDir { // to mark directories; ";type=d" means NLST
			source := &mirror.Source{FullSource: r.source, Filter: r.FilterAt(time.Now()), Dates: true, Forgets: true}
			entries = source.Entries
			d.sort = cmp.Or(r.Sort, "name")
			d.told = false
			if tree != nil {
				m := matches{run: r, tree: tree, source: source}
				entries = m.entries
				d.below = true
			}
		}
		for e, err := range entries(ctx, u) {
			if err = d.add(e, err); err != nil {
				return errors.Join(err, d.out.Flush())
			}
		}
		return d.end()
	})
}

// directory is a directory that is being listed.
type directory struct {
	run      *run
	u        *urlparse.URL
	out      *bufio.Writer
	terminal bool
	sort     string
	kept     shelf
	line     []byte // where the next line is made
	odd      int    // lines that cannot be read
	names    int    // number of entries
	told     bool   // an entry had more than its name, or no more was asked for
	modes    bool   // an entry had permissions; if the entries are not kept, the first one
	headed   bool   // its heading is written
	below    bool   // the names of entries are paths below u
}

// add writes an entry, or keeps it for sorting. It continues after a line that cannot be read.
func (d *directory) add(e ftpexec.Entry, err error) error {
	switch {
	case errors.Is(err, ftpexec.ErrLine):
		d.odd++
		d.run.print.Failed(d.u.Redacted(), err, "")
		if d.run.JSON {
			text, _ := Explain(err)
			_, err = d.out.Write(printable.JSON(row{URL: d.u.Redacted(), Error: text}))
			return err
		}
		return nil
	case err != nil:
		return err
	}
	d.names++
	d.told = d.told || e.Mode != fs.ModeIrregular || e.Size >= 0 || e.Precision > 0
	if d.sort == "none" {
		d.modes = d.modes || d.names == 1 && e.HasPerm
		return d.write(e)
	}
	d.modes = d.modes || e.HasPerm
	d.kept.add(e)
	return nil
}

// head writes the URL above what -l shows of several directories, as ls does.
func (d *directory) head() {
	if d.headed || !d.run.Long || d.run.JSON || len(d.run.Targets) < 2 {
		return
	}
	d.headed = true
	if d.run.listed > 0 {
		_ = d.out.WriteByte('\n')
	}
	d.run.listed++
	_, _ = d.out.WriteString(d.u.Redacted() + ":\n") // Flush returns the error
}

// write writes the line for an entry.
func (d *directory) write(e ftpexec.Entry) error {
	d.head()
	d.line = d.run.appendLine(d.line[:0], e, d.terminal, d.modes)
	_, err := d.out.Write(d.line)
	return err
}

// urlOf returns the URL of an entry.
func (d *directory) urlOf(e ftpexec.Entry) *urlparse.URL {
	in := d.u
	if d.below {
		for name := range strings.SplitSeq(path.Dir(e.Name), "/") {
			if name != "." {
				in = in.Child(localfile.Segment(name), urlparse.TypeDir)
			}
		}
	}
	kind := urlparse.Typecode("")
	if e.Mode.IsDir() {
		kind = urlparse.TypeDir
	}
	return in.Child(path.Base(e.Name), kind)
}

// end writes the kept entries in order. It returns an error if lines could not be read, and reports once per run that
// the server told only names.
func (d *directory) end() error {
	d.head()
	for e := range d.kept.sorted(d.sort, d.run.Reverse) {
		if d.run.JSON {
			e.URL = d.urlOf(e)
		}
		_ = d.write(e) // Flush returns the error
	}
	if d.names > 0 && !d.told {
		d.run.namesAlone.Do(func() {
			d.run.print.Tell(d.u.Redacted() + ": the server lists only names, without types, sizes and times")
		})
	}
	var odd error
	if d.odd > 0 {
		lines := printable.Count(int64(d.odd), "line", "lines")
		odd = fmt.Errorf("%s of the listing could not be read%.0w", lines, ftpexec.ErrLine)
	}
	return errors.Join(d.out.Flush(), odd)
}

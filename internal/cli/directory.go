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
	"slices"
	"strings"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// compare compares entries in the order that --sort names. Their names decide between equal ones.
func compare(by string, a, b ftpexec.Entry) int {
	order := 0
	switch by {
	case "time":
		order = b.ModTime.Compare(a.ModTime)
	case "size":
		order = cmp.Compare(b.Size, a.Size)
	}
	return cmp.Or(order, cmp.Compare(a.Name, b.Name))
}

// listDir writes a directory to w, one entry per line: the name, escaped on a terminal, or with -l all that the server
// tells. A try that failed and is repeated has written nothing.
func (r *run) listDir(ctx context.Context, u *urlparse.URL, w io.Writer, terminal bool) error {
	return r.again(ctx, func() error {
		d := directory{run: r, u: u, out: bufio.NewWriter(w), terminal: terminal, sort: "none", told: true}
		entries := r.source.List
		if r.Long || terminal && u.Type != urlparse.TypeDir { // to mark directories; ";type=d" means NLST
			entries = r.source.Entries
			d.sort = cmp.Or(r.Sort, "name")
			d.told = false
		}
		for e, err := range entries(ctx, u) {
			if err = d.take(e, err); err != nil {
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
	all      []*kept
	block    []kept // the newest part of all: one array for a million would be copied each time it grows
	odd      int    // lines that cannot be read
	names    int    // number of entries
	told     bool   // an entry had more than its name, or no more was asked for
}

// take writes an entry, or keeps it for sorting. It continues after a line that cannot be read.
func (d *directory) take(e ftpexec.Entry, err error) error {
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
		_, err = d.out.Write(d.run.lineOf(e, d.terminal))
		return err
	}
	if len(d.block) == cap(d.block) {
		d.block = make([]kept, 0, 4096)
	}
	k := kept{
		name:      strings.Clone(e.Name),
		target:    strings.Clone(e.Target),
		size:      e.Size,
		time:      e.ModTime,
		precision: e.Precision,
		mode:      e.Mode,
		perm:      e.HasPerm,
		local:     e.Local,
	}
	d.block = append(d.block, k)
	d.all = append(d.all, &d.block[len(d.block)-1])
	return nil
}

// end writes the kept entries in order. It returns an error if lines could not be read, and reports once per run that
// the server told only names.
func (d *directory) end() error {
	slices.SortStableFunc(d.all, func(a, b *kept) int { return compare(d.sort, a.entry(), b.entry()) })
	if d.run.Reverse {
		slices.Reverse(d.all)
	}
	for _, k := range d.all {
		e := k.entry()
		if d.run.JSON {
			kind := urlparse.Typecode("")
			if e.Mode.IsDir() {
				kind = urlparse.TypeDir
			}
			e.URL = d.u.Child(path.Base(e.Name), kind)
		}
		_, _ = d.out.Write(d.run.lineOf(e, d.terminal)) // Flush returns the error
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

// kept is what is kept of an entry. It holds nothing of the line that the server sent, because there may be a million
// entries.
type kept struct {
	name, target string
	size         int64
	time         time.Time
	precision    time.Duration
	mode         fs.FileMode
	perm, local  bool
}

func (k *kept) entry() ftpexec.Entry {
	return ftpexec.Entry{
		Name:      k.name,
		Target:    k.target,
		Size:      k.size,
		ModTime:   k.time,
		Precision: k.precision,
		Mode:      k.mode,
		HasPerm:   k.perm,
		Local:     k.local,
	}
}

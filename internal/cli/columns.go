package cli

import (
	"io/fs"

	"github.com/mattn/go-runewidth"

	"example.com/ftpfetch/internal/cli/show"
	"example.com/ftpfetch/internal/printable"
)

// columnsOf returns how many columns of a terminal the entries need with their days.
func columnsOf(all []*kept) (columns int) {
	for _, k := range all {
		name := printable.Line(k.name + " -> "[:min(4, 4*len(k.target))] + k.target + "/")
		columns = max(columns, len("d         8  2026-01-02  ")+runewidth.StringWidth(name))
	}
	return columns
}

// colored returns a name of this type as a terminal shows it.
func (r *run) colored(of fs.FileMode, name string) string {
	switch of {
	case fs.ModeDir:
		return r.print.Paint(show.Blue, name)
	case fs.ModeSymlink:
		return r.print.Paint(show.Cyan, name)
	}
	return name
}

package listing

import (
	"io/fs"
	"strings"
)

// dataSet reads a line about a data set of z/OS, perhaps one that is not mounted. A partitioned one is a directory. The
// date is the date of the last use, and the size counts tracks, so dataSet ignores both.
func dataSet(_ *Reader, m []string) (Item, error) {
	item := Item{Name: strings.Trim(m[2], "'"), Size: -1, Mode: fs.ModeIrregular}
	switch m[1] {
	case "PO", "PO-E", "Pseudo Directory":
		item.Mode = fs.ModeDir
	case "PS", "PS-E", "DA", "VS", "IS":
		item.Mode = 0
	}
	return item, nil
}

// job reads a line about a job of the z/OS spool.
func job(*Reader, []string) (Item, error) { return Item{}, errJob }

// ibmi reads a line of IBM i, "QSYS  77824 02/23/00 15:09:55 *DIR  name/". The job's settings decide the order of the
// date, so ibmi ignores an ambiguous date. A *FILE may hold members or be a file.
func ibmi(r *Reader, m []string) (Item, error) {
	item := Item{Name: m[8], Size: -1}
	item.setDate(m[2:], false, strings.ReplaceAll(m[6], ".", ":"))
	switch m[7] {
	case "DIR", "DDIR", "LIB", "FLR":
		item.Mode = fs.ModeDir
	case "FILE":
		item.Mode = fs.ModeIrregular
		if _, ok := r.files[item.Name]; ok {
			return r.file(item)
		}
	case "MEM":
		file, member, path := strings.Cut(item.Name, "/")
		switch {
		case path && file == r.dir:
			item.Name = member
		case path:
			return r.file(Item{Name: file, Size: -1})
		}
	default:
		item.Size = size(m[1])
	}
	return item, nil
}

// file returns a file that has members as a directory, unless it has been returned already: CWD enters the file, and
// LIST then lists the members.
func (r *Reader) file(item Item) (Item, error) {
	returned := r.files[item.Name]
	r.files[item.Name] = true
	item.Mode = fs.ModeDir
	if returned {
		return Item{}, ErrNoEntry
	}
	return item, nil
}

// zvm reads a line of z/VM, "PROFILE  EXEC     V  30  58  1 2006-10-12 13:40:23 -". A dot joins a name and its type.
// The sizes count records.
func zvm(_ *Reader, m []string) (Item, error) {
	item := Item{Name: m[1] + "." + m[2], Size: -1}
	if m[2] == "DIR" {
		item.Name = m[1]
		item.Mode = fs.ModeDir
	}
	item.setDate(m[3:], true, m[7])
	return item, nil
}

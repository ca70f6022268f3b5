// Package listing reads the lines of directory listings. RFC 3659 section 7 defines the format of MLSD. Every server
// chooses its own format for LIST. The package uses no network.
package listing

import (
	"errors"
	"io/fs"
	"strings"
	"time"

	"example.com/ftpfetch/internal/lazy"
)

// Item is what a line says about one entry of a directory.
type Item struct {
	Name string // byte for byte as in the line, except for z/VM, which writes a name as two words

	// Mode has the type bits: fs.ModeIrregular if the type is unknown. It has the permission bits if HasPerm is set.
	Mode    fs.FileMode
	HasPerm bool

	Size      int64         // of a file, in bytes; -1 if unknown
	Time      time.Time     // of modification; zero if unknown
	Precision time.Duration // the unit of Time; 0 if there is no Time
	UTC       bool          // Time is in UTC, not the server's local time written as if it were UTC

	// the line has no year, and Time, the last such day, is so long ago that ls would have written the year
	Guessed bool

	Target string // of a symbolic link; "" if unknown
	Unique string // the MLSD fact unique, or the EPLF fact i; "" if unknown

	Doubt bool // nothing shows where Name begins and ends
}

// What may stand before a name: the zone or the half of the day of a time, and a part or the unit of a size.
var (
	zone   = lazy.Regexp(`^(?:[AP]M|[A-Z]{1,4}T|UTC|[-+]\d\d:?\d\d) +`)
	ofSize = lazy.Regexp(`^(?:\d{3}|[KMG]?B) +`)
)

// Shorten removes from a name in doubt what may not belong to it. It returns false if the name has no such part.
func (item *Item) Shorten() bool {
	before := item.Name
	switch {
	case zone().MatchString(before):
		item.Name = zone().ReplaceAllString(before, "")
		item.Time = time.Time{}
		item.Precision = 0
	case ofSize().MatchString(before):
		item.Name = ofSize().ReplaceAllString(before, "")
		item.Size = -1
	case item.marked():
		item.Name = strings.TrimSuffix(before, "*")
	}
	return item.Name != before
}

// The errors of MLSD and LIST.
var (
	// ErrUnknown is the error of a line that may name an entry.
	ErrUnknown = errors.New("format not known")
	// ErrNoEntry is the error of a heading, a sum, the directory itself or its parent.
	ErrNoEntry = errors.New("line without an entry")
)

// named returns item, unless its name is empty or names the directory itself or its parent.
func named(item Item) (Item, error) {
	switch item.Name {
	case "":
		return Item{}, ErrUnknown
	case ".", "..", "./", "../":
		return Item{}, ErrNoEntry
	}
	if item.Mode.Type()&^fs.ModeIrregular != 0 {
		item.Size = -1 // it is the size of the directory's or the link's own record
	}
	return item, nil
}

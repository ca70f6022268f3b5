// Package listing reads the lines of directory listings: those of MLSD, whose format RFC 3659 section 7 defines, and
// those of LIST, whose format every server chooses for itself. It uses no network.
package listing

import (
	"errors"
	"io/fs"
	"strings"
	"time"

	"example.com/ftpfetch/internal/lazy"
)

// Item is what a line tells about one entry of a directory.
type Item struct {
	Name string // byte for byte as in the line, but for z/VM, which writes a name as two words

	// Mode has the type bits: fs.ModeIrregular if the type is unknown. It has the permission bits if HasPerm is set.
	Mode    fs.FileMode
	HasPerm bool

	Size      int64         // of a file, in bytes; -1 if not told
	Time      time.Time     // of modification; zero if not told
	Precision time.Duration // the unit of Time; 0 if there is no Time
	UTC       bool          // Time is in UTC; otherwise it is the server's local time, written as if it were UTC

	Target string // of a symbolic link; "" if not told
	Unique string // the MLSD fact unique, or the EPLF fact i; "" if not told

	Doubt bool // nothing shows where Name begins and ends
}

// What may stand before a name: the zone or the half of the day of a time, and a part or the unit of a size.
var (
	zone   = lazy.Regexp(`^(?:[AP]M|[A-Z]{1,4}T|UTC|[-+]\d\d:?\d\d) +`)
	ofSize = lazy.Regexp(`^(?:\d{3}|[KMG]?B) +`)
)

// Shorten takes from a name in doubt what may not belong to it. It returns false if there is nothing like that.
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
	ErrUnknown = errors.New("format not known")      // the line may name an entry
	ErrNoEntry = errors.New("line without an entry") // a heading, a sum, the directory itself or its parent
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
		item.Size = -1 // of the directory's or the link's own record
	}
	return item, nil
}

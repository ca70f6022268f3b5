// Package listing reads the lines of directory listings: those of MLSD, whose format RFC 3659 section 7 defines, and
// those of LIST, whose format every server chooses for itself. It uses no network.
package listing

import (
	"errors"
	"io/fs"
	"iter"
	"regexp"
	"sync"
	"time"
)

// Item is what a line tells about one entry of a directory.
type Item struct {
	Name string // byte for byte as in the line

	// Mode has the type bits: fs.ModeIrregular if the type is unknown. It has the permission bits if HasPerm is set.
	Mode    fs.FileMode
	HasPerm bool
	Access  string // the MLSD fact perm: what this login may do; "" if not told

	Size      int64         // of a file, in bytes; -1 if not told
	Time      time.Time     // of modification; zero if not told
	Precision time.Duration // the unit of Time; 0 if there is no Time
	UTC       bool          // Time is in UTC; otherwise it is the server's local time, written as if it were UTC

	Target string // of a symbolic link; "" if not told
	Unique string // the MLSD fact unique, or the EPLF fact i; "" if not told
}

// The errors of MLSD and LIST.
var (
	ErrUnknown = errors.New("format not known")      // the line may name an entry
	ErrNoEntry = errors.New("line without an entry") // a heading, a sum, the directory itself or its parent
)

// vmsName matches a file name of VMS that stands alone, because what belongs to it did not fit on its line.
var vmsName = lazy(`^[^\s;]+;\d+\s*$`)

// Lines yields the lines of a listing by LIST. It joins an entry of VMS that takes two lines.
func Lines(lines []string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := 0; i < len(lines); i++ {
			line := lines[i]
			if i+1 < len(lines) && vmsName().MatchString(line) && vms().MatchString(line+" "+lines[i+1]) {
				i++
				line += " " + lines[i]
			}
			if !yield(line) {
				return
			}
		}
	}
}

// entry returns item, unless its name is empty or names the directory itself or its parent.
func entry(item Item) (Item, error) {
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

// lazy compiles a regular expression when it is first used: dozens of them, of which a run needs few, take milliseconds.
func lazy(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}

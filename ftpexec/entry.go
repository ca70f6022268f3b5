package ftpexec

import (
	"io/fs"
	"strconv"
	"strings"
	"time"

	"example.com/ftpfetch/ftpexec/internal/listing"
	"example.com/ftpfetch/ftpexec/internal/wire"
	"example.com/ftpfetch/urlparse"
)

// Entry is one entry of a directory: a file, a directory, a symbolic link or something else. [Client.Entries] fills the
// fields with what the server tells; [Client.List] knows only the first three.
type Entry struct {
	Name string        // as the server sent it: a name, or from NLST a path such as "dir/name"
	Base string        // the last component of Name
	URL  *urlparse.URL // the URL of the entry in the listed directory; it ends in "/" if the entry is a directory

	// Mode has the type, and the permissions if HasPerm is set. The type is fs.ModeIrregular if it is unknown, because
	// the server did not tell it or this package does not know it.
	Mode    fs.FileMode
	HasPerm bool

	Size      int64         // of a file, in bytes; -1 if not told, and for everything but a file
	ModTime   time.Time     // zero if not told
	Precision time.Duration // the unit in which ModTime was told, from a nanosecond to 24 hours; 0 if it was not
	Local     bool          // ModTime is in the server's local time, which is written here as UTC: only a hint

	Target string // of a symbolic link, as the server sent it; "" if not told
	Unique string // the same for two entries that are the same file on the server; "" if not told
}

// untold returns the entry for u before the server has told anything.
func untold(u *urlparse.URL) Entry {
	return Entry{Name: u.Name, Base: u.Name, URL: u, Mode: fs.ModeIrregular, Size: -1}
}

// learn takes the value from a reply to SIZE or MDTM.
func (e *Entry) learn(verb string, r wire.Reply) {
	if n, ok := sizeIn(r); ok && verb == "SIZE" {
		e.Size, e.Mode = n, 0
	}
	if t, ok := timeIn(r); ok && verb == "MDTM" {
		e.ModTime, e.Precision = t, time.Second
	}
}

// announced finds the size in the preliminary reply to RETR, which most servers word "... file (1234 bytes)".
var announced = lazy(`\((\d{1,18}) bytes\)`)

// opened takes the size from r, the first reply to RETR, if SIZE has not told it. With an offset the number may be that
// of the rest of the file, so it does not count.
func (e *Entry) opened(r *Reply, offset int64) {
	if e.Size >= 0 || offset > 0 {
		return
	}
	if m := announced().FindAllStringSubmatch(r.words(), -1); m != nil {
		e.Size, _ = strconv.ParseInt(m[len(m)-1][1], 10, 64)
	}
}

// nameOnly returns the entry for a name or path from NLST.
func nameOnly(dir *urlparse.URL, name string) Entry {
	base := base(name)
	return Entry{Name: name, Base: base, URL: dir.Child(base, urlparse.TypeNone), Mode: fs.ModeIrregular, Size: -1}
}

// entryOf returns the entry for an item of MLSD or LIST. Its name may end in a "/" that marks a directory.
func entryOf(dir *urlparse.URL, item listing.Item) Entry {
	base, kind := strings.TrimSuffix(item.Name, "/"), urlparse.TypeNone
	if item.Mode.IsDir() {
		kind = urlparse.TypeDir
	}
	return Entry{Name: item.Name, Base: base, URL: dir.Child(base, kind), Mode: item.Mode, HasPerm: item.HasPerm, Size: item.Size,
		ModTime: item.Time, Precision: item.Precision, Local: item.Precision > 0 && !item.UTC, Target: item.Target, Unique: item.Unique}
}

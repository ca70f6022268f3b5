// Package listing reads the lines of directory listings: those of MLSD, whose format RFC 3659 section 7 defines, and
// those of LIST, whose format every server chooses for itself. It uses no network.
package listing

import (
	"errors"
	"io/fs"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/ftpfetch/internal/lazy"
)

// Item is what a line tells about one entry of a directory.
type Item struct {
	Name string // byte for byte as in the line

	// Mode has the type bits: fs.ModeIrregular if the type is unknown. It has the permission bits if HasPerm is set.
	Mode    fs.FileMode
	HasPerm bool

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
var vmsName = lazy.Regexp(`^[^\s;]+;\d+\s*$`)

// Lines returns the lines of a listing by LIST, with an entry of VMS that takes two lines on one.
func Lines(lines []string) (all []string) {
	if !slices.ContainsFunc(lines, vmsName().MatchString) {
		return lines
	}
	for _, line := range lines {
		last := len(all) - 1
		if last >= 0 && vmsName().MatchString(all[last]) && vms().MatchString(all[last]+" "+line) {
			all[last] += " " + line
		} else {
			all = append(all, line)
		}
	}
	return all
}

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

// formats are the formats of LIST but that of ls, the most common ones first. No pattern matches a line of another format.
// read gets what the pattern has found.
var formats = []struct {
	pattern func() *regexp.Regexp
	read    func(found []string) (item Item, ok bool)
}{
	{lazy.Regexp(`^ *(\d{1,4})([-/.])(\d{1,2})[-/.](\d{2,4}) +(\d{1,2}:\d\d(?::\d\d)?) ?([AaPp][Mm]?)? +` +
		`(?:<([A-Z]+)>|([\d,.]+))( +)(.+)$`), dos},
	{lazy.Regexp(`^\+([^\t]*)\t(?s:(.*))$`), eplf},
	{vms, openVMS},
	{lazy.Regexp(`^ *\S+ +(?:Tape +|\S+ +(?:VSAM +|` +
		`(?:\d{4}/\d\d/\d\d|\*\*NONE\*\*) .* (PS|PO|PO-E|PS-E|DA|VS|IS) +))('?[^ ']+'?)$`), dataSet},
	{lazy.Regexp(`^ *(Migrated|ARCIVE|Pseudo Directory|GDG)[ \t].*?([^\s']+'?)$`), dataSet},
	{lazy.Regexp(`^ *(\S{1,8}) +\d\d\.\d\d +\d{4}/\d\d/\d\d +` +
		`(\d{4})/(\d\d)/(\d\d) +(\d\d:\d\d(?::\d\d)?)(?: +\d+){3} +\S+$`), member},
	{lazy.Regexp(`^\S+ +(?:(\d+) +(\d\d)([/.])(\d\d)[/.](\d\d) +(\d\d:\d\d:\d\d) +)?` +
		`\*([A-Z]+) +(\S.*?)/? *$`), as400},
	{lazy.Regexp(`^ *(\d+) +(?:(DIR)\b)?[ A-Z]* (\d\d)-(\d\d)-(\d{2,3}) +(\d\d:\d\d)  ?(.+)$`), os2},
}

// vms matches a line of VMS.
var vms = lazy.Regexp(`^([^\s;]+)(;\d+)\s+(?:\d+(?:/\d+)?K?\s+)?` +
	`(\d{1,2})-([A-Za-z]{3})-(\d{4})(?:\s+(\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?))?(?:\s|$)`)

// headings match the lines that name no entry: the sum of ls -l, and the headings and sums of VMS and z/OS.
var headings = lazy.Regexp(`^\s*$|^(?i:total|insgesamt|totale|totaal|итого|合計|总用量) +[\d.,]+ ?[KMGTkmgt]?$|` +
	`^Directory \S*\[.*\]\s*$|^Total of \d+ [Ff]iles?\b|^ ?Volume +Unit +Referred |^ ?Name +VV\.MM +Created `)

// LIST reads a line of LIST in whichever format it has. A time without a year is the last such time before now.
func LIST(line string, now time.Time) (Item, error) {
	if item, ok := unix(line, now); ok {
		return named(item)
	}
	for _, format := range formats {
		if found := format.pattern().FindStringSubmatch(line); found != nil {
			if item, ok := format.read(found); ok {
				return named(item)
			}
		}
	}
	if headings().MatchString(line) {
		return Item{}, ErrNoEntry
	}
	return Item{}, ErrUnknown
}

// dos reads the DIR style of IIS, "01-02-06  03:04PM       <DIR>          name". The year may have four digits, and then it
// may come first.
func dos(m []string) (item Item, ok bool) {
	y := century(m[4])
	mon := number(m[1])
	dom := number(m[3])
	switch {
	case len(m[1]) == 4:
		y = number(m[1])
		mon = number(m[3])
		dom = number(m[4])
	case m[2] == "." || mon > 12:
		mon, dom = dom, mon
	}
	item = Item{Size: -1}
	gap := 10 // spaces that IIS writes between <DIR> and the name
	switch kind := m[7]; {
	case kind == "":
		gap = 1
		item.Size = size(strings.NewReplacer(",", "", ".", "").Replace(m[8]))
	case kind == "DIR":
		item.Mode = fs.ModeDir
	case strings.HasPrefix(kind, "SYMLINK") || kind == "JUNCTION":
		item.Mode = fs.ModeSymlink
	default:
		item.Mode = fs.ModeIrregular
	}
	item.Name = m[9][min(gap, len(m[9])):] + m[10]
	return item, item.setTime(y, mon, dom, m[5]+m[6])
}

// eplf reads D. J. Bernstein's format, "+i8388621.48594,m825718503,r,s280,\tname". Its time is in UTC.
func eplf(m []string) (Item, bool) {
	item := Item{Name: m[2], Size: -1, Mode: fs.ModeIrregular}
	for fact := range strings.SplitSeq(m[1], ",") {
		if fact == "" {
			continue
		}
		switch value := fact[1:]; fact[0] {
		case 'r':
			item.Mode &^= fs.ModeType
		case '/':
			item.Mode = item.Mode&^fs.ModeType | fs.ModeDir
		case 's':
			item.Size = size(value)
		case 'i':
			item.Unique = value
		case 'm':
			if n, err := strconv.ParseInt(value, 10, 40); err == nil {
				stamp{time.Unix(n, 0).UTC(), time.Second, true}.on(&item)
			}
		case 'u':
			item.setPermissions(strings.TrimPrefix(value, "p"))
		}
	}
	return item, true
}

// openVMS reads a line of VMS, "NAME.TXT;1  10/12  2-JAN-2006 15:04:05  [OWNER]  (RWED,RWED,RE,)", whose size is in blocks.
func openVMS(m []string) (item Item, ok bool) {
	item = Item{Name: m[1] + m[2], Size: -1}
	if stem := len(m[1]) - len(".DIR"); stem > 0 && strings.EqualFold(m[1][stem:], ".DIR") {
		item.Name = m[1][:stem]
		item.Mode = fs.ModeDir
	}
	return item, item.setTime(year(m[5]), month(m[4]), number(m[3]), m[6])
}

// dataSet reads a line about a data set of z/OS, perhaps one that is not mounted. A partitioned one is a directory. The date
// is when it was last used, and the size counts tracks, so neither is taken.
func dataSet(m []string) (Item, bool) {
	item := Item{Name: strings.Trim(m[2], "'"), Size: -1, Mode: fs.ModeIrregular}
	switch m[1] {
	case "PO", "PO-E", "Pseudo Directory":
		item.Mode = fs.ModeDir
	case "PS", "PS-E", "DA", "VS", "IS":
		item.Mode = 0
	}
	return item, true
}

// member reads a line about a member of a partitioned data set of z/OS. The sizes count records.
func member(m []string) (item Item, ok bool) {
	item = Item{Name: m[1], Size: -1}
	return item, item.setTime(year(m[2]), number(m[3]), number(m[4]), m[5])
}

// as400 reads a line of OS/400, "QSYS  77824 02/23/00 15:09:55 *DIR  name/". The job's settings decide the order of day and
// month, so a date that makes sense both ways is not taken. A *FILE may hold members or be a file.
func as400(m []string) (Item, bool) {
	item := Item{Name: m[8], Size: -1}
	switch m[7] {
	case "DIR", "DDIR", "LIB", "FLR":
		item.Mode = fs.ModeDir
	case "FILE":
		item.Mode = fs.ModeIrregular
	default:
		item.Size = size(m[1])
	}
	mon := number(m[2])
	dom := number(m[4])
	if m[3] == "." || mon > 12 {
		mon, dom = dom, mon
	} else if dom <= 12 && dom != mon {
		return item, true
	}
	item.setTime(century(m[5]), mon, dom, m[6])
	return item, true
}

// os2 reads a line of the server of OS/2, "  1123      A    04-23-103   10:57  name".
func os2(m []string) (item Item, ok bool) {
	item = Item{Name: m[7], Size: size(m[1])}
	if m[2] != "" {
		item.Mode = fs.ModeDir
	}
	return item, item.setTime(century(m[5]), number(m[3]), number(m[4]), m[6])
}

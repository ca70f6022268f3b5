package listing

import (
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// formats are the formats of LIST beside that of ls, those that are found most often first. None matches a line of another.
// Each reads what its pattern has found.
var formats = []struct {
	pattern func() *regexp.Regexp
	read    func(found []string) (item Item, ok bool)
}{
	{Lazy(`^ *(\d{1,4})([-/.])(\d{1,2})[-/.](\d{2,4}) +(\d{1,2}:\d\d(?::\d\d)?) ?([AaPp][Mm]?)? +(?:<([A-Z]+)>|([\d,.]+))( +)(.+)$`), dos},
	{Lazy(`^\+([^\t]*)\t(?s:(.*))$`), eplf},
	{vms, openVMS},
	{Lazy(`^ *\S+ +(?:Tape +|\S+ +(?:VSAM +|(?:\d{4}/\d\d/\d\d|\*\*NONE\*\*) .* (PS|PO|PO-E|PS-E|DA|VS|IS) +))('?[^ ']+'?)$`), dataSet},
	{Lazy(`^ *(Migrated|ARCIVE|Pseudo Directory|GDG)[ \t].*?([^\s']+'?)$`), dataSet},
	{Lazy(`^ *(\S{1,8}) +\d\d\.\d\d +\d{4}/\d\d/\d\d +(\d{4})/(\d\d)/(\d\d) +(\d\d:\d\d(?::\d\d)?)(?: +\d+){3} +\S+$`), member},
	{Lazy(`^\S+ +(?:(\d+) +(\d\d)([/.])(\d\d)[/.](\d\d) +(\d\d:\d\d:\d\d) +)?\*([A-Z]+) +(\S.*?)/? *$`), as400},
	{Lazy(`^ *(\d+) +(?:(DIR)\b)?[ A-Z]* (\d\d)-(\d\d)-(\d{2,3}) +(\d\d:\d\d)  ?(.+)$`), os2},
}

var vms = Lazy(`^([^\s;]+)(;\d+)\s+(?:\d+(?:/\d+)?K?\s+)?(\d{1,2})-([A-Za-z]{3})-(\d{4})(?:\s+(\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?))?(?:\s|$)`)

// headings match the lines that name no entry: the sum of ls -l, and the headings and sums of VMS and z/OS.
var headings = Lazy(`^\s*$|^(?i:total|insgesamt|totale|totaal|итого|合計|总用量) +[\d.,]+ ?[KMGTkmgt]?$|` +
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

// dos reads the DIR style of IIS, "01-02-06  03:04PM       <DIR>          name", also with a year of four digits or first.
func dos(m []string) (item Item, ok bool) {
	y, mon, dom := century(m[4]), number(m[1], 2), number(m[3], 2)
	switch {
	case len(m[1]) == 4:
		y, mon, dom = year(m[1]), number(m[3], 2), number(m[4], 2)
	case m[2] == "." || mon > 12:
		mon, dom = dom, mon
	}
	item = Item{Size: -1, Mode: fs.ModeIrregular}
	ok = item.setTime(y, mon, dom, m[5]+m[6])
	const gap = 10 // spaces that IIS writes between <DIR> and the name
	switch {
	case m[7] == "":
		item.Size, item.Mode, item.Name = size(strings.NewReplacer(",", "", ".", "").Replace(m[8])), 0, m[9][1:]+m[10]
		return item, ok
	case m[7] == "DIR":
		item.Mode = fs.ModeDir
	case strings.HasPrefix(m[7], "SYMLINK") || m[7] == "JUNCTION":
		item.Mode = fs.ModeSymlink
	}
	item.Name = m[9][min(gap, len(m[9])):] + m[10]
	return item, ok
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

// openVMS reads a line of VMS, "NAME.TXT;1  10/12  2-JAN-2006 15:04:05  [OWNER]  (RWED,RWED,RE,)". The size is in blocks,
// so it is not taken.
func openVMS(m []string) (item Item, ok bool) {
	item = Item{Name: m[1] + m[2], Size: -1}
	if name := m[1]; len(name) > 4 && strings.EqualFold(name[len(name)-4:], ".DIR") {
		item.Name, item.Mode = name[:len(name)-4], fs.ModeDir
	}
	return item, item.setTime(year(m[5]), month(m[4]), number(m[3], 2), m[6])
}

// dataSet reads a line about a data set of z/OS, perhaps one that is not mounted. A partitioned one is a directory. The date
// is that of the last use, so it is not taken; nor is the size, which is in tracks.
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
	return item, item.setTime(year(m[2]), number(m[3], 2), number(m[4], 2), m[5])
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
	mon, dom := number(m[2], 2), number(m[4], 2)
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
	return item, item.setTime(century(m[5]), number(m[3], 2), number(m[4], 2), m[6])
}

package listing

import (
	"io/fs"
	"strconv"
	"strings"
	"time"
)

// formats are the formats of LIST, those that are found most often first. None matches a line of another.
var formats = []func(line string, now time.Time) (Item, bool){unix, dos, eplf, openVMS, mvs, member, as400, os2}

// headings match the lines that name no entry: the sum of ls -l, and the headings and sums of VMS and z/OS.
var headings = lazy(`^\s*$|^(?i:total|insgesamt|totale|totaal|итого|合計|总用量) +[\d.,]+ ?[KMGTkmgt]?$|` +
	`^Directory \S*\[.*\]\s*$|^Total of \d+ [Ff]iles?\b|^ ?Volume +Unit +Referred |^ ?Name +VV\.MM +Created `)

// LIST reads a line of LIST in whichever format it has. A time without a year is the last such time before now.
func LIST(line string, now time.Time) (Item, error) {
	for _, format := range formats {
		if item, ok := format(line, now); ok {
			return entry(item)
		}
	}
	if headings().MatchString(line) {
		return Item{}, ErrNoEntry
	}
	return Item{}, ErrUnknown
}

var dosLine = lazy(`^ *(\d{1,4})([-/.])(\d{1,2})[-/.](\d{2,4}) +(\d{1,2}:\d\d(?::\d\d)?) ?([AaPp][Mm]?)? +(?:<([A-Z]+)>|([\d,.]+))( +)(.+)$`)

// dos reads the DIR style of IIS, "01-02-06  03:04PM       <DIR>          name", also with a year of four digits or first.
func dos(line string, _ time.Time) (Item, bool) {
	m := dosLine().FindStringSubmatch(line)
	if m == nil {
		return Item{}, false
	}
	first, second, third := m[1], m[3], m[4]
	y, mon, dom := century(third), number(first, 2), number(second, 2)
	switch {
	case len(first) == 4:
		y, mon, dom = year(first), number(second, 2), number(third, 2)
	case m[2] == "." || mon > 12:
		mon, dom = dom, mon
	}
	s, ok := date(y, mon, dom)
	c, timed := clock(m[5] + m[6])
	item := Item{Size: -1, Mode: fs.ModeIrregular}
	s.at(c).on(&item)
	const gap = 10 // spaces that IIS writes between <DIR> and the name
	switch {
	case m[7] == "":
		item.Size, item.Mode, item.Name = size(strings.NewReplacer(",", "", ".", "").Replace(m[8])), 0, m[9][1:]+m[10]
		return item, ok && timed
	case m[7] == "DIR":
		item.Mode = fs.ModeDir
	case strings.HasPrefix(m[7], "SYMLINK") || m[7] == "JUNCTION":
		item.Mode = fs.ModeSymlink
	}
	item.Name = m[9][min(gap, len(m[9])):] + m[10]
	return item, ok && timed
}

// eplf reads D. J. Bernstein's format, "+i8388621.48594,m825718503,r,s280,\tname". Its time is in UTC.
func eplf(line string, _ time.Time) (Item, bool) {
	facts, name, ok := strings.Cut(line, "\t")
	if !ok || !strings.HasPrefix(line, "+") {
		return Item{}, false
	}
	item := Item{Name: name, Size: -1, Mode: fs.ModeIrregular}
	for _, fact := range strings.Split(facts[1:], ",") {
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
			if bits, err := strconv.ParseUint(strings.TrimPrefix(value, "p"), 8, 12); err == nil {
				item.Mode, item.HasPerm = item.Mode&fs.ModeType|permissions(bits), true
			}
		}
	}
	return item, true
}

var vms = lazy(`^([^\s;]+)(;\d+)\s+(?:\d+(?:/\d+)?K?\s+)?(\d{1,2})-([A-Za-z]{3})-(\d{4})(?:\s+(\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?))?(?:\s|$)`)

// openVMS reads a line of VMS, "NAME.TXT;1  10/12  2-JAN-2006 15:04:05  [OWNER]  (RWED,RWED,RE,)". The size is in blocks,
// so it is not taken.
func openVMS(line string, _ time.Time) (Item, bool) {
	m := vms().FindStringSubmatch(line)
	if m == nil {
		return Item{}, false
	}
	s, ok := date(year(m[5]), month(m[4]), number(m[3], 2))
	if c, timed := clock(m[6]); timed {
		s = s.at(c)
	}
	item := Item{Name: m[1] + m[2], Size: -1}
	if name := m[1]; len(name) > 4 && strings.EqualFold(name[len(name)-4:], ".DIR") {
		item.Name, item.Mode = name[:len(name)-4], fs.ModeDir
	}
	s.on(&item)
	return item, ok
}

var (
	mvsLine   = lazy(`^ *\S+ +(?:Tape +|\S+ +(?:VSAM +|(?:\d{4}/\d\d/\d\d|\*\*NONE\*\*) .* (PS|PO|PO-E|PS-E|DA|VS|IS) +))('?[^ ']+'?)$`)
	mvsAway   = lazy(`^ *(Migrated|ARCIVE|Pseudo Directory|GDG)[ \t].*?([^\s']+'?)$`)
	pdsMember = lazy(`^ *(\S{1,8}) +\d\d\.\d\d +\d{4}/\d\d/\d\d +(\d{4})/(\d\d)/(\d\d) +(\d\d:\d\d(?::\d\d)?)(?: +\d+){3} +\S+$`)
)

// mvs reads a line about a data set of z/OS. A partitioned one is a directory. The date is that of the last use, so it is
// not taken; nor is the size, which is in tracks.
func mvs(line string, _ time.Time) (Item, bool) {
	item := Item{Size: -1, Mode: fs.ModeIrregular}
	if m := mvsLine().FindStringSubmatch(line); m != nil {
		switch item.Name = strings.Trim(m[2], "'"); {
		case strings.HasPrefix(m[1], "PO"):
			item.Mode = fs.ModeDir
		case m[1] != "":
			item.Mode = 0
		}
		return item, true
	}
	m := mvsAway().FindStringSubmatch(line)
	if m == nil {
		return item, false
	}
	if m[1] == "Pseudo Directory" {
		item.Mode = fs.ModeDir
	}
	item.Name = strings.Trim(m[2], "'")
	return item, true
}

// member reads a line about a member of a partitioned data set of z/OS. The sizes count records.
func member(line string, _ time.Time) (Item, bool) {
	m := pdsMember().FindStringSubmatch(line)
	if m == nil {
		return Item{}, false
	}
	s, ok := date(year(m[2]), number(m[3], 2), number(m[4], 2))
	c, timed := clock(m[5])
	item := Item{Name: m[1], Size: -1}
	s.at(c).on(&item)
	return item, ok && timed
}

var as400Line = lazy(`^\S+ +(?:(\d+) +(\d\d)([/.])(\d\d)[/.](\d\d) +(\d\d:\d\d:\d\d) +)?\*([A-Z]+) +(\S.*?)/? *$`)

// as400 reads a line of OS/400, "QSYS  77824 02/23/00 15:09:55 *DIR  name/". The job's settings decide the order of day and
// month, so a date that makes sense both ways is not taken. A *FILE may hold members or be a file.
func as400(line string, _ time.Time) (Item, bool) {
	m := as400Line().FindStringSubmatch(line)
	if m == nil {
		return Item{}, false
	}
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
	if s, ok := date(century(m[5]), mon, dom); ok && m[1] != "" {
		if c, timed := clock(m[6]); timed {
			s.at(c).on(&item)
		}
	}
	return item, true
}

var os2Line = lazy(`^ *(\d+) +(?:(DIR)\b)?[ A-Z]* (\d\d)-(\d\d)-(\d{2,3}) +(\d\d:\d\d)  ?(.+)$`)

// os2 reads a line of the server of OS/2, "  1123      A    04-23-103   10:57  name".
func os2(line string, _ time.Time) (Item, bool) {
	m := os2Line().FindStringSubmatch(line)
	if m == nil {
		return Item{}, false
	}
	s, ok := date(century(m[5]), number(m[3], 2), number(m[4], 2))
	c, timed := clock(m[6])
	item := Item{Name: m[7], Size: size(m[1])}
	if m[2] != "" {
		item.Mode = fs.ModeDir
	}
	s.at(c).on(&item)
	return item, ok && timed
}

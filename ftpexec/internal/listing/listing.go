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
		if last := len(all) - 1; last >= 0 && vmsName().MatchString(all[last]) && vms().MatchString(all[last]+" "+line) {
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

// formats are the formats of LIST beside that of ls, those that are found most often first. None matches a line of another.
// Each reads what its pattern has found.
var formats = []struct {
	pattern func() *regexp.Regexp
	read    func(found []string) (item Item, ok bool)
}{
	{lazy.Regexp(`^ *(\d{1,4})([-/.])(\d{1,2})[-/.](\d{2,4}) +(\d{1,2}:\d\d(?::\d\d)?) ?([AaPp][Mm]?)? +(?:<([A-Z]+)>|([\d,.]+))( +)(.+)$`), dos},
	{lazy.Regexp(`^\+([^\t]*)\t(?s:(.*))$`), eplf},
	{vms, openVMS},
	{lazy.Regexp(`^ *\S+ +(?:Tape +|\S+ +(?:VSAM +|(?:\d{4}/\d\d/\d\d|\*\*NONE\*\*) .* (PS|PO|PO-E|PS-E|DA|VS|IS) +))('?[^ ']+'?)$`), dataSet},
	{lazy.Regexp(`^ *(Migrated|ARCIVE|Pseudo Directory|GDG)[ \t].*?([^\s']+'?)$`), dataSet},
	{lazy.Regexp(`^ *(\S{1,8}) +\d\d\.\d\d +\d{4}/\d\d/\d\d +(\d{4})/(\d\d)/(\d\d) +(\d\d:\d\d(?::\d\d)?)(?: +\d+){3} +\S+$`), member},
	{lazy.Regexp(`^\S+ +(?:(\d+) +(\d\d)([/.])(\d\d)[/.](\d\d) +(\d\d:\d\d:\d\d) +)?\*([A-Z]+) +(\S.*?)/? *$`), as400},
	{lazy.Regexp(`^ *(\d+) +(?:(DIR)\b)?[ A-Z]* (\d\d)-(\d\d)-(\d{2,3}) +(\d\d:\d\d)  ?(.+)$`), os2},
}

var vms = lazy.Regexp(`^([^\s;]+)(;\d+)\s+(?:\d+(?:/\d+)?K?\s+)?(\d{1,2})-([A-Za-z]{3})-(\d{4})(?:\s+(\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?))?(?:\s|$)`)

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

// dos reads the DIR style of IIS, "01-02-06  03:04PM       <DIR>          name", also with a year of four digits or first.
func dos(m []string) (item Item, ok bool) {
	y, mon, dom := century(m[4]), number(m[1]), number(m[3])
	switch {
	case len(m[1]) == 4:
		y, mon, dom = year(m[1]), number(m[3]), number(m[4])
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

// openVMS reads a line of VMS, "NAME.TXT;1  10/12  2-JAN-2006 15:04:05  [OWNER]  (RWED,RWED,RE,)", whose size is in blocks.
func openVMS(m []string) (item Item, ok bool) {
	item = Item{Name: m[1] + m[2], Size: -1}
	if name := m[1]; len(name) > 4 && strings.EqualFold(name[len(name)-4:], ".DIR") {
		item.Name, item.Mode = name[:len(name)-4], fs.ModeDir
	}
	return item, item.setTime(year(m[5]), month(m[4]), number(m[3]), m[6])
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
	mon, dom := number(m[2]), number(m[4])
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

// mode matches the first column of ls -l, with the mark of an ACL or an extended attribute.
var mode = lazy.Regexp(`^([-bcdlpsDL])([-r][-w][-xsS][-r][-w][-xsSlL][-r][-w][-xtT])[.+@]?`)

// oddMode matches what other systems put there: Connect:Enterprise and the rights of NetWare.
var oddMode = lazy.Regexp(`^([-d])(?:(?:[A-Z]*-[-A-Z]*[A-Z]{3} )|( ?\[[-A-Za-z]*\] ))`)

// unix reads a line of ls -l, with or without the number of links and the group: "drwxr-xr-x 2 ftp ftp 4096 Jan  2 15:04 name".
func unix(line string, now time.Time) (Item, bool) {
	item, rest, padded := Item{Size: -1}, "", false
	if m := mode().FindStringSubmatch(line); m != nil {
		item.Mode, item.HasPerm, rest = kinds[m[1][0]]|letters(m[2]), true, line[len(m[0]):]
	} else if m := oddMode().FindStringSubmatch(line); m != nil {
		item.Mode, rest, padded = kinds[m[1][0]], line[len(m[0])-1:], m[2] != ""
	} else {
		return item, false
	}
	var words []word
	for _, at := range wordPattern().FindAllStringIndex(rest, maxWords) {
		words = append(words, word{rest[at[0]:at[1]], at[0], at[1]})
	}
	for i := range words {
		s, n := unixTime(words[i:], now)
		if s.unit == 0 || i == 0 || strings.TrimRight(words[i-1].text, "0123456789") == words[i-1].text { // no size, nor a group that runs into it
			continue
		}
		s.on(&item)
		end := words[i+n-1].end
		if end >= len(rest) || i+n >= len(words) {
			return item, false
		}
		item.Name = rest[end+1:]
		if padded { // NetWare aligns the names
			item.Name = strings.TrimLeft(item.Name, " ")
		}
		length := int64(-1)
		if i < 2 || !strings.HasSuffix(words[i-2].text, ",") { // those are a device's numbers
			length = size(words[i-1].text)
		}
		item.setSize(length)
		return item, true
	}
	return item, false
}

// setSize takes the size that ls shows. That of a symbolic link is the length of its target.
func (item *Item) setSize(n int64) {
	if item.Mode.IsRegular() {
		item.Size = n
	}
	if item.Mode&fs.ModeSymlink == 0 {
		return
	}
	const arrow = " -> "
	if at := len(item.Name) - int(max(0, min(n, int64(len(item.Name))))) - len(arrow); n > 0 && at > 0 && strings.HasPrefix(item.Name[at:], arrow) {
		item.Name, item.Target = item.Name[:at], item.Name[at+len(arrow):]
		return
	}
	item.Name, item.Target, _ = strings.Cut(item.Name, arrow)
}

var kinds = map[byte]fs.FileMode{'-': 0, 'd': fs.ModeDir, 'l': fs.ModeSymlink, 'b': fs.ModeDevice, 'c': fs.ModeDevice | fs.ModeCharDevice,
	'p': fs.ModeNamedPipe, 's': fs.ModeSocket, 'D': fs.ModeIrregular,
	'L': fs.ModeSymlink, // servers in Go
}

func letters(text string) fs.FileMode {
	bits := uint64(0)
	for i, letter := range []byte(text) {
		if !strings.ContainsRune("-STlL", rune(letter)) {
			bits |= 0o400 >> i
		}
		if strings.ContainsRune("sStTlL", rune(letter)) {
			bits |= 0o4000 >> (i / 3)
		}
	}
	return permissions(bits)
}

// word is a word of a line, and where it stands there.
type word struct {
	text       string
	start, end int
}

// maxWords bounds the search for the time: owners and groups are short.
const maxWords = 16

var wordPattern = lazy.Regexp(`[^ \t]+`)

// unixTime reads the time at the beginning of words, and returns how many words it takes.
func unixTime(words []word, now time.Time) (s stamp, n int) {
	text := func(i int) string {
		if i < len(words) {
			return words[i].text
		}
		return ""
	}
	mon, dom, rest := month(text(0)), number(strings.TrimRight(text(1), ".,日")), text(2)
	if mon == 0 { // "2. Jan 2006"
		mon, dom = month(text(1)), number(strings.TrimRight(text(0), "."))
	}
	if mon == 0 {
		return isoTime(text, words, now)
	}
	if y := year(strings.TrimSuffix(rest, "年")); y >= 0 {
		if c := clock(text(3)); c.unit > 0 && strings.HasSuffix(text(1), ",") { // "Oct 08, 2002 09:47"
			return date(y, mon, dom, c), 4
		}
		return date(y, mon, dom, stamp{}), 3
	}
	c := clock(rest)
	if c.unit == 0 {
		return stamp{}, 0
	}
	if y := year(text(3)); y >= 0 && c.unit < time.Minute { // "Jan  2 15:04:05 2006", BSD's ls -T
		return date(y, mon, dom, c), 4
	}
	return recent(mon, dom, c, now), 3
}

// isoTime reads the time styles of GNU ls: "2006-01-02 15:04", "2006-01-02 15:04:05.123456789 +0100", "01-02 15:04", and
// "2006-01-02 " with a space in place of the time.
func isoTime(text func(int) string, words []word, now time.Time) (s stamp, n int) {
	p := strings.FieldsFunc(text(0), func(r rune) bool { return r == '-' || r == '/' })
	c := clock(text(1))
	timed := c.unit > 0
	switch {
	case len(p) == 2 && timed:
		return recent(number(p[0]), number(p[1]), c, now), 2
	case len(p) == 2 && year(text(1)) >= 0: // "09-26 2000"
		return date(year(text(1)), number(p[0]), number(p[1]), stamp{}), 2
	case len(p) != 3 || year(p[0]) < 0:
		return stamp{}, 0
	}
	s = date(year(p[0]), number(p[1]), number(p[2]), c)
	switch {
	case s.unit == 0:
		return stamp{}, 0
	case !timed && len(words) > 1 && words[1].start > words[0].end+1:
		words[0].end++
		return s, 1
	case !timed:
		return stamp{}, 0
	}
	if zone, err := time.Parse("-0700", text(2)); err == nil && c.unit < time.Minute {
		_, offset := zone.Zone()
		s.t, s.utc = s.t.Add(-time.Duration(offset)*time.Second), true
		return s, 3
	}
	return s, 2
}

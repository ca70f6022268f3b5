package listing

import (
	"io/fs"
	"regexp"
	"strconv"
	"strings"
	"time"

	"example.com/ftpfetch/internal/lazy"
)

// format is a way to write a line.
type format struct {
	name    string
	under   string // what the heading must contain; "" if none is needed
	columns []column
	pattern func() *regexp.Regexp // of all columns; nil if read finds them
	// read makes an Item of what the pattern has found. It returns an error if the line has no entry or another format.
	// It is f.item if the names of the groups say all.
	read func(r *Reader, found []string) (Item, error)
}

// column is a part of a line.
type column struct {
	name string
	upTo func() *regexp.Regexp // matches the line up to its end
}

// in returns a format of columns: the name of each, and its pattern.
func in(name, under string, read func(*Reader, []string) (Item, error), columns ...string) *format {
	f := &format{name: name, under: under, read: read}
	text := "^"
	for i := 0; i < len(columns); i += 2 {
		text += columns[i+1]
		f.columns = append(f.columns, column{columns[i], lazy.Regexp(text)})
	}
	if text != "^" {
		f.pattern = lazy.Regexp(text + "$")
	}
	if read == nil {
		f.read = func(_ *Reader, found []string) (Item, error) { return f.item(found), nil }
	}
	return f
}

// item makes an Item of the groups of the pattern that are named like its parts.
func (f *format) item(found []string) Item {
	part := func(name string) string {
		if i := f.pattern().SubexpIndex(name); i > 0 {
			return found[i]
		}
		return ""
	}
	item := Item{Name: part("name") + part("version"), Size: size(part("size"))}
	item.Doubt = strings.HasPrefix(item.Name, " ")
	if part("dir") != "" {
		item.Mode = fs.ModeDir
	}
	c := clockIn(part("time"))
	c.at(century(part("year")), monthOf(part("month")), number(part("day"))).on(&item)
	return item
}

// formats are the formats of LIST, the most common ones first. No line matches two of them.
var formats = []*format{
	ls,
	in("DOS", "", dos,
		"a date", ` *(\d{1,4})([-/.])(\d{1,2})[-/.](\d{2,4}) +`,
		"a time", `(\d{1,2}:\d\d(?::\d\d)?)(?: +(?:([AaPp][Mm]?) +)?|([AaPp][Mm]?) +)`,
		"a size or <DIR>", `(?:<([A-Z]+)>|([\d,.]+))`,
		"a name", `( +)([^ ].*)`),
	in("EPLF", "", eplf,
		"a mark", ` *\+`,
		"facts", `(?:([^\t]*)\t|((?:(?:i[^, \t]+|[ms]\d+|up\d+|r|/),?)+) +)`,
		"a name", `(?s:(.*))`),
	vms,
	in("z/OS data sets", "", dataSet,
		"a volume and attributes", ` *\S+ +(?:Tape +|\S+ +`+
			`(?:VSAM +|(?:\d{4}/\d\d/\d\d|\*\*NONE\*\*) .* `+
			`(PS|PO|PO-E|PS-E|DA|VS|IS|NONE|PATH|HFS|\?+) +))`,
		"a name", `('?[^ ']+'?)`),
	in("z/OS data sets", "", dataSet,
		"a state", ` *(Migrated|ARCIVE|Pseudo Directory|GDG|\S+ +Not Mounted|`+
			`(?:\S+ +)?Error determining attributes)[ \t]`,
		"a name", `.*?([^\s']+'?)`),
	in("z/OS members", "", nil,
		"a name and a version", ` *(?P<name>\S{1,8}) +\d\d\.\d\d +`,
		"dates", `(?:\d\d)?\d\d/\d\d/\d\d +`+
			`(?P<year>(?:\d\d)?\d\d)/(?P<month>\d\d)/(?P<day>\d\d) +(?P<time>\d\d:\d\d(?::\d\d)?)`,
		"sizes", `(?: +\d+){3}`,
		"a user", `(?: +\S+)? *`),
	in("z/OS members", "VV.MM", nil,
		"a name", ` *(?P<name>[A-Z$#@{][A-Z0-9$#@{]{0,7}) *`),
	in("z/OS load modules", "", nil,
		"a name, a size and a place", ` *(?P<name>\S{1,8}) +[0-9A-F]{6,8} +[0-9A-F]{6} +`,
		"attributes", `(?:\S.* )?`,
		"modes", `(?:24|31|64|ANY|MIN) +(?:24|31|64|ANY) *`),
	in("z/OS jobs", "", job,
		"a job", ` *\S{1,8} +(?:JOB|TSU|STC|J0|T0|S0)\d{5,} +`,
		"a state", `(?:\S+ +)?(?:INPUT|ACTIVE|OUTPUT|HELD)\b.*`),
	in("IBM i", "", ibmi,
		"a type", ` *(?:[^ *\d][^ *]* +)?(?:(?:(\d+) +)?`+
			`(\d{2,4})([-/.])(\d\d)[-/.](\d{2,4}) +(\d\d[:.]\d\d[:.]\d\d) +)?\*([A-Z]+) +`,
		"a name", `(\S.*?)/? *`),
	in("OS/2", "", nil,
		"a date", ` *(?P<size>\d+) +(?P<dir>DIR\b)?[ A-Z]* `+
			`(?P<month>\d\d)-(?P<day>\d\d)-(?P<year>\d{2,3}) +(?P<time>\d\d:\d\d)  ?`,
		"a name", `(?P<name>.+)`),
	in("z/VM", "", zvm,
		"a name, a type, a format and sizes", ` *(\S{1,8}) +(\S{1,8}) +`+
			`(?:[A-Z]\d? +)?(?:[FV]|-) +(?:(?:\d+|-) +){2,3}`,
		"a date", `(\d{1,4})([-/])(\d{1,2})[-/](\d{2,4}) +(\d{1,2}:\d\d:\d\d)`,
		"an owner", `(?: +\S+)? *`),
	in("HP NonStop", "", nil,
		"a name, a code, a size and a date", ` *(?P<name>[A-Za-z][A-Za-z0-9]{0,7}) +`+
			`(?:O +)?\d+[A-Z+]? +(?P<size>\d+) +`+
			`(?P<day>\d{1,2})-(?P<month>[A-Za-z]{3})-(?P<year>\d{2,4}) +(?P<time>\d\d:\d\d:\d\d)`,
		"an owner", `(?: +(?:\d+ *, *\d+|[A-Z][A-Z0-9]*\.[A-Z][A-Z0-9]*))?`,
		"rights", `(?: +(?:"[-A-Za-z*]*"|[-A-Za-z*]{4}))? *`),
	in("VxWorks", "", nil,
		"a size and a date", ` *(?P<size>\d+) +`+
			`(?P<month>[A-Za-z]{3})-(?P<day>\d\d)-(?P<year>\d{4}) +(?P<time>\d\d:\d\d:\d\d) +`,
		"a name", `(?P<name>\S.*?)(?: +<(?P<dir>DIR)>)? *`),
}

// ls finds its columns without a pattern, because there may be millions of lines.
const lsName = "ls -l"

var ls = in(lsName, "", unix)

// vms is the format of VMS. CWD does not accept the .DIR;1 of a directory. Its sizes are in blocks or KB. What follows
// the date, or the reason why there is none, may be missing.
var vms = in("VMS", "", nil,
	"a name with a version", ` *(?P<name>(?:\^ |[^\s;])+?)(?:(?P<dir>(?i:\.DIR);\d+)|(?P<version>;\d+))\s+`,
	"a size and date", `(?:%\S+, |(?:\d+(?:/\d+)?(?:KB?)?\s+)?`+
		`(?P<day>\d{1,2})-(?P<month>[^\s\d-]+)-(?P<year>\d{4})`+
		`(?:\s+(?P<time>\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?))?(?:\s|$))`,
	"an end", `.*`)

// dos reads the DIR style of IIS, "01-02-06  03:04PM       <DIR>          name". The year may have four digits, and
// then it may come first.
func dos(r *Reader, m []string) (Item, error) {
	item := Item{Size: -1, Mode: typeOfDOS(m[8])}
	gap := 10 // spaces that IIS writes between <DIR> and the name
	if item.Mode.IsRegular() {
		gap = 1
		item.Size = size(thousands.Replace(m[9]))
	}
	item.setDate(m[1:], true, m[5]+m[6]+m[7])
	item.Name, item.Doubt = r.align(dosLine{m[0], m[9], len(m[0]) - len(m[11]), len(m[10]), len(m[10]) - gap}, m[8])
	item.Doubt = item.Doubt || gap == 1 && len(m[9]) < 4 && ofSize().MatchString(item.Name)
	if item.Mode == fs.ModeSymlink {
		item.cutBrackets()
	}
	if strings.Contains(item.Name, `\`) {
		return item, errName
	}
	return item, nil
}

// thousands removes the marks between the digits of a size.
var thousands = strings.NewReplacer(",", "", ".", "")

// typeOfDOS returns the type bits for a word that stands in place of the size, as in <DIR>. A file has "".
func typeOfDOS(word string) fs.FileMode {
	switch {
	case word == "":
		return 0
	case word == "DIR":
		return fs.ModeDir
	case strings.HasPrefix(word, "SYMLINK"), word == "JUNCTION":
		return fs.ModeSymlink
	}
	return fs.ModeIrregular
}

// cutBrackets splits the name of a link from its target, "name [C:\target]".
func (item *Item) cutBrackets() {
	name, target, ok := strings.Cut(item.Name, " [")
	if ok && strings.Contains(target, `\`) {
		item.Name = name
		item.Target = strings.TrimSuffix(target, "]")
	}
}

// dosLine is a line of DOS, and its size. The first letter of the name is in column, after gap spaces. Up to spaces of
// them may belong to the name.
type dosLine struct {
	line, size          string
	column, gap, spaces int
}

// align returns the name in a line about a file, or about a directory or a link of this type. All names begin in one
// column, which the lines without extra spaces show. If all lines have extra spaces, it is the leftmost column of a
// first letter. A server whose columns are as wide as their values writes as many spaces before all names of files, and
// before all names of directories.
func (r *Reader) align(l dosLine, kind string) (name string, doubt bool) {
	which := 0
	if l.size == "" {
		which = 1
	}
	if r.surveys {
		r.note(l, kind, &r.pads[which])
	}
	if r.ragged && !r.surveys {
		least := max(1, min(r.pads[which].least, l.gap))
		doubt = least > 1 && r.pads[which].lines < 2 && r.pads[1-which].least != least
		return l.line[l.column-(l.gap-least):], doubt
	}
	start := max(l.column-max(0, l.spaces), min(r.column, l.column))
	return l.line[start:], l.spaces > 0 && start == l.column && r.there < 2
}

// padding is what the lines of DOS about files, or about directories, show together.
type padding struct {
	lines int
	least int // the fewest spaces before a name
	end   int // where the size or <DIR> of the first one ends
}

// note notes what a line of DOS shows about the others.
func (r *Reader) note(l dosLine, kind string, all *padding) {
	r.wide = r.wide || l.spaces > 0
	if r.there == 0 || l.column < r.column {
		r.column = l.column
		r.there = 0
	}
	if l.column == r.column {
		r.there++
	}
	if kind != "" && kind != "DIR" { // longer than <DIR>
		return
	}
	end := l.column - l.gap
	if all.lines == 0 {
		*all = padding{least: l.gap, end: end}
	}
	all.lines++
	all.least = min(all.least, l.gap)
	r.ragged = r.ragged || end != all.end
}

// eplf reads D. J. Bernstein's format, "+i8388621.48594,m825718503,r,s280,\tname". Its time is in UTC. An entry that is
// neither to be retrieved nor a directory is hidden.
func eplf(_ *Reader, m []string) (Item, error) {
	item := Item{Name: m[3], Size: -1, Mode: fs.ModeIrregular}
	for fact := range strings.SplitSeq(m[1]+m[2], ",") {
		if fact != "" {
			item.learnEPLF(fact[0], fact[1:])
		}
	}
	if item.Mode.Type() == fs.ModeIrregular {
		return item, ErrNoEntry
	}
	return item, nil
}

// learnEPLF records a fact of EPLF.
func (item *Item) learnEPLF(letter byte, value string) {
	switch letter {
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
			stamp{t: time.Unix(n, 0).UTC(), unit: time.Second, utc: true}.on(item)
		}
	case 'u':
		item.setPermissions(strings.TrimPrefix(value, "p"))
	}
}

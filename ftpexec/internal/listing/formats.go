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
	under   string // what the heading says; "" if there need not be one
	columns []column
	pattern func() *regexp.Regexp // of all columns; nil if read finds them
	// read gets what the pattern has found. It returns an error if that is no entry, or the line has another format.
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
	return f
}

// formats are the formats of LIST, the most common ones first. No line has two of them.
var formats = []*format{
	ls,
	in("DOS", "", dos,
		"a date", ` *(\d{1,4})([-/.])(\d{1,2})[-/.](\d{2,4}) +`,
		"a time", `(\d{1,2}:\d\d(?::\d\d)?)(?: +(?:([AaPp][Mm]?) +)?|([AaPp][Mm]?) +)`,
		"a size or <DIR>", `(?:<([A-Z]+)>|([\d,.]+))`,
		"a name", `( +)([^ ].*)`),
	in("EPLF", "", eplf, "a mark", `\+`, "facts", `([^\t]*)\t`, "a name", `(?s:(.*))`),
	vms,
	in("z/OS data sets", "", dataSet, "a volume and attributes", ` *\S+ +(?:Tape +|\S+ +(?:VSAM +|(?:\d{4}/\d\d/\d\d|\*\*NONE\*\*) .* (PS|PO|PO-E|PS-E|DA|VS|IS|NONE|PATH|HFS|\?+) +))`,
		"a name", `('?[^ ']+'?)`),
	in("z/OS data sets", "", dataSet,
		"a state", ` *(Migrated|ARCIVE|Pseudo Directory|GDG|\S+ +Not Mounted|(?:\S+ +)?Error determining attributes)[ \t]`,
		"a name", `.*?([^\s']+'?)`),
	in("z/OS members", "", member, "a name and a version", ` *(\S{1,8}) +\d\d\.\d\d +`,
		"dates", `\d{4}/\d\d/\d\d +(\d{4})/(\d\d)/(\d\d) +(\d\d:\d\d(?::\d\d)?)`,
		"sizes", `(?: +\d+){3}`, "a user", `(?: +\S+)? *`),
	in("z/OS members", "VV.MM", plainMember, "a name", ` *([A-Z$#@][A-Z0-9$#@]{0,7}) *`),
	in("z/OS load modules", "", plainMember, "a name, a size and a place", ` *(\S{1,8}) +[0-9A-F]{6,8} +[0-9A-F]{6} +`,
		"attributes", `(?:\S.* )?`, "modes", `(?:24|31|64|ANY|MIN) +(?:24|31|64|ANY) *`),
	in("z/OS jobs", "", job, "a job", ` *\S{1,8} +(?:JOB|TSU|STC|J0|T0|S0)\d{5,} +`, "a state", `(?:\S+ +)?(?:INPUT|ACTIVE|OUTPUT|HELD)\b.*`),
	in("IBM i", "", ibmi, "a type", ` *(?:[^ *\d][^ *]* +)?`+
		`(?:(?:(\d+) +)?(\d{2,4})([-/.])(\d\d)[-/.](\d{2,4}) +(\d\d[:.]\d\d[:.]\d\d) +)?\*([A-Z]+) +`, "a name", `(\S.*?)/? *`),
	in("OS/2", "", os2, "a date", ` *(\d+) +(?:(DIR)\b)?[ A-Z]* (\d\d)-(\d\d)-(\d{2,3}) +(\d\d:\d\d)  ?`, "a name", `(.+)`),
	in("z/VM", "", zvm, "a name, a type, a format and sizes", ` *(\S{1,8}) +(\S{1,8}) +(?:[FV]|-) +(?:(?:\d+|-) +){2,3}`,
		"a date", `(\d{1,4})[-/](\d{1,2})[-/](\d{2,4}) +(\d{1,2}:\d\d:\d\d)`, "an owner", `(?: +\S+)? *`),
	in("HP NonStop", "", nonStop, "a name, a code, a size and a date", ` *([A-Za-z][A-Za-z0-9]{0,7}) +(?:O +)?\d+[A-Z+]? +(\d+) +(\d{1,2})-([A-Za-z]{3})-(\d{2,4}) +(\d\d:\d\d:\d\d) +`, "an owner", `\d+, *\d+ +`, "rights", `"[-A-Za-z*]*" *`),
	in("VxWorks", "", vxWorks, "a size and a date", ` *(\d+) +([A-Za-z]{3})-(\d\d)-(\d{4}) +(\d\d:\d\d:\d\d) +`,
		"a name", `(\S.*?)(?: +<(DIR)>)? *`),
}

// ls finds its columns itself: there may be millions of lines.
const lsName = "ls -l"

var ls = in(lsName, "", unix)

// vms is the format of VMS. Its sizes are in blocks or KB. What follows the date, or the reason why there is none, may be
// missing.
var vms = in("VMS", "", openVMS, "a name with a version", `([^\s;]+)(;\d+)\s+`, "a size and date", `(?:%\S+, |(?:\d+(?:/\d+)?(?:KB?)?\s+)?`+
	`(\d{1,2})-([^\s\d-]+)-(\d{4})(?:\s+(\d{1,2}:\d\d(?::\d\d(?:\.\d+)?)?))?(?:\s|$))`, "an end", `.*`)

// dos reads the DIR style of IIS, "01-02-06  03:04PM       <DIR>          name". The year may have four digits, and then it
// may come first.
func dos(r *Reader, m []string) (Item, error) {
	item := Item{Size: -1}
	gap := 10 // spaces that IIS writes between <DIR> and the name
	switch kind := m[8]; {
	case kind == "":
		gap = 1
		item.Size = size(strings.ReplaceAll(strings.ReplaceAll(m[9], ",", ""), ".", ""))
	case kind == "DIR":
		item.Mode = fs.ModeDir
	case strings.HasPrefix(kind, "SYMLINK") || kind == "JUNCTION":
		item.Mode = fs.ModeSymlink
	default:
		item.Mode = fs.ModeIrregular
	}
	y, mon, dom := calendar(m[1], m[2], m[3], m[4], true)
	clockIn(m[5]+m[6]+m[7]).at(y, mon, dom).on(&item)
	item.Name, item.Doubt = r.align(m[0], len(m[0])-len(m[11]), len(m[10])-gap)
	item.Doubt = item.Doubt || gap == 1 && len(m[9]) < 4 && thousands().MatchString(item.Name)
	if name, target, ok := strings.Cut(item.Name, " ["); ok && item.Mode == fs.ModeSymlink && strings.Contains(target, `\`) {
		item.Name = name
		item.Target = strings.TrimSuffix(target, "]")
	}
	if strings.Contains(item.Name, `\`) {
		return item, errName
	}
	return item, nil
}

// align returns the name in a line of DOS whose first letter is in a column, with at most so many spaces before it. Names begin
// in one column, which lines show that have no space too many. If all have, it is where the first ones begin.
func (r *Reader) align(line string, column, spaces int) (name string, doubt bool) {
	if r.surveys {
		r.wide = r.wide || spaces > 0
		if r.there == 0 || column < r.column {
			r.column = column
			r.there = 0
		}
		if column == r.column {
			r.there++
		}
	}
	start := max(column-max(0, spaces), min(r.column, column))
	return line[start:], spaces > 0 && start == column && r.there < 2
}

// eplf reads D. J. Bernstein's format, "+i8388621.48594,m825718503,r,s280,\tname". Its time is in UTC. An entry that is
// neither to be retrieved nor a directory is hidden.
func eplf(_ *Reader, m []string) (Item, error) {
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
	if item.Mode.Type() == fs.ModeIrregular {
		return item, ErrNoEntry
	}
	return item, nil
}

// openVMS reads a line of VMS, "NAME.TXT;1  10/12  2-JAN-2006 15:04:05  [OWNER]  (RWED,RWED,RE,)".
func openVMS(_ *Reader, m []string) (Item, error) {
	item := Item{Name: m[1] + m[2], Size: -1}
	if stem := len(m[1]) - len(".DIR"); stem > 0 && strings.EqualFold(m[1][stem:], ".DIR") { // which CWD does not take
		item.Name = m[1][:stem]
		item.Mode = fs.ModeDir
	}
	clockIn(m[6]).at(year(m[5]), month(m[4]), number(m[3])).on(&item)
	return item, nil
}

// os2 reads a line of the server of OS/2, "  1123      A    04-23-103   10:57  name".
func os2(_ *Reader, m []string) (Item, error) {
	item := Item{Name: m[7], Size: size(m[1]), Doubt: m[7][0] == ' '}
	if m[2] != "" {
		item.Mode = fs.ModeDir
	}
	clockIn(m[6]).at(century(m[5]), number(m[3]), number(m[4])).on(&item)
	return item, nil
}

// nonStop reads a line of HP NonStop's Guardian, `FILE1  101  2048 12-Jan-06 13:33:48 255,255 "NUNU"`.
func nonStop(_ *Reader, m []string) (Item, error) {
	item := Item{Name: m[1], Size: size(m[2])}
	clockIn(m[6]).at(century(m[5]), month(m[4]), number(m[3])).on(&item)
	return item, nil
}

// vxWorks reads a line of VxWorks, "  512  Jan-01-1998  15:04:05   name  <DIR>".
func vxWorks(_ *Reader, m []string) (Item, error) {
	item := Item{Name: m[6], Size: size(m[1])}
	if m[7] != "" {
		item.Mode = fs.ModeDir
	}
	clockIn(m[5]).at(year(m[4]), month(m[2]), number(m[3])).on(&item)
	return item, nil
}

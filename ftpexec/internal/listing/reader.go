package listing

import (
	"errors"
	"math"
	"slices"
	"strings"
	"time"

	"example.com/ftpfetch/internal/lazy"
)

// Reader reads the lines of one listing by LIST. The meaning of a line may depend on the lines around it.
type Reader struct {
	dir     string          // the last segment of the directory's name
	now     time.Time       // when the listing was made
	heading string          // the last one
	first   string          // the first line, if only the second one shows that it has no entry
	head    string          // of a Reader that surveys: the first of the Reader that it looks at the lines for
	files   map[string]bool // the files of IBM i that have members, and whether they were returned
	last    *format         // of the last entry
	over    bool            // the rest is about other directories
	refused int             // how many lines could not be read

	surveys bool
	survey
}

// survey is what all lines show together.
type survey struct {
	gaps   [2]int     // the fewest extra spaces before a name: usually, and after a short date
	column int        // the leftmost one in which a name of DOS begins
	there  int        // how many names begin there
	pads   [2]padding // of DOS: of files, and of directories
	ragged bool       // the sizes of DOS, or its <DIR>, do not end in one column
	wide   bool       // the spaces around a name may not be the ones that belong to it
}

// NewReader returns a Reader for the listing of a directory that has this name. A time without a year is the last such
// time before now. NewReader looks at all lines first, for what decides how single ones are read. Without lines the
// Reader reads each line as if it stood alone. [Text.Reader] does the same for a Text.
func NewReader(lines []string, dir string, now time.Time) *Reader {
	r := newReader(dir, now)
	if len(lines) == 0 {
		return r
	}
	s := r.surveyor()
	for i, line := range lines {
		s.look(i, lines[0], line)
	}
	r.learn(s)
	return r
}

func newReader(dir string, now time.Time) *Reader {
	r := &Reader{dir: dir, now: now, files: make(map[string]bool)}
	r.gaps = [2]int{0, 1}
	return r
}

// surveyor returns a Reader that looks at all lines for r.
func (r *Reader) surveyor() *Reader {
	s := *r
	s.surveys = true
	s.gaps = [2]int{math.MaxInt, math.MaxInt}
	return &s
}

// look reads the i-th line, from 0, for what it shows about others.
func (r *Reader) look(i int, first, line string) {
	_, err := r.LIST(line)
	if i == 1 && !errors.Is(err, ErrUnknown) && r.isHead(first, line) {
		r.head = first
	}
}

// learn takes over what s has seen in all lines.
func (r *Reader) learn(s *Reader) {
	for file := range r.files {
		r.files[file] = false
	}
	r.first = s.head
	r.survey = s.survey
}

// isHead reports whether the first line of a listing stands before the entries of ls. r has read the second line too.
func (r *Reader) isHead(first, second string) bool {
	return r.heading == "" && sumOrPath().MatchString(first) && (r.last == ls || isSum(second))
}

// Wide reports whether a name may have spaces around it, or seem to, or be in doubt.
func (r *Reader) Wide() bool { return r.wide }

// LIST reads the next line, in whichever format it has.
func (r *Reader) LIST(line string) (Item, error) {
	if r.over || r.first != "" && line == r.first {
		return Item{}, ErrNoEntry
	}
	if item, err, ok := r.by(r.last, line); ok {
		return item, err
	}
	for _, f := range formats {
		if item, err, ok := r.by(f, line); ok {
			r.last = f
			return item, err
		}
	}
	return Item{}, r.other(line)
}

// other reads a line without an entry, and returns why it has none.
func (r *Reader) other(line string) error {
	switch {
	case isSum(line):
		return ErrNoEntry
	case headings().MatchString(line):
		r.heading = line
		return ErrNoEntry
	case r.last == ls && strings.HasSuffix(line, ":"):
		r.over = true
		return errElsewhere
	}
	return r.refuse(line)
}

// by reads a line of a format. ok is false if the line has another format.
func (r *Reader) by(f *format, line string) (item Item, err error, ok bool) {
	if f == nil || !strings.Contains(r.heading, f.under) {
		return item, nil, false
	}
	found := f.find(line)
	if found == nil {
		return item, nil, false
	}
	item, err = f.read(r, found)
	if err == nil {
		item, err = named(item)
	}
	if strings.ContainsAny(strings.TrimSuffix(item.Name, "/"), "/\r\n\x00") {
		err = errName
	}
	if err != nil {
		return Item{}, err, err == ErrNoEntry || err == errJob || err == errName
	}
	r.wide = r.wide || item.Doubt || strings.Trim(item.Name, " ") != item.Name
	return item, nil, true
}

// find returns what the pattern finds in a line, and nil if it does not match. Without a pattern it returns the line.
func (f *format) find(line string) []string {
	if f.pattern == nil {
		return []string{line}
	}
	return f.pattern().FindStringSubmatch(line)
}

// unpad returns a name without the spaces that pad the date before it. doubt means that nothing shows which spaces
// these are. A server that writes a year as long as a time of day, "15:04" or "2006 ", writes one space too many before
// all names after a year. Such a date is short.
func (r *Reader) unpad(name string, short bool) (_ string, doubt bool) {
	extra := len(name) - len(strings.TrimLeft(name, " "))
	kind := 0
	if short {
		kind = 1
	}
	switch {
	case r.surveys:
		r.gaps[kind] = min(r.gaps[kind], extra)
	case extra > 0 && short && r.gaps[kind] > 0:
		return name[1:], false
	case extra > 0:
		return name, short || r.gaps[kind] > 0
	}
	return name, false
}

// vmsName matches a file name of VMS that stands alone, because the rest of its entry did not fit on its line. vmsOwner
// matches an owner and rights that stand alone.
var (
	vmsName  = lazy.Regexp(`^[^\s;]+;\d+\s*$`)
	vmsOwner = lazy.Regexp(`^\s+\[[^\]]*\]\s*(?:\([A-Z,]*\)\s*)?$`)
)

func isVMSName(line string) bool {
	return strings.Contains(line, ";") && vmsName().MatchString(line)
}

// Lines returns the lines of a listing by LIST. It joins the two or three lines of an entry of VMS that takes so many.
func Lines(lines []string) (all []string) {
	if !slices.ContainsFunc(lines, isVMSName) {
		return lines
	}
	for _, line := range lines {
		last := len(all) - 1
		switch {
		case last >= 0 && isVMSName(all[last]) && vms.pattern().MatchString(all[last]+" "+line),
			last >= 0 && vmsOwner().MatchString(line) && vms.pattern().MatchString(all[last]):
			all[last] += " " + line
		default:
			all = append(all, line)
		}
	}
	return all
}

// sumOrPath matches what may stand before the first entry of ls: a sum in any language, or the name of the directory.
var sumOrPath = lazy.Regexp(`^[^\s\d]+ +[\d.,]+ ?[KMGTkmgt]?$|^[./].*:$`)

// isSum reports whether a line is the sum of ls, in a language whose word for it is known.
func isSum(line string) bool {
	line = strings.TrimLeft(line, " ")
	word, _, _ := strings.Cut(line, " ")
	known := words().sums[word] || words().sums[strings.ToLower(word)]
	return known && sumOrPath().MatchString(line)
}

// headings match the other lines that name no entry: the headings and sums of systems.
var headings = lazy.Regexp(`^\s*$|^(?:` + strings.Join([]string{
	// VMS
	`Directory \S*\[.*\]\s*`,
	`(?i:(?:grand )?total of \d+ (?:files?|director).*)`,
	// VMS, of an empty directory
	`\S*\*\.\*;\S*\s+%\S+-FNF, .*`,
	`%\S+-(?:NOFILES|NMF|FNF), .*`,
	// z/OS
	` ?Volume +(?:Unit +)?Referred .*`,
	` ?Name +(?:VV\.MM|Size) +.*`,
	` ?JOBNAME +JOBID +.*`,
	// HP NonStop
	` *File +Code +EOF +Last Modification.*`,
	// VxWorks
	` *size +date +time +name *`,
	`[- ]*-[- ]*`,
	// DOS
	` Volume (?:in drive|Serial Number) .*`,
	` Directory of .*`,
	` +\d+ (?:File|Dir)\(s\).*`,
}, `|`) + `)$`)

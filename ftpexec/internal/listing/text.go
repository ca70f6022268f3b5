package listing

import (
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"
	"unsafe"
)

// Text holds the lines of a listing while they arrive and until they are read, without the empty ones. There may be a
// million. A line in a plain form is read when it is added, and then only what it says is kept: no other line changes
// that. The other lines are kept as they are.
type Text struct {
	command string
	plain   plainReader
	blocks  []*block
	lines   int
	// kept has lines that are not plain, one after another; it is never longer than it was made. It is a pointer because
	// a Builder that has been used must not be copied, and a Text may be.
	kept   *strings.Builder
	single bool // a line does not end in CR
	memory int64
}

// mostInBlock is how many lines a block holds.
const mostInBlock = 1024

// block is some lines in a row: either plain ones or others.
type block struct {
	others []string
	plain  []row
	names  []byte  // of the plain lines, one after another
	read   string  // names, once they are read
	dates  [2]bool // whether there is a date that is not short, and one that is
}

// row is what a plain line says.
type row struct {
	size     int64
	modified int64       // in seconds since 1970
	mode     fs.FileMode // with permissions, if perm is set
	end      uint32      // of the name, and of what follows it, in block.names
	name     uint16      // length of the name; Item.Unique follows it
	unit     unit        // of modified
	perm     bool
}

// unit is the precision of a plain line's time.
type unit uint8

const (
	noTime   unit = iota
	toDay         // in the server's time
	toMinute      // in the server's time
	toSecond      // in UTC
	toGuess       // toMinute, but the year is guessed
)

var units = [...]time.Duration{
	noTime: 0, toDay: day, toMinute: time.Minute, toSecond: time.Second, toGuess: time.Minute,
}

// NewText returns an empty Text for a listing by MLSD, LIST or NLST that is made now. See [NewReader].
func NewText(command string, now time.Time) *Text {
	return &Text{command: command, plain: plainReader{now: now}}
}

// Len returns the number of lines. A nil Text has none.
func (t *Text) Len() int {
	if t == nil {
		return 0
	}
	return t.lines
}

// Memory returns about how many bytes the lines take.
func (t *Text) Memory() int64 { return t.memory }

// What a line takes beyond its text, or beyond its name.
const (
	otherCost = int64(unsafe.Sizeof(""))
	plainCost = int64(unsafe.Sizeof(row{}))
)

// Add adds a line, which must have no line end and at most 65,535 bytes. It returns false unless the line is plain.
func (t *Text) Add(line []byte) bool {
	t.single = t.single || len(line) == 0 || line[len(line)-1] != '\r'
	if len(line) == 0 {
		return false
	}
	t.lines++
	p := plainLine{row: row{size: -1}}
	if !t.plain.read(t.command, line, &p) {
		b := t.block(false)
		b.others = append(b.others, t.keep(line))
		t.memory += otherCost + int64(len(line))
		return false
	}
	b := t.block(true)
	b.names = append(append(b.names, p.name...), p.unique...)
	p.end = uint32(len(b.names))
	p.row.name = uint16(len(p.name))
	b.plain = append(b.plain, p.row)
	t.memory += plainCost + int64(len(p.name)+len(p.unique))
	if p.short {
		b.dates[1] = true
	} else {
		b.dates[0] = true
	}
	return true
}

// mostKept is how many bytes of lines are kept together. A line longer than that has memory of its own.
const mostKept = 16 << 10

// keep returns a copy of a line. Lines that come one after another share their memory.
func (t *Text) keep(line []byte) string {
	if len(line) > mostKept {
		return string(line)
	}
	if t.kept == nil || t.kept.Cap()-t.kept.Len() < len(line) {
		size := 512
		if t.kept != nil {
			size = min(mostKept, 2*t.kept.Cap())
		}
		t.kept = new(strings.Builder)
		t.kept.Grow(max(size, len(line)))
	}
	start := t.kept.Len()
	t.kept.Write(line)
	return t.kept.String()[start:]
}

// block returns the last block if it has lines of this kind and is not full, or else a new one. A block after a full
// one becomes as large at once.
func (t *Text) block(plain bool) *block {
	var last *block
	if n := len(t.blocks); n > 0 {
		last = t.blocks[n-1]
		if plain == (last.plain != nil) && last.len() < mostInBlock {
			return last
		}
	}
	b := &block{}
	switch full := last != nil && last.len() == mostInBlock; {
	case plain && full:
		b.plain = make([]row, 0, max(8, len(last.plain)))
		b.names = make([]byte, 0, len(last.names)+len(last.names)/16)
	case plain:
		b.plain = make([]row, 0, 8)
	case full:
		b.others = make([]string, 0, len(last.others))
	}
	t.blocks = append(t.blocks, b)
	return b
}

func (b *block) len() int { return len(b.others) + len(b.plain) }

// Last returns what the last line says. It was plain.
func (t *Text) Last() Item {
	b := t.blocks[len(t.blocks)-1]
	i := len(b.plain) - 1
	return b.plain[i].item(string(b.names[b.start(i):]))
}

// start returns where the name of a plain line begins.
func (b *block) start(i int) uint32 {
	if i == 0 {
		return 0
	}
	return b.plain[i-1].end
}

// item returns what a plain line says, whose name and Unique are text.
func (r *row) item(text string) Item {
	item := Item{
		Name: text[:r.name], Unique: text[r.name:],
		Mode: r.mode, HasPerm: r.perm, Size: r.size, Precision: units[r.unit], UTC: r.unit == toSecond,
		Guessed: r.unit == toGuess,
	}
	if r.unit != noTime {
		item.Time = time.Unix(r.modified, 0).UTC()
	}
	return item
}

// Once removes a CR from the end of each line if all lines have one: the server has ended lines that had their CR LF
// already.
func (t *Text) Once() {
	if t.single || t.lines == 0 {
		return
	}
	once := NewText(t.command, t.plain.now)
	for _, b := range t.blocks {
		for _, line := range b.others { // no plain line ends in CR
			once.Add([]byte(line[:len(line)-1]))
		}
	}
	*t = *once
}

// Delete removes the lines for which del returns true. No line is plain.
func (t *Text) Delete(del func(line string) bool) {
	t.lines = 0
	for _, b := range t.blocks {
		b.others = slices.DeleteFunc(b.others, del)
		t.lines += len(b.others)
	}
}

// Lines returns the lines in a slice. No line is plain.
func (t *Text) Lines() []string {
	if t.Len() == 0 {
		return nil
	}
	all := make([]string, 0, t.lines)
	for _, b := range t.blocks {
		all = append(all, b.others...)
	}
	return all
}

// join joins the lines of an entry of VMS that takes two or three. None of them is plain.
func (t *Text) join() {
	if !slices.ContainsFunc(t.blocks, func(b *block) bool { return slices.ContainsFunc(b.others, isVMSName) }) {
		return
	}
	var all []*block
	for _, b := range t.blocks {
		if last := len(all) - 1; last >= 0 && b.plain == nil && all[last].plain == nil {
			all[last].others = append(all[last].others, b.others...)
		} else {
			all = append(all, b)
		}
	}
	t.lines = 0
	for _, b := range all {
		b.others = Lines(b.others)
		t.lines += b.len()
	}
	t.blocks = all
}

// Reader returns a Reader for the lines of LIST, which are about a directory of this name. It joins the lines that
// belong together.
func (t *Text) Reader(dir string) *Reader {
	t.join()
	r := newReader(dir, t.plain.now)
	if t.lines == 0 {
		return r
	}
	s := r.surveyor()
	first := ""
	n := 0
	for _, b := range t.blocks {
		if b.plain != nil {
			s.passed(b.dates)
			if n == 1 && s.isHead(first, "") {
				s.head = first
			}
			n += len(b.plain)
			continue
		}
		for _, line := range b.others {
			if n == 0 {
				first = line
			}
			s.look(n, first, line)
			n++
		}
	}
	r.learn(s)
	return r
}

// Passed notes that a plain line comes next. It returns false if the line is about another directory.
func (r *Reader) Passed() bool { return r.passed([2]bool{}) }

// passed notes that plain lines come next, with these kinds of dates. It returns false if they are about another
// directory.
func (r *Reader) passed(dates [2]bool) bool {
	if r.over {
		return false
	}
	r.last = ls
	if r.surveys {
		for kind, found := range dates {
			if found {
				r.gaps[kind] = 0
			}
		}
	}
	return true
}

// Items yields what the lines say. read reads those that are not plain, for LIST with r, which is nil for the other
// commands. With an error comes an Item that has the line as its name. With take, Items removes the lines from t.
func (t *Text) Items(r *Reader, read func(line string) (Item, error), take bool) iter.Seq2[Item, error] {
	return func(yield func(Item, error) bool) {
		for i := 0; t.Len() > 0 && i < len(t.blocks); i++ {
			b := t.blocks[i]
			if take {
				t.blocks[i] = nil
			}
			if b.plain != nil && r != nil && !r.passed(b.dates) {
				continue
			}
			if !b.yieldPlain(yield) || !b.yieldOthers(read, yield) {
				return
			}
		}
	}
}

// yieldOthers yields what the other lines say. It returns false if yield does.
func (b *block) yieldOthers(read func(line string) (Item, error), yield func(Item, error) bool) bool {
	for _, line := range b.others {
		item, err := read(line)
		if err != nil {
			item.Name = line
		}
		if !yield(item, err) {
			return false
		}
	}
	return true
}

// yieldPlain yields what the plain lines say. It returns false if yield does.
func (b *block) yieldPlain(yield func(Item, error) bool) bool {
	if b.read == "" && len(b.names) > 0 {
		b.read = string(b.names)
		b.names = nil
	}
	start := uint32(0)
	for i := range b.plain {
		p := &b.plain[i]
		if !yield(p.item(b.read[start:p.end]), nil) {
			return false
		}
		start = p.end
	}
	return true
}

// Plain reports whether any line is plain.
func (t *Text) Plain() bool {
	return slices.ContainsFunc(t.blocks, func(b *block) bool { return b.plain != nil })
}

// Only returns the line if there is only one, or its name if it is plain; otherwise "".
func (t *Text) Only() string {
	switch {
	case t.Len() != 1:
		return ""
	case t.Plain():
		return t.Last().Name
	}
	return t.Lines()[0]
}

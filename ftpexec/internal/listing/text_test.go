package listing

import (
	"fmt"
	"iter"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// said is what comes out for a line: an item, or an error. An error has the line as its name.
type said struct {
	Item
	err string
}

func saidOf(item Item, err error) said {
	if err != nil {
		return said{item, err.Error()}
	}
	return said{item, ""}
}

// generally reads all lines with MLSD, or with a Reader that sees them as they are.
func generally(command string, lines []string, dir string, now time.Time) (all []said) {
	lines = textOf("", lines, now).Lines() // which knows no plain lines
	read := MLSD
	if command == "LIST" {
		lines = Lines(lines)
		read = NewReader(lines, dir, now).LIST
	}
	for _, line := range lines {
		item, err := read(line)
		if err != nil {
			item.Name = line
		}
		all = append(all, saidOf(item, err))
	}
	return all
}

// wide reports whether the names of lines may have spaces around them.
func wide(lines []string, dir string, now time.Time) bool {
	text := textOf("", lines, now) // which knows no plain lines
	return NewReader(Lines(text.Lines()), dir, now).Wide()
}

// textOf returns a Text with these lines.
func textOf(command string, lines []string, now time.Time) *Text {
	t := NewText(command, now)
	for _, line := range lines {
		t.Add([]byte(line))
	}
	t.Once()
	return t
}

// items yields what the lines of a Text say, as ftpexec reads them.
func (t *Text) items(dir string, take bool) iter.Seq2[Item, error] {
	if t.command == "MLSD" {
		return t.Items(nil, MLSD, take)
	}
	r := t.Reader(dir)
	return t.Items(r, r.LIST, take)
}

// compareText fails unless a Text says the same about lines as the general readers. It returns how many lines are plain.
func compareText(t *testing.T, command string, lines []string, dir string, now time.Time) (plain int) {
	t.Helper()
	want := generally(command, lines, dir, now)
	text := textOf(command, lines, now)
	if command == "LIST" && text.Len() > 0 {
		if got, want := text.Reader(dir).Wide(), wide(lines, dir, now); got != want {
			t.Fatalf("%q: wide %v, want %v", lines, got, want)
		}
	}
	for _, b := range text.blocks {
		plain += len(b.plain)
	}
	for _, take := range []bool{false, true} {
		var got []said
		for item, err := range text.items(dir, take) {
			got = append(got, saidOf(item, err))
		}
		// A line without an entry has no name beyond it: a Text leaves out plain lines about other directories.
		without := func(all []said) []said {
			return slices.DeleteFunc(slices.Clone(all), func(s said) bool { return s.err == ErrNoEntry.Error() })
		}
		if !slices.Equal(without(got), without(want)) {
			t.Fatalf("%s of %q (%s, %v):\n got %+v\nwant %+v", command, lines, dir, now, without(got), without(want))
		}
	}
	return plain
}

// plainLines are lines that are plain.
var plainLines = map[string][]string{
	"LIST": {
		"-rw-r--r--    1 ftp      ftp          4096 Jan 02  2003 name",
		"drwxr-xr-x    2 0        0               0 Jun 15 03:04 name of two",
		"-rwsr-xr-x. 1 root wheel 18 May  9 2004 n9",
		"drwxrwxrwt+ 12 may 12 12 Feb 28 23:59 Name.DIR",
		"-rw-r--r--    1 12       1000           12 Dec 31 12:00 a -> b",
	},
	"MLSD": {
		"modify=20260102030405;perm=adfr;size=12;type=file;unique=FE00U20A;UNIX.group=0;UNIX.mode=0644;UNIX.owner=0; name",
		"Type=dir;Modify=20000229235959;Sizd=4096;UNIX.mode=755; name of; two",
		"type=file;unique=a=b;; -> b",
	},
}

// TestPlain changes plain lines in every place, and reads them at several times of the year: a line that still counts as
// plain says what the general readers find in it.
func TestPlain(t *testing.T) {
	var times []time.Time
	for _, at := range []string{"2005-06-15T12:00", "2004-02-28T23:59", "2005-02-28T00:00", "2004-12-30T23:59", "2004-01-01T00:00"} {
		times = append(times, must(time.Parse("2006-01-02T15:04", at)))
	}
	for command, lines := range plainLines {
		plain, all := 0, 0
		for _, line := range lines {
			if n := compareText(t, command, []string{line}, "", now); n != 1 && line != plainLines["LIST"][3] {
				t.Errorf("%q is not plain", line)
			}
			for changed := range changes(line) {
				plain += compareText(t, command, []string{changed}, "", times[all%len(times)])
				all++
			}
		}
		if plain < all/8 {
			t.Errorf("%s: %d of %d lines are plain: too few to show that they say the same", command, plain, all)
		}
	}
	dates := 0
	for month := range 13 {
		for day := range 33 {
			for _, last := range []string{" 1999", " 2000", " 1900", " 0000", "23:59", "00:00", "24:00", "12:60"} {
				line := fmt.Sprintf("-rw-r--r-- 1 o g 5 %s %02d %s name", time.Month(month + 1).String()[:3], day, last)
				for _, now := range times {
					dates += compareText(t, "LIST", []string{line}, "", now)
				}
				for _, second := range []string{"00", "60", "61", "60.5"} { // the second 60 is a leap second
					line = fmt.Sprintf("type=file;modify=%s%02d%02d2323%s; name", strings.TrimSpace(strings.ReplaceAll(last, ":", "")), month, day, second)
					compareText(t, "MLSD", []string{line}, "", now)
				}
			}
		}
	}
	if dates < 5000 {
		t.Errorf("%d plain lines of LIST have dates, want more", dates)
	}
}

// changes yields a line with one byte or some bytes changed, in every place.
func changes(line string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for i := range len(line) + 1 {
			for _, with := range []string{"", " ", "\t", "0", "9", "1.", ":", "/", "A", "T", "x", "may ", "*", "-", "+", ",", ".", ";", "=", "\r", "\x00", "\x80", "\u0130", "\u212a", "\u00a0", " -> ", "12:30 "} {
				if !yield(line[:i]+with+line[i:]) || i < len(line) && !yield(line[:i]+with+line[i+1:]) {
					return
				}
			}
		}
	}
}

// TestPlainAmongOthers puts plain lines among those of the corpus, in every place. All together say what they say without
// plain lines being known.
func TestPlainAmongOthers(t *testing.T) {
	plain, all := 0, 0
	for _, s := range corpus(t) {
		for _, l := range s.listings {
			for _, command := range []string{"LIST", "MLSD"} {
				plain += compareText(t, command, l.lines, l.dir, now)
				all += len(l.lines)
				for i := range len(l.lines) + 1 {
					for _, line := range plainLines[command][:2] {
						compareText(t, command, slices.Insert(slices.Clone(l.lines), i, line), l.dir, now)
					}
				}
			}
		}
	}
	t.Logf("%d of %d lines are plain", plain, all)
	if plain < all/10 {
		t.Errorf("%d of %d lines are plain, want more", plain, all)
	}
}

// TestReadOnce counts: of the common listings, the general readers get no line, and each line takes a small part of an
// allocation.
func TestReadOnce(t *testing.T) {
	for command, lines := range plainLines {
		const n = 10 * mostInBlock
		line := []byte(lines[0])
		yielded := 0
		perRun := testing.AllocsPerRun(2, func() {
			text := NewText(command, now)
			for range n {
				text.Add(line)
			}
			r := text.Reader("")
			for range text.Items(r, func(string) (Item, error) { return Item{}, errJob }, true) {
				yielded++
			}
			if text.Len() != n {
				t.Errorf("%s: %d lines, want %d", command, text.Len(), n)
			}
		})
		if yielded != 3*n || perRun > n/100 {
			t.Errorf("%s: %d items, want %d; %g allocations for %d lines", command, yielded, 3*n, perRun, n)
		}
	}
}

func FuzzText(f *testing.F) {
	for command, lines := range plainLines {
		f.Add(command == "MLSD", strings.Join(lines, "\n"), "", int64(0))
	}
	for _, s := range corpus(f) {
		for _, l := range s.listings {
			f.Add(false, strings.Join(slices.Insert(slices.Clone(l.lines), len(l.lines)/2, plainLines["LIST"][0]), "\n"), l.dir, int64(86400*59))
		}
	}
	f.Fuzz(func(t *testing.T, mlsd bool, text, dir string, ago int64) {
		command := map[bool]string{true: "MLSD", false: "LIST"}[mlsd]
		compareText(t, command, strings.Split(text, "\n"), dir, now.Add(-time.Duration(ago%(86400*366))*time.Second))
	})
}

func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

// BenchmarkText has plain lines of a listing of 10,000. An operation is a listing.
func BenchmarkText(b *testing.B) {
	for command, line := range map[string]string{
		"LIST": "-rw-r--r--    1 ftp      ftp          %7d Jan 02 15:04 name%06[1]d",
		"MLSD": "modify=20260102030405;perm=adfr;size=%d;type=file;unique=FE00U%06[1]d;UNIX.group=0;UNIX.mode=0644;UNIX.owner=0; name%06[1]d",
	} {
		b.Run(command, func(b *testing.B) {
			lines := make([][]byte, 10_000)
			for i := range lines {
				lines[i] = fmt.Appendf(nil, line, i)
			}
			b.ReportAllocs()
			for b.Loop() {
				t := NewText(command, now)
				for _, line := range lines {
					t.Add(line)
				}
				for _, err := range t.items("", true) {
					if err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(lines)), "ns/line")
		})
	}
}

// TestOnceLeavesTheStack removes the CR of all lines in goroutines whose stacks go away. A Text that still pointed there
// would end the process at the next collection.
func TestOnceLeavesTheStack(t *testing.T) {
	var texts []*Text
	for range 100 {
		x := NewText("LIST", time.Now())
		for i := range 50 {
			x.Add(fmt.Appendf(nil, "line %d\r", i))
		}
		done := make(chan bool)
		go func() {
			deep(100, x.Once)
			close(done)
		}()
		<-done
		texts = append(texts, x)
	}
	for range 5 {
		runtime.GC()
	}
	for _, x := range texts {
		if got := x.Lines(); len(got) != 50 || got[49] != "line 49" {
			t.Fatalf("got %q", got)
		}
	}
}

// deep calls f with much on the stack, which is freed when its goroutine ends.
func deep(n int, f func()) byte {
	var much [1 << 10]byte
	much[n] = 1
	if n == 0 {
		f()
		return much[0]
	}
	return deep(n-1, f) + much[n]
}

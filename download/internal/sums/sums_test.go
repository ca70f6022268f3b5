package sums

import (
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/iotest"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/internal/algorithm"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/internal/testkit/table"
)

// abc has the digests of the three bytes "abc".
var abc = map[string]string{}

func init() {
	for _, a := range algorithm.Names() {
		h := algorithm.New(a)
		_, _ = io.WriteString(h, "abc")
		abc[a] = fmt.Sprintf("%x", h.Sum(nil))
	}
}

// of returns a list of digests of an algorithm.
func of(a string) List { return List{Algorithm: a} }

// other is a digest that no search wants.
var other = strings.Repeat("0", 64)

// find returns the digest that a list has for a file.
func find(l List, r io.Reader, name string) (digest.Sum, error) {
	d, err := l.Read(r, name)
	if err != nil {
		return digest.Sum{}, err
	}
	return d.Find(name)
}

// lists returns the rows of a section of testdata/lists.txt.
func lists(t *testing.T, section string) [][]string {
	t.Helper()
	words := []string{"{other}", other, "{cut}", abc["sha256"][1:]}
	for name, hex := range abc {
		words = append(words, "{"+name+"}", hex, "{"+strings.ToUpper(name)+"}", strings.ToUpper(hex))
	}
	var print []string // eight digits to a group, four groups to a line
	for at := 0; at < 64; at += 8 {
		print = append(print, strings.ToUpper(abc["sha256"][at:at+8]))
	}
	words = append(words, "{gpg}", strings.Join(print[:4], " ")+"\n   "+strings.Join(print[4:], " "),
		"{sha256le}", wide(abc["sha256"]+"  f\r\n", true), "{sha256be}", wide(abc["sha256"]+"  f\r\n", false))
	rows := table.Rows(t, "lists.txt", section)
	for _, row := range rows {
		for i := range row {
			row[i] = strings.NewReplacer(words...).Replace(row[i])
		}
	}
	return rows
}

// wide returns a text of ASCII in UTF-16.
func wide(text string, little bool) string {
	all := make([]byte, 0, 2*len(text))
	for _, c := range []byte(text) {
		if little {
			all = append(all, c, 0)
		} else {
			all = append(all, 0, c)
		}
	}
	return string(all)
}

func TestFindForms(t *testing.T) {
	for _, row := range lists(t, "forms") {
		name, list := row[0], row[1]
		got, err := find(of("sha256"), strings.NewReader(list), name)
		if err != nil || got.String() != "sha256:"+abc["sha256"] {
			t.Errorf("%q in %q: got %s, %v", name, list, got, err)
		}
	}
}

// TestFindAlgorithms finds a digest of every algorithm.
func TestFindAlgorithms(t *testing.T) {
	for _, a := range algorithm.Names() {
		for _, list := range []string{
			abc[a] + "  f\n", strings.ToUpper(a) + " (f) = " + abc[a] + "\n", abc[a],
		} {
			if got, err := find(of(a), strings.NewReader(list), "f"); err != nil || got.String() != a+":"+abc[a] {
				t.Errorf("%s in %q: got %s, %v", a, list, got, err)
			}
		}
	}
}

// TestFindAny checks lines that show the algorithm.
func TestFindAny(t *testing.T) {
	for _, row := range lists(t, "any algorithm") {
		list, want := row[0], row[1]
		if got, err := find(of(""), strings.NewReader(list), "f"); string(got.Algorithm) != want || (err == nil) != (want != "") {
			t.Errorf("%q: got %s, %v", list, got, err)
		}
	}
}

func TestFindErrors(t *testing.T) {
	check := func(name string, list io.Reader, want error) {
		if got, err := find(of("sha256"), list, name); !errors.Is(err, want) || got.Algorithm != "" {
			t.Errorf("%q: got %s, %v, want %v", name, got, err, want)
		}
	}
	for _, row := range lists(t, "errors") {
		check(row[0], strings.NewReader(row[1]), map[string]error{"not-listed": ErrNotListed, "unread": ErrUnread, "foreign": ErrForeign, "ambiguous": ErrAmbiguous}[row[2]])
	}
	broken, line := errors.New("broken"), abc["sha256"]+"  f\n"
	check("f", strings.NewReader(line[:66]+strings.Repeat("f", MaxLine)), ErrTooLarge)
	check("f", strings.NewReader(line+strings.Repeat("x", MaxLine)), ErrTooLarge)
	check("f", io.MultiReader(strings.NewReader(line), iotest.ErrReader(broken)), broken)
}

// TestFindLimit reads lists of exactly MaxList bytes and of one more.
func TestFindLimit(t *testing.T) {
	list := abc["sha256"] + "  f\n"
	list += strings.Repeat(strings.Repeat("x", 1<<13-1)+"\n", MaxList>>13)[len(list):]
	if _, err := find(of("sha256"), strings.NewReader(list), "f"); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	if got, err := find(of("sha256"), strings.NewReader(list+"\n"), "f"); !errors.Is(err, ErrTooLarge) {
		t.Errorf("beyond the limit: %s, %v", got, err)
	}
}

// TestBeside checks that stronger algorithms go before weaker ones, a file's own list before the directory's, and that no
// file verifies itself.
func TestBeside(t *testing.T) {
	at := -1
	for _, l := range Beside("x") {
		i := slices.Index(algorithm.Names(), l.Algorithm)
		if own := strings.HasPrefix(l.File, "x."); l.Algorithm != "" && i < at || own == l.Whole {
			t.Errorf("%+v is in the wrong place", l)
		}
		at = max(at, i)
	}
	if slices.ContainsFunc(Beside("MD5SUMS"), func(l List) bool { return l.File == "MD5SUMS" }) {
		t.Error("a file would verify itself")
	}
}

// TestFindOfDirectory checks that a path in the list of a whole directory names only the file at that path.
func TestFindOfDirectory(t *testing.T) {
	l := List{Algorithm: "sha256", Whole: true}
	for name, want := range map[string]error{"d/f": nil, "f": ErrNotListed, "e/f": ErrNotListed} {
		if _, err := find(l, strings.NewReader(abc["sha256"]+"  ./d/f\n"), name); !errors.Is(err, want) {
			t.Errorf("%s: %v, want %v", name, err, want)
		}
	}
}

// TestListNameless checks that a digest without a name counts only in the file's own list.
func TestListNameless(t *testing.T) {
	for _, s := range Beside("f") {
		if s.Algorithm == "" {
			continue
		}
		for _, name := range []string{"", "  -"} {
			_, err := find(s, strings.NewReader(abc[s.Algorithm]+name+"\n"), "f")
			if want := s.Whole; errors.Is(err, ErrNotListed) != want {
				t.Errorf("%s with the name %q: %v, want refused %v", s.File, name, err, want)
			}
		}
	}
}

func FuzzFind(f *testing.F) {
	h := abc["sha256"]
	for _, list := range []string{
		"", h, h + "  f\n", h + " *f\r\n", `\` + h + `  a\nb`, "SHA256 (f) = " + h, "SHA2-256(f)= " + h, h + "  ./f\n" + h + "  g\n",
		abc["md5"] + "  f\n" + other + "  f", h + "  -", "\ufeff" + h, "\\", "(", "()=", "a ", "a\t", abc["sha512"] + " f",
	} {
		f.Add([]byte(list), "f", "sha256")
		f.Add([]byte(list), "a\nb", "")
	}
	f.Fuzz(func(t *testing.T, list []byte, name, wanted string) {
		if algorithm.Named(wanted) != wanted {
			return
		}
		sum, err := find(of(wanted), strings.NewReader(string(list)), name)
		if err != nil {
			if sum.Algorithm != "" || sum.Digest != nil {
				t.Errorf("an error with a sum: %s, %v", sum, err)
			}
			return
		}
		if len(sum.Digest) == 0 || len(sum.Digest) != algorithm.New(string(sum.Algorithm)).Size() || wanted != "" && string(sum.Algorithm) != wanted {
			t.Errorf("%q of %q: got %s, %d bytes", wanted, list, sum, len(sum.Digest))
		}
		if !strings.Contains(strings.ToLower(string(list)), fmt.Sprintf("%x", sum.Digest)) {
			t.Errorf("%s is not in %q", sum, list)
		}
	})
}

// TestCache checks that only one of many callers asks, that a failure is asked again, and that memory is bounded.
func TestCache(t *testing.T) {
	var c Cache
	var asked atomic.Int64
	ask := func(names int, once bool, err error) func() (*Digests, error) {
		return func() (*Digests, error) {
			d := &Digests{Once: once}
			for i := range names {
				d.Add(fmt.Sprint(i), digest.Sum{})
			}
			d.Add(fmt.Sprint("asked ", asked.Add(1)), digest.Sum{})
			return d, err
		}
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if got, err := c.Get("a", ask(0, false, nil)); !got.Has("asked 1") || err != nil {
				t.Errorf("got %v, %v", got, err)
			}
		})
	}
	all.Wait()
	broken := errors.New("broken")
	for i, tt := range []struct {
		once bool
		err  error
		want int
	}{{false, broken, 2}, {true, nil, 3}, {false, nil, 4}, {false, nil, 4}} {
		if got, err := c.Get("b", ask(0, tt.once, tt.err)); !got.Has(fmt.Sprint("asked ", tt.want)) || err != tt.err {
			t.Errorf("%d: got %v, %v", i, got, err)
		}
	}
	_, err := c.Get("much", ask(mostKnown/perName, false, nil))
	if _, kept := c.known.Load("much"); kept || err != nil {
		t.Errorf("much is kept: %v, %v", kept, err)
	}
	if got, _ := c.Get("a", ask(0, false, nil)); !got.Has("asked 6") {
		t.Errorf("got %v, want the sixth", got)
	}
}

// TestReadBounded checks that Read keeps the wanted file of a very long list.
func TestReadBounded(t *testing.T) {
	var list strings.Builder
	for i := range mostKnown/perName + 3 {
		fmt.Fprintf(&list, "%s  f%d\n", abc["md5"], i)
	}
	last := fmt.Sprint("f", mostKnown/perName+2)
	d, err := List{Algorithm: "md5", Whole: true}.Read(strings.NewReader(list.String()), last)
	if err != nil || !d.Once || d.octets > mostKnown+2*perName {
		t.Fatalf("%v, %d bytes", err, d.octets)
	}
	if _, err := d.Find(last); err != nil {
		t.Error(err)
	}
}

// TestReadHostile checks how much Read keeps of lists whose lines are long or all end in the name, and how much it
// reads of files that are not lists.
func TestReadHostile(t *testing.T) {
	md5 := abc["md5"]
	line := func(text string, n int) io.Reader { return strings.NewReader(strings.Repeat(text, n/len(text))) }
	large, number := strings.Repeat("n", MaxLine-100), 0
	for kind, ends := range map[string][2]string{"large names": {"", large}, "large directories": {large + "/", "/f"}, "small names": {}, "the name": {"", "/f"}} {
		var list strings.Builder
		for list.Len() < night.Or(8<<20, MaxList-2*MaxLine) {
			number++
			list.WriteString(md5 + "  " + ends[0] + strconv.Itoa(number) + ends[1] + "\n")
		}
		var before, after runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&before)
		d, err := List{Whole: true}.Read(strings.NewReader(list.String()), "f")
		runtime.GC()
		if runtime.ReadMemStats(&after); err != nil || after.HeapAlloc > before.HeapAlloc+90<<20 {
			t.Errorf("%s: %v, %d MiB", kind, err, (after.HeapAlloc-before.HeapAlloc)>>20)
		}
		runtime.KeepAlive(d)
	}
	for _, text := range []string{"x\n", "a b c\n", "12345 x y\n", "(((((((\n", "MD5 (f) = \n", "<p>x</p>\n", "\xff\x00\n", "deadbeef  f\n"} {
		in := &io.LimitedReader{R: line(text, 16<<20), N: 16 << 20}
		if d, err := (List{Whole: true}).Read(in, "f"); err != nil || len(d.of) != 0 || in.N < 15<<20 {
			t.Errorf("%q: %d names, %v, %d bytes are read", text, len(d.of), err, 16<<20-in.N)
		}
	}
}

// TestBesideRanks checks that Beside ranks algorithms as package algorithm does.
func TestBesideRanks(t *testing.T) {
	last := ""
	for _, l := range Beside("f") {
		if l.Algorithm != "" && algorithm.Stronger(l.Algorithm, last) && last != "" {
			t.Errorf("%s comes after a list of %s, which package algorithm calls weaker", l.File, last)
		}
		last = l.Algorithm
	}
}

// Package sums reads the lists of digests that servers keep beside their files.
package sums

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/internal/algorithm"
	"example.com/ftpfetch/internal/lazy"
)

// These are the limits of what [List.Read] reads, in bytes, because a server can send any list.
const (
	MaxLine = 16 << 10
	MaxList = 64 << 20
)

// Errors about lists.
var (
	// ErrNotListed means that a list has no digest for the file.
	ErrNotListed = errors.New("no digest is listed for the file")
	// ErrAmbiguous means that a list has different digests for the file.
	ErrAmbiguous = errors.New("different digests are listed for the file")
	// ErrForeign means that a list has a digest for the file, but of an algorithm that package algorithm does not know.
	ErrForeign = errors.New("the digest listed for the file is of an algorithm that is not supported")
	// ErrUnread means that no line of a list is one with a digest.
	ErrUnread = fmt.Errorf("no line is a digest in a form that is known%.0w", ErrNotListed)
	// ErrTooLarge means that a list exceeds MaxLine or MaxList.
	ErrTooLarge = errors.New("too large for a list of digests")
)

// List is a file on the server that may have the digest of another file in the same directory.
type List struct {
	File      string // its name, in the directory of the file to verify
	Algorithm string // of its digests; "" if its lines name it
	Whole     bool   // it lists the whole directory, so one retrieval serves many files
	Rare      bool   // it is worth a request only where the names in the directory show it
}

// The usual names of lists: {a} stands for an algorithm in lower case, {A} in upper case. Lists that begin with a dot
// follow the name of their file. md5checksums.txt is NCBI's, md5sum.txt UCSC's, CHECKSUM.SHA256 FreeBSD's, NAME.DIGESTS
// Gentoo's; the lines of CHECKSUMS name their algorithm, which is BSD's sum(1) at Ensembl.
var (
	common = []string{".{a}", "{A}SUMS"}
	rare   = []string{
		".{a}sum", ".{A}", ".{a}sum.txt", ".{a}.txt", ".{a}.asc",
		"{A}", "{A}SUM", "{a}sum", "{a}sums", "{a}sum.txt", "{a}sums.txt", "{a}sums.asc", "{a}sum.asc", "{a}.txt",
		"{A}SUMS.txt", "{A}SUM.txt", "{A}SUMS.asc", "CHECKSUMS.{a}", "checksums.{a}",
		"CHECKSUM.{A}", "checksums_{a}.txt",
	}
	ofMD5     = []string{"MD5SUM", "md5checksums.txt", "md5sums.txt", "md5sum.txt"}
	mixed     = []string{"CHECKSUMS"}
	rareMixed = []string{
		".DIGESTS", ".DIGESTS.asc", ".CHECKSUM", "CHECKSUM", "checksum.txt", "checksums.txt", "CHECKSUM.txt",
		"CHECKSUMS.txt", "checksums",
	}
)

// Beside returns the lists to look for beside the file name, best first: stronger algorithms before weaker ones, and
// for each algorithm the file's own list (NAME.sha256) before the directory's (SHA256SUMS), which is larger. Beside omits
// a list whose name is the file's own.
func Beside(name string) (lists []List) {
	add := func(names []string, a string, seldom bool) {
		for _, file := range names {
			whole := file[0] != '.'
			file = strings.NewReplacer("{a}", a, "{A}", strings.ToUpper(a)).Replace(file)
			if !whole {
				file = name + file
			}
			named := func(l List) bool { return l.File == file }
			if file != name && !slices.ContainsFunc(lists, named) {
				lists = append(lists, List{File: file, Algorithm: a, Whole: whole, Rare: seldom})
			}
		}
	}
	for _, a := range []string{"sha512", "sha256", "sha1", "md5"} {
		add(common, a, false)
		if a == "md5" {
			add(ofMD5, a, false)
		}
		add(rare, a, true)
	}
	add(mixed, "", false)
	add(rareMixed, "", true)
	return lists
}

// Is reports whether name is a usual name of a list.
func Is(name string) bool {
	return slices.ContainsFunc(Beside(""), func(l List) bool {
		return l.File == name || !l.Whole && strings.HasSuffix(name, l.File)
	})
}

// Digests has the digests of one list, by file name.
type Digests struct {
	Once   bool                  // it is for one file only: it lacks the digests of other files
	lines  int                   // not empty
	of     map[string]digest.Sum // an Algorithm without a Digest is ambiguous, or not known
	octets int                   // memory in bytes, about
}

// Has reports whether the list names a file.
func (d *Digests) Has(name string) bool {
	_, ok := d.of[name]
	return ok
}

// Add adds the name of a file with its digest, if the digest is known. If Add is called again for a name, the strongest
// algorithm wins, and two different digests of that algorithm are ambiguous.
func (d *Digests) Add(name string, sum digest.Sum) {
	if d.of == nil {
		d.of = make(map[string]digest.Sum)
	}
	switch was, ok := d.of[name]; {
	case !ok:
		d.octets += perName + len(name)
		d.of[strings.Clone(name)] = sum
	case algorithm.Stronger(string(sum.Algorithm), string(was.Algorithm)):
		d.of[name] = sum
	case was.Algorithm == sum.Algorithm && was.String() != sum.String():
		d.of[name] = digest.Sum{Algorithm: sum.Algorithm}
	}
}

// Find returns the digest of the first of the names that has one. The errors are [ErrNotListed], [ErrUnread],
// [ErrAmbiguous] and [ErrForeign].
func (d *Digests) Find(names ...string) (digest.Sum, error) {
	for _, name := range names {
		switch sum := d.of[name]; {
		case sum.Digest != nil:
			return sum, nil
		case algorithm.Named(string(sum.Algorithm)) != "":
			return digest.Sum{}, ErrAmbiguous
		case sum.Algorithm != "":
			return digest.Sum{}, fmt.Errorf("%w: %s", ErrForeign, sum.Algorithm)
		}
	}
	if d.lines > 0 && len(d.of) == 0 {
		return digest.Sum{}, ErrUnread
	}
	return digest.Sum{}, ErrNotListed
}

// Read reads the list. If it names too many files to keep, Read keeps the digests of the first ones, and of files whose
// names end in name. A line has one of the forms
//
//	hex  name         md5sum(1) and similar; also with one space or a tab
//	hex *name         the same, in binary mode
//	SHA256 (name) = hex   BSD, sha256sum --tag, and rhash --bsd with more spaces
//	SHA256(name)= hex     openssl dgst
//	name: SHA256 = HEX HEX HEX   gpg --print-md and --print-mds, over several lines
//	12345 67 name     sum(1) of BSD, with five digits and the number of KiB
//	hex               alone or with the name "-", if the list has no other line
//	                  and is not one of a whole directory
//
// A line "# SHA512 HASH" names the algorithm of the lines below it, as in Gentoo's DIGESTS. The list may be UTF-8, or UTF-16
// with a byte order mark.
//
// A backslash at the start of the line says that \\, \n and \r in the name are escapes. The name may start with "./" or
// "/", and in the file's own list with any directories. The rest must equal the name byte for byte, so that an entry
// for another file never counts. Read skips all other lines. It stops if the first thousand lines have no digest.
//
// Only digests of the list's algorithm count. If that is "", the line names the algorithm, or the length of the digest
// shows that it is md5, sha1 or sha256. Then the strongest digest of the file wins.
//
// Errors are [ErrTooLarge] and the errors of r.
func (l List) Read(r io.Reader, name string) (*Digests, error) {
	in := &io.LimitedReader{R: r, N: MaxList + 1}
	text := bufio.NewScanner(transform.NewReader(in, unicode.BOMOverride(transform.Nop)))
	text.Buffer(nil, MaxLine)
	d := &Digests{Once: !l.Whole}
	var nameless digest.Sum
	section := l.Algorithm
	var print gpg
	take := func(of string, sum digest.Sum, ok bool) {
		if ok && (of == "" || of == "-") {
			nameless = sum
		}
		if ok {
			d.keep(l.inDirectory(of), sum, name)
		}
	}
	for (d.lines < mostForeign || d.of != nil) && text.Scan() {
		line := text.Text()
		if strings.TrimSpace(line) == "" {
			continue
		}
		d.lines++
		if print.add(line) {
			continue
		}
		take(print.end(section))
		take(parse(line, section))
		section = cmp.Or(l.Algorithm, headed(line), section)
	}
	take(print.end(section))
	if d.lines == 1 && !l.Whole && nameless.Digest != nil {
		d.Add(name, nameless)
	}
	if err := tooLarge(text.Err(), in.N); err != nil {
		return nil, err
	}
	return d, text.Err()
}

// tooLarge returns the error for a list that exceeds MaxLine, or MaxList of which left bytes are left, or nil.
func tooLarge(err error, left int64) error {
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		return fmt.Errorf("%w: a line has more than %d bytes", ErrTooLarge, MaxLine)
	case err == nil && left == 0:
		return fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxList)
	}
	return nil
}

// inDirectory returns a listed name relative to the list's directory.
func (l List) inDirectory(name string) string {
	if !l.Whole {
		return path.Base(name)
	}
	return strings.TrimPrefix(strings.TrimPrefix(name, "./"), "/")
}

// keep adds a digest if there is room for it. Extra room is reserved for names that end in wanted.
func (d *Digests) keep(name string, sum digest.Sum, wanted string) {
	room := mostKnown
	if strings.HasSuffix(name, wanted) {
		room += MaxLine
	}
	if d.octets >= room && !d.Has(name) {
		d.Once = true
		return
	}
	d.Add(name, sum)
}

// heading matches a line that names the algorithm of those below it.
var heading = lazy.Regexp(`^# ([A-Z0-9]+) HASH$`)

// headed returns the algorithm that a heading names, or "".
func headed(line string) string {
	m := heading().FindStringSubmatch(line)
	if m == nil {
		return ""
	}
	return cmp.Or(algorithm.Named(m[1]), m[1])
}

// gpg collects a digest as gpg --print-md writes it: "name: HEX HEX", or with --print-mds "name: SHA256 = HEX HEX". The
// lines after the first are indented.
type gpg struct{ text string }

var gpgFirst = lazy.Regexp(`^\S.*: +(?:[A-Z0-9]+ = )?[0-9A-F]{2,8}(?: +[0-9A-F]{2,8})+ *$`)
var gpgNext = lazy.Regexp(`^ +[0-9A-F]{2,8}(?: +[0-9A-F]{2,8})* *$`)

// add takes a line that continues the digest, or begins one while there is none.
func (g *gpg) add(line string) bool {
	line = strings.TrimSuffix(line, "\r")
	first := g.text == "" && strings.Contains(line, ": ") && gpgFirst().MatchString(line)
	if first || g.text != "" && gpgNext().MatchString(line) {
		g.text += line
		return true
	}
	return false
}

// end returns the digest that has been collected, as parse does.
func (g *gpg) end(want string) (name string, sum digest.Sum, ok bool) {
	at := strings.LastIndex(g.text, ": ")
	if g.text == "" {
		return "", sum, false
	}
	name = g.text[:at]
	label, digits, tagged := strings.Cut(g.text[at+2:], " = ")
	if !tagged {
		digits = label
		label = ""
	}
	g.text = ""
	digits = strings.ReplaceAll(digits, " ", "")
	if tagged {
		return parse(strings.TrimSpace(label)+" ("+name+") = "+digits, want)
	}
	return parse(digits+"  "+name, want)
}

// Line reads one line of a list of digests. The name is "" if the line has only a digest. The last result is false if the
// line has no digest, or if neither the line nor the digest's length shows the algorithm. An algorithm that is not known
// has a Sum without a Digest.
func Line(text string) (name string, sum digest.Sum, ok bool) { return parse(text, "") }

// byLength maps the number of digits to the algorithm. It lacks 128, which may be sha512 or blake2b, and 8, which may
// be a date: a wrong guess would make a good file look damaged.
var byLength = map[int]string{64: "sha256", 40: "sha1", 32: "md5"}

// parse is [Line], but reports ok only if the digest's algorithm is want or not known. "" allows any.
func parse(text, want string) (name string, sum digest.Sum, ok bool) {
	text, escaped := strings.CutPrefix(text, `\`)
	a, name, digits := tagged(text)
	if foreign(a) {
		return name, digest.Sum{Algorithm: digest.Algorithm(a)}, true
	}
	if a == "" && want == "" {
		a, name, digits = blocks(text)
	}
	if a == "" {
		name, digits = plain(text)
		a = cmp.Or(want, byLength[len(digits)])
	}
	if foreign(a) {
		return name, digest.Sum{Algorithm: digest.Algorithm(a)}, digits != ""
	}
	ok = (want == "" || a == want) && !(escaped && strings.Contains(unmarked.Replace(name), `\`))
	if escaped {
		name = escapes.Replace(name)
	}
	sum, err := digest.Parse(a + ":" + digits)
	return name, sum, ok && err == nil
}

// escapes decodes the escapes that coreutils write in a name, and unmarked removes them.
var escapes = strings.NewReplacer(`\\`, `\`, `\n`, "\n", `\r`, "\r")
var unmarked = strings.NewReplacer(`\\`, "", `\n`, "", `\r`, "")

// foreign reports whether a is an algorithm that is not known.
func foreign(a string) bool { return a != "" && algorithm.Named(a) == "" }

// others are algorithms that people publish digests of, and that package algorithm does not know. Any other word before
// a name in parentheses is no algorithm.
var others = lazy.Regexp(`(?i)^(?:SHA-?3(?:-?\d+)?|KECCAK-?\d+|SHAKE-?\d+|SHA-?(?:224|384)|` +
	`SHA2?-?512[-/](?:224|256)|BLAKE-?2[bs](?:-?\d+)?|BLAKE-?3|` +
	`SM3|(?:RMD|RIPEMD)-?\d+|WHIRLPOOL|TIGER|TTH|GOST.*|STREEBOG-?\d+|` +
	`XXH\d+|MD[24]|CRC32C|ED2K|AICH|SNEFRU-?\d+|EDON-R-?\d+|HAS-?160)$`)

// withTag matches "SHA256 (name) = hex" and "SHA256(name)= hex". The name may contain parentheses.
var withTag = lazy.Regexp(`^([^(]+?) *\((.+)\) *=\s*([0-9a-fA-F]+)\s*$`)

func tagged(text string) (algo, name, digits string) {
	if !strings.Contains(text, "(") { // most lines
		return "", "", ""
	}
	m := withTag().FindStringSubmatch(text)
	if m == nil {
		return "", "", ""
	}
	a := algorithm.Named(m[1])
	if a == "" && others().MatchString(m[1]) {
		a = m[1]
	}
	// Without an algorithm a plain name may look like the end of a tagged line.
	return a, m[2], m[3]
}

// blocks parses a line of BSD's sum(1): "12345 67 name".
func blocks(text string) (algo, name, digits string) {
	blank := func(c rune) bool { return c == ' ' || c == '\t' } // a name may end in other white space
	words := strings.FieldsFunc(text, blank)
	if len(words) != 3 || len(words[0]) != 5 {
		return "", "", ""
	}
	sum, err := strconv.ParseUint(words[0], 10, 16)
	kib, kerr := strconv.ParseUint(words[1], 10, 32)
	if cmp.Or(err, kerr) != nil {
		return "", "", ""
	}
	return "bsdsum", words[2], fmt.Sprintf("%04x%08x", sum, kib)
}

// plain reads "hex  name", "hex *name", "hex name" and "hex". It returns no digits if text has another form.
func plain(text string) (name, digits string) {
	rest := strings.TrimLeft(text, "0123456789abcdefABCDEF")
	digits = text[:len(text)-len(rest)]
	if strings.Trim(rest, " \t\r") == "" {
		return "", digits
	}
	for _, separator := range []string{"  ", " *", " ", "\t"} {
		if name, ok := strings.CutPrefix(rest, separator); ok && name != "" {
			return name, digits
		}
	}
	return "", ""
}

// Cache remembers the names and lists of directories during a run, so that each list is fetched once even if it serves
// many files. When the memory exceeds a limit, Cache forgets everything. The zero value is empty.
type Cache struct {
	known  sync.Map // *known by key
	weight atomic.Int64
}

// known is what a Cache remembers for one key.
type known struct {
	sync.Mutex // the first caller of Get holds it while it calls get; the others wait
	digests    *Digests
}

// mostKnown is the memory in bytes that a Cache may take, and that one list may take. A name takes perName and its own
// length, so there is room for about 200,000 names. A file without a digest in its first mostForeign lines is not a
// list.
const mostKnown, perName, mostForeign = 48 << 20, 200, 1000

// Get returns what an earlier get returned for the key, or else calls get.
func (c *Cache) Get(key string, get func() (*Digests, error)) (*Digests, error) {
	at, _ := c.known.LoadOrStore(key, new(known))
	k := at.(*known)
	k.Lock()
	defer k.Unlock()
	if k.digests != nil {
		return k.digests, nil
	}
	d, err := get()
	if err != nil || d.Once {
		c.known.Delete(key)
		return d, err
	}
	k.digests = d
	if c.weight.Add(int64(d.octets+perName)) > mostKnown {
		c.known.Clear()
		c.weight.Store(0)
	}
	return d, nil
}

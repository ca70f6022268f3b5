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
	// ErrTooLarge means that a list exceeds MaxLine or MaxList.
	ErrTooLarge = errors.New("too large for a list of digests")
)

// List is a file on the server that may have the digest of another file in the same directory.
type List struct {
	File      string // its name, in the directory of the file to verify
	Algorithm string // of its digests; "" if its lines name it
	Whole     bool   // it lists the whole directory, so one retrieval serves many files
}

// Beside returns the lists to look for beside the file name, best first: stronger algorithms before weaker ones, and
// for each algorithm the file's own list (NAME.sha256) before the directory's (SHA256SUMS), which is larger. NCBI uses
// md5checksums.txt, UCSC md5sum.txt; the lines of CHECKSUMS name their algorithm, which is BSD's sum(1) at Ensembl.
// Beside omits a list whose name is the file's own.
func Beside(name string) (lists []List) {
	for _, a := range []string{"sha512", "sha256", "sha1", "md5"} {
		lists = append(lists,
			List{File: name + "." + a, Algorithm: a},
			List{File: strings.ToUpper(a) + "SUMS", Algorithm: a, Whole: true})
	}
	for _, file := range []string{"MD5SUM", "md5checksums.txt", "md5sums.txt", "md5sum.txt"} {
		lists = append(lists, List{File: file, Algorithm: "md5", Whole: true})
	}
	lists = append(lists, List{File: "CHECKSUMS", Whole: true})
	return slices.DeleteFunc(lists, func(l List) bool { return l.File == name })
}

// Is reports whether name is a usual name of a list.
func Is(name string) bool {
	ext := path.Ext(name)
	return slices.ContainsFunc(Beside(""), func(l List) bool {
		return l.File == name || !l.Whole && l.File == ext
	})
}

// Digests has the digests of one list, by file name.
type Digests struct {
	Once   bool                  // it is for one file only: it lacks the digests of other files
	of     map[string]digest.Sum // an Algorithm without a Digest is ambiguous
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

// Find returns the digest of the first of the names that has one. The errors are [ErrNotListed] and [ErrAmbiguous].
func (d *Digests) Find(names ...string) (digest.Sum, error) {
	for _, name := range names {
		switch sum := d.of[name]; {
		case sum.Digest != nil:
			return sum, nil
		case sum.Algorithm != "":
			return digest.Sum{}, ErrAmbiguous
		}
	}
	return digest.Sum{}, ErrNotListed
}

// Read reads the list. If it names too many files to keep, Read keeps the digests of the first ones, and of files whose
// names end in name. A line has one of the forms
//
//	hex  name         md5sum(1) and similar; also with one space or a tab
//	hex *name         the same, in binary mode
//	SHA256 (name) = hex   BSD, and sha256sum --tag
//	SHA256(name)= hex     openssl dgst
//	12345 67 name     sum(1) of BSD, with five digits and the number of KiB
//	hex               alone or with the name "-", if the list has no other line
//	                  and is not one of a whole directory
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
	text := bufio.NewScanner(in)
	text.Buffer(nil, MaxLine)
	d := &Digests{Once: !l.Whole}
	var nameless digest.Sum
	lines := 0
	for (lines < mostForeign || d.of != nil) && text.Scan() {
		line := text.Text()
		if lines == 0 {
			line = strings.TrimPrefix(line, "\ufeff")
		}
		if strings.TrimSpace(line) == "" {
			continue
		}
		lines++
		of, sum, ok := parse(line, l.Algorithm)
		if !ok {
			continue
		}
		if of == "" || of == "-" {
			nameless = sum
		}
		d.keep(l.inDirectory(of), sum, name)
	}
	if lines == 1 && !l.Whole && nameless.Algorithm != "" {
		d.Add(name, nameless)
	}
	err := text.Err()
	switch {
	case errors.Is(err, bufio.ErrTooLong):
		return nil, fmt.Errorf("%w: a line has more than %d bytes", ErrTooLarge, MaxLine)
	case err == nil && in.N == 0:
		return nil, fmt.Errorf("%w: more than %d bytes", ErrTooLarge, MaxList)
	}
	return d, err
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

// Line reads one line of a list of digests. The name is "" if the line has only a digest. The last result is false if the
// line has no digest, or if neither the line nor the digest's length shows the algorithm.
func Line(text string) (name string, sum digest.Sum, ok bool) { return parse(text, "") }

// byLength maps the number of digits to the algorithm. It lacks 128, which may be sha512 or blake2b, and 8, which may
// be a date: a wrong guess would make a good file look damaged.
var byLength = map[int]string{64: "sha256", 40: "sha1", 32: "md5"}

// parse is [Line], but reports ok only if the digest's algorithm is want. "" allows any.
func parse(text, want string) (name string, sum digest.Sum, ok bool) {
	text, escaped := strings.CutPrefix(text, `\`)
	a, name, digits := tagged(text)
	if a == "" && want == "" {
		a, name, digits = blocks(text)
	}
	if a == "" {
		name, digits = plain(text)
		a = cmp.Or(want, byLength[len(digits)])
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

// withTag matches "SHA256 (name) = hex" and "SHA256(name)= hex". The name may contain parentheses.
var withTag = lazy.Regexp(`^([^(]+?) ?\((.+)\) *=\s*([0-9a-fA-F]+)\s*$`)

func tagged(text string) (algo, name, digits string) {
	if !strings.Contains(text, "(") { // most lines
		return "", "", ""
	}
	m := withTag().FindStringSubmatch(text)
	if m == nil {
		return "", "", ""
	}
	// Without an algorithm a plain name may look like the end of a tagged line.
	return algorithm.Named(m[1]), m[2], m[3]
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

package manifest

import (
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/internal/algorithm"
	"example.com/ftpfetch/internal/lazy"
	"example.com/ftpfetch/urlparse"
)

// bare is a line without a header above it. Each cell shows by itself what it is.
type bare struct {
	cells     []string
	kinds     []kind // of the cells
	separator byte   // a tab, a comma or a blank
	whole     string // the line
}

// kind is what a cell without a header is.
type kind byte

const (
	nothing kind = iota // the cell is empty
	place               // a URL with a scheme
	sum                 // a digest, or what looks like one
	number              // digits
	name                // the last segment of the URL, which says nothing
	word                // anything else
)

// newBare returns a line. Tabs separate its cells, or else commas if commas is set or one of the cells is then a digest,
// or else blanks.
func newBare(text string, commas bool) *bare {
	b := &bare{whole: text, separator: ' '}
	list := byComma(text)
	switch {
	case strings.Contains(text, "\t"):
		b.separator = '\t'
		b.cells = cells(text, "\t")
	case len(list) > 1 && (commas || slices.ContainsFunc(list, isSum)):
		b.separator = ','
		b.cells = list
	default:
		b.cells = byBlank(text)
	}
	for i, cell := range b.cells {
		marked := i > 0 && len(cell) > 1 && cell[0] == '*' && isSum(b.cells[i-1]) // as md5sum marks binary files
		if marked {
			b.cells[i] = cell[1:]
		}
		b.kinds = append(b.kinds, kindOf(b.cells[i]))
	}
	b.findName()
	return b
}

// findName finds the cells that only repeat the name of the URL, and may look like a number or an unknown digest.
func (b *bare) findName() {
	at := slices.Index(b.kinds, place)
	if at < 0 || len(b.cells) < 3 {
		return
	}
	u, err := urlparse.Parse(b.cells[at])
	for i, cell := range b.cells {
		if err == nil && cell == u.Name && algorithmOf(cell) == "" {
			b.kinds[i] = name
		}
	}
}

// columnsOf returns the cells of a line whose columns Options.Map numbers.
func columnsOf(text string) []string {
	b := newBare(trim(text), false)
	if len(b.cells) == 1 { // no digest shows that commas separate them
		b = newBare(b.whole, true)
	}
	return b.cells
}

func byBlank(text string) (words []string) {
	for word := range strings.FieldsFuncSeq(text, isBlank) {
		words = append(words, cells(word, "\t")...) // removes quotes
	}
	return words
}

// byComma returns the cells of a line of CSV, or nil if the line is none.
func byComma(text string) []string {
	list := strings.Split(text, ",")
	if strings.Contains(text, `"`) {
		in := csv.NewReader(strings.NewReader(text))
		in.TrimLeadingSpace = true
		list, _ = in.Read()
	}
	for i := range list {
		list[i] = trim(list[i])
	}
	return list
}

func kindOf(cell string) kind {
	switch {
	case cell == "":
		return nothing
	case isSum(cell):
		return sum
	case strings.Trim(cell, "0123456789") == "":
		return number
	case hasScheme(cell), strings.Contains(cell, "://"):
		return place
	}
	return word
}

// leastDigits is how many hexadecimal digits look like a digest. Fewer may be a number or a word.
const leastDigits = 16

// isSum reports whether a cell is a digest or looks like one: hexadecimal digits, perhaps of no known algorithm, or
// ALGO:HEX.
func isSum(cell string) bool {
	at := strings.LastIndexAny(cell, ":=")
	digits := cell[at+1:]
	if at > 0 && algorithm.Named(cell[:at]) != "" {
		return true
	}
	hex := len(digits) >= leastDigits && strings.Trim(digits, "0123456789abcdefABCDEF") == ""
	return hex && !strings.ContainsAny(cell[:max(at, 0)], "/@ ")
}

// sumOf reads a cell that isSum. It never guesses the algorithm, because a wrong guess would make a good file look
// damaged.
func sumOf(cell string) (digest.Sum, error) {
	n := len(cell)
	switch {
	case strings.ContainsAny(cell, ":="), n == 32, n == 40, n == 64:
		return digest.Parse(cell)
	case n == 128:
		return digest.Sum{}, errors.New("a digest of 128 hexadecimal digits may be sha512 or blake2b")
	}
	return digest.Sum{}, fmt.Errorf(
		"a digest of %d hexadecimal digits is of no known algorithm: md5 has 32, sha1 40, sha256 64", n)
}

// count returns how many cells are of a kind.
func (b *bare) count(k kind) (n int) {
	for _, other := range b.kinds {
		if other == k {
			n++
		}
	}
	return n
}

// last returns the place of the last cell of a kind, or -1.
func (b *bare) last(k kind) int {
	for i := range slices.Backward(b.kinds) {
		if b.kinds[i] == k {
			return i
		}
	}
	return -1
}

// ownColumns are the columns of our own tables that have cells of a kind. That of a digest depends on its algorithm.
var ownColumns = [...]string{nothing: "", place: "url", sum: "", number: "size", name: "path", word: "path"}

// mapped returns what to set Options.Map to if the columns have these names and are what the line shows.
func (b *bare) mapped(names []string) string {
	named := make(map[string]string) // by the column of our own tables
	for i, k := range b.kinds {
		as := ownColumns[k]
		switch {
		case k == word && strings.Contains(b.cells[i], ":"): // rather a time than a path
			as = ""
		case k == sum:
			as = cmp.Or(algorithm.Named(strings.TrimSuffix(names[i], "sum")), algorithmOf(b.cells[i]))
		}
		if named[as] == "" {
			named[as] = names[i]
		}
	}
	if named["url"] == "" { // then the word is relative to Base
		named["url"] = named["path"]
		named["path"] = ""
	}
	var parts []string
	for _, as := range append([]string{"url", "path", "size"}, algorithm.Names()...) {
		if named[as] != "" {
			parts = append(parts, as+"="+named[as])
		}
	}
	return strings.Join(parts, ",")
}

// algorithmOf returns the most likely algorithm of a digest, or "".
func algorithmOf(cell string) string {
	if len(cell) == 128 {
		return "sha512"
	}
	sum, _ := sumOf(cell)
	return string(sum.Algorithm)
}

// advised adds to an error about a column what to set Options.Map to.
func (b *bare) advised(column int, err error) error {
	var numbers []string
	for i := range b.cells {
		numbers = append(numbers, strconv.Itoa(i+1))
	}
	why := fmt.Sprintf("column %d: %v: say what the columns are", column, err)
	return &ColumnsError{Map: b.mapped(numbers), why: why}
}

// simpleName matches the names of columns that Options.Map takes as they are, also in a shell, and that show no password.
var simpleName = lazy.Regexp(`^[A-Za-z_][A-Za-z0-9_.-]*$`)

// noHeader returns the error about a header without a column of URLs. If the row below it has URLs, the error says which
// columns to read.
func (r *reader) noHeader(header []string, row func() ([]string, error)) error {
	if r.maps != nil || !r.next() {
		return errNoHeader
	}
	cells, err := row()
	if err != nil || len(cells) < len(header) {
		return errNoHeader
	}
	b := &bare{cells: cells}
	names := slices.Clone(header)
	for i, cell := range cells[:len(header)] {
		b.kinds = append(b.kinds, kindOf(trim(cell)))
		shown := b.kinds[i] == place || b.kinds[i] == sum // others may be anything
		if !shown || !simpleName().MatchString(names[i]) {
			names[i] = ""
		}
	}
	columns := b.mapped(names)
	if !strings.HasPrefix(columns, "url=") {
		return errNoHeader
	}
	const why = "the first line names no column url, and none that an archive's list has: say which columns to read"
	return &ColumnsError{Map: columns, why: why}
}

// neither returns the error about a column that shows not what it is.
func (b *bare) neither(column int) error {
	why := "is neither a URL nor a digest"
	if slices.Contains(b.cells, "=") {
		why += ": in place of a curl config, write the URLs alone, each with another name as out=NAME on an indented " +
			"line below"
		return inField(fmt.Sprint("column ", column), errors.New(why))
	}
	switch b.separator {
	case ' ':
		why += ", or a URL has a blank that is not written %20"
	case ',':
		why += ", or a URL has a comma that is not written %2C"
	}
	return b.advised(column, errors.New(why))
}

var errTwoURLs = errors.New("the line has two URLs: write one file on each line, " +
	"and a tab between URLs of the same file")

// twoURLs matches a URL that is followed by another one.
var twoURLs = lazy.Regexp(`(?i)://.*[,;|" ](?:url:)?(?:ftp|ftps|ftpes|https?)://`)

// describe adds to the item what a line without a header says about its file. The cells may have any order. An item that
// has a digest already needs none in the line.
func (r *reader) describe(i *Item, text string) error {
	text = trim(text)
	if strings.Count(text, "://") > 1 && twoURLs().MatchString(text) && !strings.Contains(text, "\t") {
		return errTwoURLs
	}
	if !strings.ContainsAny(text, " \t,\"") { // most lines
		return r.places(i, []string{text})
	}
	b := newBare(text, r.separator == ',')
	if i.Sum.Algorithm == "" && b.count(sum) == 0 {
		return r.undescribed(i, b)
	}
	r.separator = b.separator
	places, err := b.facts(i)
	if err == nil && len(places) > 1 && b.separator != '\t' {
		err = errTwoURLs
	}
	if err != nil {
		return err
	}
	return r.places(i, places)
}

// undescribed adds the URLs of a line without a digest, which has nothing else. Tabs separate them.
func (r *reader) undescribed(i *Item, b *bare) error {
	first := slices.Index(b.kinds, place)
	other := max(b.last(word), b.last(number))
	filled := slices.DeleteFunc(slices.Clone(b.cells), func(cell string) bool { return cell == "" })
	all := b.separator == '\t' && r.separator != '\t' && (first < 0 || r.Base != nil) // each cell may be a URL
	switch {
	case len(filled) == 1, all:
	case other >= 0 && (first > 0 || b.separator == r.separator || b.separator != ' '):
		return b.neither(other + 1)
	case b.separator == ' ': // there is a blank in the URL
		filled = []string{b.whole}
	}
	return r.places(i, filled)
}

// facts adds the digests and the size to an item, and returns its URLs. A number is the size, but not at the beginning,
// where it may be that of the line.
func (b *bare) facts(i *Item) (places []string, err error) {
	var words []int
	for n, cell := range b.cells {
		switch b.kinds[n] {
		case place:
			places = append(places, cell)
		case sum:
			err = b.addSum(i, n)
		case number, word:
			if b.kinds[n] == word || n == 0 || i.Size != nil {
				words = append(words, n)
			} else {
				err = i.setSize(cell)
			}
		}
		if err != nil {
			return nil, err
		}
	}
	if len(places) == 0 && len(words) > 0 { // relative to Base
		places = append(places, b.cells[words[0]])
		words = words[1:]
	}
	if len(words) > 0 {
		return nil, b.neither(words[0] + 1)
	}
	return places, nil
}

// addSum adds the digest in a cell to an item.
func (b *bare) addSum(i *Item, at int) error {
	sum, err := sumOf(b.cells[at])
	if err != nil && algorithmOf(b.cells[at]) != "" {
		return b.advised(at+1, err)
	}
	if err == nil && sum.Algorithm == i.Sum.Algorithm && sum.String() != i.Sum.String() {
		err = fmt.Errorf("the line has two digests of %s: leave one out", sum.Algorithm)
	}
	return inField(fmt.Sprint("column ", at+1), i.addSum(sum, err))
}

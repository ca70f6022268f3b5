package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"example.com/ftpfetch/download/internal/algorithm"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/urlparse"
)

// mapping has the columns that describe one file of each row: an element of Options.Map. The first column is the URL. A
// cell of an archive's table may be a list separated by ";". The elements of all columns belong together by position.
type mapping []column

// column is a column and the meaning of its cells.
type column struct {
	// as is the column of this package's own tables with the same meaning. name is the column's name as [plain] returns
	// it.
	as, name string
	optional bool
	number   bool // name is the column's place in a table without a header
	// suffix, if not "", follows the directory's name in the file's name. The URL then names the directory of an
	// assembly.
	suffix string
	at     int
	shown  string // its name in the header
	tell   func(i *Item, text string) error
}

// ftpPath is NCBI's column for the directory of an assembly. enaURLs is the suffix of ENA's columns of URLs, such as
// fastq_ftp.
const ftpPath, enaURLs = "ftp_path", "_ftp"

// urlColumns are the names of columns of URLs, in our own tables and in those of NCBI, IGSR, ArrayExpress,
// SDRF-Proteomics, PRIDE and Argo.
var urlColumns = []string{"url", "urls", ftpPath, "fastq_file", "ena_file_path",
	"comment[fastq_uri]", "comment[fileuri]", "uri", "file"}

// plain returns the names of columns in lower case and without spaces, which archives use inconsistently.
func plain(names ...string) (plain []string) {
	for _, name := range names {
		plain = append(plain, strings.ToLower(strings.ReplaceAll(name, " ", "")))
	}
	return plain
}

// isHeader reports whether one of the names is a column of URLs. "file" and "uri" may be ordinary words in a comment or
// alone, so they do not count there.
func (r *reader) isHeader(names []string, commented bool) bool {
	maps := r.maps
	if maps == nil {
		maps, _ = mappings(names)
	}
	return slices.ContainsFunc(maps, func(m mapping) bool {
		name := m[0].name
		word := r.maps == nil && (name == "file" || name == "uri") && (commented || len(names) == 1)
		return !word && slices.Contains(names, name)
	})
}

// newMapping parses an element of Options.Map.
func newMapping(text string) (m mapping, err error) {
	if stem, ok := strings.CutPrefix(text, "ena:"); ok {
		return enaMapping(strings.TrimSuffix(plain(stem)[0], enaURLs)), nil
	}
	if suffix, ok := strings.CutPrefix(text, "ncbi:"); ok && suffix != "" {
		return mapping{{as: "url", name: ftpPath, suffix: suffix}}, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		words := append(plain(strings.Split(part, "=")...), "")
		c := column{as: words[0], name: words[1]}
		if c.name != "" && strings.Trim(c.name, "0123456789") == "" {
			c.number = true
			c.name = plain(numbered + c.name)[0]
		}
		switch {
		case c.name == "" || cellOf(c.as) == nil || c.as == "urls":
			return m, notCell(c.as)
		case c.as == "url":
			m = slices.Insert(m, 0, c)
		default:
			m = append(m, c)
		}
	}
	if m[0].as != "url" {
		err = errors.New("the map says nothing about URLs: write url=COLUMN too")
	}
	return m, err
}

// numbered begins the names of the columns of a table without a header.
const numbered = "column "

// columnNames returns such names for a table with n columns.
func columnNames(n int) (names []string) {
	for i := range n {
		names = append(names, numbered+strconv.Itoa(i+1))
	}
	return names
}

// numbered reports whether the map says which columns to read by their numbers, so that the list has no header.
func (r *reader) numbered() bool { return r.maps != nil && r.maps[0][0].number }

// notCell returns the error about a word in a map that has no meaning. It shows only the text before ":", because the
// word may be a URL with a password.
func notCell(word string) error {
	name, _, _ := strings.Cut(word, ":")
	return fmt.Errorf("the map has %q, which is no cell: write url=COLUMN, "+
		"and path, size, checksum or %s likewise, ena:COLUMN or ncbi:SUFFIX",
		name, strings.Join(algorithm.Names(), ", "))
}

// enaMapping returns the columns of ENA whose names begin with stem.
func enaMapping(stem string) mapping {
	return mapping{
		{as: "url", name: stem + enaURLs},
		{as: "md5", name: stem + "_md5", optional: true},
		{as: "size", name: stem + "_bytes", optional: true},
	}
}

// mappings returns the mappings for the names in a header, and whether the header is an archive's.
func mappings(names []string) (maps []mapping, archive bool) {
	i := slices.IndexFunc(urlColumns, func(name string) bool {
		return slices.Contains(names, name)
	})
	archive = i < 0 || !strings.HasPrefix(urlColumns[i], "url")
	var m mapping
	if archive && i >= 0 {
		m = mapping{{as: "url", name: urlColumns[i]}}
	}
	for _, name := range names {
		if stem, ok := strings.CutSuffix(name, enaURLs); ok && stem != "" && archive {
			maps = append(maps, enaMapping(stem))
		} else if cellOf(name) != nil && !(archive && name == "path") {
			m = append(m, column{as: name, name: name})
		}
	}
	switch {
	case maps != nil || i < 0:
		return maps, archive
	case urlColumns[i] == ftpPath:
		m = mapping{{as: "url", name: ftpPath, suffix: "_genomic.fna.gz"}}
	}
	return []mapping{m}, archive
}

// columns returns the columns of a table that a mapping names. places has the positions of each name. columns removes
// the positions that it uses, unless the table is an archive's.
func (r *reader) columns(m mapping, header []string, places map[string][]int,
	archive bool) (file mapping, err error) {
	for _, c := range m {
		at := places[c.name]
		switch {
		case len(at) == 0 && c.optional:
			continue
		case len(at) == 0 && c.number && r.numbered():
			at := strings.TrimPrefix(c.name, plain(numbered)[0])
			return nil, fmt.Errorf("there is no column %s: the first line has %d", at, len(header))
		case len(at) == 0:
			return nil, noColumn(c.name, header)
		case len(at) > 1 && (archive || slices.Contains([]string{"path", "encoded", "size"}, c.as)):
			return nil, fmt.Errorf("the column %s is there twice: leave one out", header[at[0]])
		}
		c.at = at[0]
		c.shown = header[c.at]
		c.tell = cellOf(c.as)
		if !archive {
			places[c.name] = at[1:] // the next use gets the next column of that name
		} else if c.as == "url" {
			c.tell = func(i *Item, text string) error { return r.locate(i, text, c) }
		}
		file = append(file, c)
	}
	slices.SortStableFunc(file, func(a, b column) int { return a.rank() - b.rank() })
	return file, nil
}

// rank returns a greater number for the encoded path, which is read last and replaces a path.
func (c *column) rank() int {
	if c.as == "encoded" {
		return 1
	}
	return 0
}

// noColumn returns the error about a column that a header lacks. It omits names that look like URLs, because the header
// may really be a row, with a password.
func noColumn(name string, header []string) error {
	there := slices.DeleteFunc(slices.Clone(header), func(other string) bool {
		return strings.ContainsAny(other, ":@")
	})
	return fmt.Errorf("there is no column %s: choose among %s", name, strings.Join(there, ", "))
}

// elements returns the elements of a cell of an archive's table, without the blanks around each of several. It returns
// none for "NA" and the like.
func elements(cell string) (list []string) {
	cell = strings.TrimSuffix(cell, ";")
	switch strings.ToLower(trim(cell)) {
	case "", "na", "n/a", "not available", "not applicable":
		return nil
	}
	if !strings.Contains(cell, ";") {
		return []string{cell}
	}
	for e := range strings.SplitSeq(cell, ";") {
		e = trim(e)
		if strings.HasPrefix(e, "type=") && list != nil {
			list[len(list)-1] += ";" + e
		} else {
			list = append(list, e)
		}
	}
	return list
}

// servers replaces HTTPS URLs of servers that serve the same files by FTP, and repairs "ftp:/ftp.".
var servers = strings.NewReplacer("https://ftp.ncbi.nlm.nih.gov/", "ftp://ftp.ncbi.nlm.nih.gov/",
	"https://ftp.ebi.ac.uk/", "ftp://ftp.ebi.ac.uk/", "https://ftp.pride.ebi.ac.uk/",
	"ftp://ftp.pride.ebi.ac.uk/", "ftp:/ftp.", "ftp://ftp.")

// locate adds the URL of a file from a cell of an archive's table: a URL, a path below Base, or a host and a path. Such
// a path is not encoded: its "#", "%" and spaces are part of the file's name.
func (r *reader) locate(i *Item, text string, c column) error {
	text = servers.Replace(trim(text))
	host, path, _ := strings.Cut(text, "/")
	hosted := strings.HasSuffix(c.name, enaURLs) // ENA's paths are never relative
	var u *urlparse.URL
	var err error
	switch {
	case text == "":
		return errors.New("an element is empty: download the list again")
	case strings.Contains(text, "://"):
		if c.suffix != "" {
			text = strings.TrimSuffix(text, "/")
		}
		u, err = urlparse.Parse(text)
	case r.Base != nil && r.Base.Host != "" && !hosted:
		return i.below(r.Base, text)
	case !hosted && !strings.Contains(host, "."):
		return errors.New(
			"is relative: give the URL of the directory that it is below (set Options.Base to URL)")
	default:
		u, err = onHost(host, path)
	}
	if err == nil && c.suffix != "" {
		return i.addAssembly(u, c.suffix)
	}
	return i.addURL(u, err)
}

// onHost returns the URL of a path on a host. The path is not encoded.
func onHost(host, path string) (*urlparse.URL, error) {
	u, err := urlparse.Parse("ftp://" + host + "/")
	if err != nil {
		return nil, err
	}
	segments := strings.Split(path, "/")
	last := len(segments) - 1
	u.Dirs = segments[:last]
	u.Name = segments[last]
	return u, u.Check()
}

// addAssembly adds the file of an assembly whose name is the name of its directory followed by suffix.
func (i *Item) addAssembly(dir *urlparse.URL, suffix string) error {
	if dir.Name == "" || dir.Type != "" {
		return inField(dir.Redacted(),
			errors.New("is not the directory of an assembly: download the file again"))
	}
	u := dir.Child(dir.Name+suffix, "")
	return i.addURL(u, u.Check())
}

// below adds the file with this name below dir. It is saved under the same name.
func (i *Item) below(dir *urlparse.URL, name string) error {
	i.Path = strings.TrimPrefix(name, "./")
	if err := inField("the name", localfile.CheckPath(i.Path)); err != nil {
		return err
	}
	for segment := range strings.SplitSeq(i.Path, "/") {
		dir = dir.Child(segment, "")
	}
	return i.addURL(dir, dir.Check())
}

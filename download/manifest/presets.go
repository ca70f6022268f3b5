package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/ftpfetch/download/internal/algorithm"
	"example.com/ftpfetch/internal/local/localfile"
	"example.com/ftpfetch/urlparse"
)

// mapping says which columns of a table are about a file of each row, as Options.Map has it: first its URL. An archive's
// cells may be lists, with ";" between the elements, which belong together by position.
type mapping []column

// column is a column, and what its cells say.
type column struct {
	// the column of this package's own tables that means the same; its name as [plain] returns it
	as, name string
	optional bool
	// what follows the directory's name in the file's name; the URL names the directory of an assembly
	suffix string
	at     int
	shown  string // its name as the header has it
	tell   func(i *Item, text string) error
}

// ftpPath is NCBI's column of assemblies' directories; ENA has columns such as fastq_ftp, fastq_md5 and fastq_bytes.
const ftpPath, enaURLs = "ftp_path", "_ftp"

// urlColumns are what archives call their columns of URLs: IGSR, ArrayExpress, SDRF-Proteomics, PRIDE and Argo.
var urlColumns = []string{"url", "urls", ftpPath, "fastq_file", "ena_file_path",
	"comment[fastq_uri]", "comment[fileuri]", "uri", "file"}

// plain returns the names of columns without what archives vary.
func plain(names ...string) (plain []string) {
	for _, name := range names {
		plain = append(plain, strings.ToLower(strings.ReplaceAll(name, " ", "")))
	}
	return plain
}

// isHeader reports whether one of the names is a column of URLs. In a comment "file" and "uri" are words.
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

// newMapping reads an element of Options.Map.
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

// notCell is the error of a word in a map that means no cell. A URL by mistake may have a password.
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

// mappings returns what the names in a header mean, and whether it is an archive's: with an URL go the digests and the size.
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

// columns returns the columns of a table that a mapping names. places says where each name is, and has no longer those
// columns that are taken, unless it is an archive's.
func (r *reader) columns(m mapping, header []string, places map[string][]int,
	archive bool) (file mapping, err error) {
	for _, c := range m {
		at := places[c.name]
		switch {
		case len(at) == 0 && c.optional:
			continue
		case len(at) == 0:
			return nil, noColumn(c.name, header)
		case len(at) > 1 && (archive || c.as == "path" || c.as == "size"):
			return nil, fmt.Errorf("the column %s is there twice: leave one out", header[at[0]])
		}
		c.at = at[0]
		c.shown = header[c.at]
		c.tell = cellOf(c.as)
		if !archive {
			places[c.name] = at[1:] // the next cell is of the next column of that name
		} else if c.as == "url" {
			c.tell = func(i *Item, text string) error { return r.locate(i, text, c) }
		}
		file = append(file, c)
	}
	return file, nil
}

// noColumn is the error of a column that a header lacks. What looks like a URL is left out: the header may be a row, with a
// password.
func noColumn(name string, header []string) error {
	there := slices.DeleteFunc(slices.Clone(header), func(other string) bool {
		return strings.ContainsAny(other, ":@")
	})
	return fmt.Errorf("there is no column %s: choose among %s", name, strings.Join(there, ", "))
}

// elements returns the elements of a cell of an archive's table, none if it says that there is nothing.
func elements(cell string) (list []string) {
	cell = strings.TrimSuffix(cell, ";")
	switch strings.ToLower(cell) {
	case "", "na", "n/a", "not available", "not applicable":
		return nil
	}
	for e := range strings.SplitSeq(cell, ";") {
		e = strings.TrimSpace(e)
		if strings.HasPrefix(e, "type=") && list != nil {
			list[len(list)-1] += ";" + e
		} else {
			list = append(list, e)
		}
	}
	return list
}

// servers serve the same files by HTTPS and by FTP.
var servers = strings.NewReplacer("https://ftp.ncbi.nlm.nih.gov/", "ftp://ftp.ncbi.nlm.nih.gov/",
	"https://ftp.ebi.ac.uk/", "ftp://ftp.ebi.ac.uk/", "https://ftp.pride.ebi.ac.uk/",
	"ftp://ftp.pride.ebi.ac.uk/", "ftp:/ftp.", "ftp://ftp.")

// locate adds what an archive calls the place of a file: a URL, a path below Base, or a host and a path. Such a path is no
// URL: its "#", "%" and spaces belong to the file's name.
func (r *reader) locate(i *Item, text string, c column) error {
	text = servers.Replace(text)
	host, path, _ := strings.Cut(text, "/")
	hosted := strings.HasSuffix(c.name, enaURLs) // ENA's never are relative
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

// onHost returns the URL of a path, which is not encoded, on a host.
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

// addAssembly adds the file in the directory of an assembly whose name is the directory's and a suffix.
func (i *Item) addAssembly(dir *urlparse.URL, suffix string) error {
	if dir.Name == "" || dir.Type != "" {
		return inField(dir.Redacted(),
			errors.New("is not the directory of an assembly: download the file again"))
	}
	u := dir.Child(dir.Name+suffix, "")
	return i.addURL(u, u.Check())
}

// below adds the file with a name below a directory, under which it is saved.
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

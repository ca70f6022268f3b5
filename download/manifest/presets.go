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

// mapping says which columns of a table tell about a file of each row, as Options.Map has it: first its URL. An archive's
// cells may be lists, with ";" between the elements, which belong together by position.
type mapping []column

// column is a column, and what its cells tell.
type column struct {
	// the column of this package's own tables that means the same; its name as [plain] returns it
	as, name string
	optional bool
	// the URL is that of an assembly's directory, with whose name that of the file begins
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

// isHeader reports whether one of the names is that of a column of URLs. In a comment "file" and "uri" are words.
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
	archive, files, preset := strings.Cut(text, ":")
	switch {
	case preset && archive == "ena":
		stem := strings.TrimSuffix(plain(files)[0], enaURLs)
		return mapping{
			{as: "url", name: stem + enaURLs},
			{as: "md5", name: stem + "_md5", optional: true},
			{as: "size", name: stem + "_bytes", optional: true},
		}, nil
	case preset && archive == "ncbi" && files != "":
		return mapping{{as: "url", name: ftpPath, suffix: files}}, nil
	}
	for part := range strings.SplitSeq(text, ",") {
		words := append(plain(strings.Split(part, "=")...), "")
		c := column{as: words[0], name: words[1]}
		switch {
		case c.name == "" || cellOf(c.as) == nil || c.as == "urls":
			name, _, _ := strings.Cut(c.as, ":") // a URL by mistake may have a password
			return m, fmt.Errorf("the map has %q, which is no cell: write url=COLUMN, "+
				"and path, size, checksum or %s likewise, ena:COLUMN or ncbi:SUFFIX",
				name, strings.Join(algorithm.Names(), ", "))
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

// mappings returns what the names in a header mean, and whether it is an archive's: with an URL go the digests and the size.
func mappings(names []string) (maps []mapping, archive bool) {
	i := slices.IndexFunc(urlColumns, func(name string) bool { return slices.Contains(names, name) })
	archive = i < 0 || !strings.HasPrefix(urlColumns[i], "url")
	var m mapping
	if archive && i >= 0 {
		m = mapping{{as: "url", name: urlColumns[i]}}
	}
	for _, name := range names {
		if stem, ok := strings.CutSuffix(name, enaURLs); ok && stem != "" && archive {
			ena, _ := newMapping("ena:" + stem)
			maps = append(maps, ena)
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
			there := slices.DeleteFunc(slices.Clone(header), func(name string) bool { return strings.ContainsAny(name, ":@") }) // a row, with a password
			return nil, fmt.Errorf("there is no column %s: choose among %s", c.name,
				strings.Join(there, ", "))
		case len(at) > 1 && (archive || c.as == "path" || c.as == "size"):
			return nil, fmt.Errorf("the column %s is there twice: leave one out", header[at[0]])
		}
		c.at, c.shown, c.tell = at[0], header[at[0]], cellOf(c.as)
		if !archive {
			places[c.name] = at[1:] // the next cell is of the next column of that name
		} else if c.as == "url" {
			c.tell = func(i *Item, text string) error { return r.locate(i, text, c) }
		}
		file = append(file, c)
	}
	return file, nil
}

// elements returns the elements of a cell of an archive's table, none if it says that there is nothing.
func elements(cell string) (list []string) {
	switch cell = strings.TrimSuffix(cell, ";"); strings.ToLower(cell) {
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
// URL: its "#", "%" and spaces are those of the file's name.
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
			"is relative: give the URL of the directory that it is below (--base URL)")
	default:
		if u, err = urlparse.Parse("ftp://" + host + "/"); err == nil {
			segments := strings.Split(path, "/")
			u.Dirs, u.Name = segments[:len(segments)-1], segments[len(segments)-1]
			err = u.Check()
		}
	}
	if err == nil && c.suffix != "" {
		if u.Name == "" || u.Type != "" {
			return inField(u.Redacted(),
				errors.New("is not the directory of an assembly: download the file again"))
		}
		u = u.Child(u.Name+c.suffix, "")
		err = u.Check()
	}
	return i.addURL(u, err)
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

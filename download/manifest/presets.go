package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/ftpfetch/urlparse"
)

// preset is how an archive's report names files: a column of URLs, and others whose
// names go with it. The cells may hold lists, with ";" between the elements, which
// belong together by position.
type preset struct {
	suffix    string // of the name of the column of URLs
	md5, size string // what those of the others have in its place; "" if there are none
	urls      func(r *reader, text string) ([]*urlparse.URL, error)
}

const ftpPath = "ftp_path" // NCBI's column of an assembly's directory

var (
	ncbi = &preset{suffix: ftpPath, urls: (*reader).assembly}
	ena  = &preset{suffix: "_ftp", md5: "_md5", size: "_bytes", urls: (*reader).enaURL}
)

// presetOf returns the preset to which a column of URLs belongs, or nil.
func presetOf(name string) *preset {
	switch {
	case name == ftpPath:
		return ncbi
	case len(name) > len(ena.suffix) && strings.HasSuffix(name, ena.suffix):
		return ena
	}
	return nil
}

// set is one kind of files in a report, by the places of its columns; -1 means that
// there is none.
type set struct {
	*preset
	name           string // without the suffix: "fastq"
	at, md5s, size int
}

// presets returns the sets of a header: the chosen ones, or all.
func (r *reader) presets(names []string) (sets []set, err error) {
	for i, column := range names {
		if p := presetOf(column); p != nil {
			name := strings.TrimSuffix(column, p.suffix)
			s := set{preset: p, name: name, at: i, md5s: -1, size: -1}
			if p == ena {
				s.md5s, s.size = slices.Index(names, name+p.md5), slices.Index(names, name+p.size)
			}
			sets = append(sets, s)
		}
	}
	if len(sets) == 0 {
		return nil, errNoHeader
	}
	if len(r.Columns) == 0 {
		return sets, nil
	}
	var chosen []set
	for _, want := range r.Columns {
		want = strings.TrimSuffix(strings.ToLower(want), ena.suffix)
		i := slices.IndexFunc(sets, func(s set) bool { return s.name == want })
		if i < 0 {
			return nil, fmt.Errorf("the report has no column %s%s: ask for it, or choose one of those that are there", want, ena.suffix)
		}
		chosen = append(chosen, sets[i])
	}
	return chosen, nil
}

// files yields the files of a row of a report.
func (r *reader) files(t *table, line int, cells []string) {
	some := false
	for _, s := range t.sets {
		urls, md5s, sizes := elements(cells, s.at), elements(cells, s.md5s), elements(cells, s.size)
		some = some || len(urls) > 0
		unequal := func(list []string, suffix string) bool {
			if len(list) == 0 || len(list) == len(urls) {
				return false
			}
			r.fail(line, fmt.Errorf("%s has %d elements, but %s has %d: download the report again", s.name+suffix, len(list), s.name+s.suffix, len(urls)))
			return true
		}
		if unequal(md5s, s.md5) || unequal(sizes, s.preset.size) {
			continue
		}
		for i := range urls {
			places, err := s.urls(r, urls[i])
			if err = inField(s.name+s.suffix, err); err != nil {
				r.fail(line, err)
				continue
			}
			for _, u := range places {
				d := draft{line: line}
				err := inField(s.name+s.suffix, d.addURL(u, u.Check()))
				if err == nil && len(md5s) > 0 {
					err = inField(s.name+s.md5, r.cell(&d, "md5", md5s[i]))
				}
				if err == nil && len(sizes) > 0 {
					err = inField(s.name+s.preset.size, d.setSize(sizes[i]))
				}
				r.finish(&d, err)
			}
		}
	}
	if !some {
		r.empty++
	}
}

// elements returns the elements of a cell, none for "na".
func elements(cells []string, column int) []string {
	if column < 0 {
		return nil
	}
	cell := strings.TrimSuffix(cells[column], ";")
	if cell == "" || cell == "na" {
		return nil
	}
	list := strings.Split(cell, ";")
	for i, e := range list {
		list[i] = strings.TrimSpace(e)
	}
	return list
}

// enaURL reads a URL, or a host and a path. Such a path is no URL: its "#", "%" and
// spaces are those of the file's name.
func (r *reader) enaURL(text string) ([]*urlparse.URL, error) {
	host, path, _ := strings.Cut(text, "/")
	switch {
	case strings.Contains(text, "://"):
		u, err := urlparse.Parse(text)
		return []*urlparse.URL{u}, err
	case host == "":
		return nil, errors.New("an element is empty: download the report again")
	}
	u, err := urlparse.Parse("ftp://" + host + "/")
	if err != nil {
		return nil, err
	}
	segments := strings.Split(path, "/")
	if u.Name = segments[len(segments)-1]; len(segments) > 1 {
		u.Dirs = segments[:len(segments)-1]
	}
	return []*urlparse.URL{u}, nil
}

// assembly returns the files of an assembly's directory. Their names begin like that
// of the directory. NCBI serves the same files by HTTPS and by FTP.
func (r *reader) assembly(text string) (files []*urlparse.URL, err error) {
	text = strings.TrimSuffix(text, "/")
	if path, ok := strings.CutPrefix(text, "https://ftp.ncbi.nlm.nih.gov/"); ok {
		text = "ftp://ftp.ncbi.nlm.nih.gov/" + path
	}
	dir, err := urlparse.Parse(text)
	switch {
	case err != nil:
		return nil, err
	case dir.Name == "" || dir.Type != urlparse.TypeNone:
		return nil, inField(dir.Redacted(), errors.New("is not the directory of an assembly: download the file again"))
	}
	suffixes := r.Suffixes
	if len(suffixes) == 0 {
		suffixes = []string{"_genomic.fna.gz"}
	}
	for _, suffix := range suffixes {
		files = append(files, dir.Child(dir.Name+suffix, urlparse.TypeNone))
	}
	return files, nil
}

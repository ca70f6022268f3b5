package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/urlparse"
)

// reportSuffix ends the name of a column of URLs in a file report of the European
// Nucleotide Archive.
const reportSuffix = "_ftp"

func isReport(name string) bool {
	return len(name) > len(reportSuffix) && strings.HasSuffix(name, reportSuffix)
}

// set is one kind of files in a file report. Its columns hold lists whose
// elements belong together by position; -1 means that the column is missing.
type set struct {
	name            string // "fastq"
	urls, md5, size int
}

// reportSets returns the sets of a header: the chosen ones, or all.
func reportSets(names, chosen []string) ([]set, error) {
	var sets []set
	for i, name := range names {
		name = strings.ToLower(name)
		if isReport(name) {
			name = strings.TrimSuffix(name, reportSuffix)
			sets = append(sets, set{name, i, indexFold(names, name+"_md5"), indexFold(names, name+"_bytes")})
		}
	}
	if len(sets) == 0 {
		return nil, errNoHeader
	}
	if len(chosen) == 0 {
		return sets, nil
	}
	var out []set
	for _, want := range chosen {
		want = strings.TrimSuffix(strings.ToLower(want), reportSuffix)
		i := slices.IndexFunc(sets, func(s set) bool { return s.name == want })
		if i < 0 {
			return nil, fmt.Errorf("the report has no column %s%s: ask for it, or choose one of those that are there", want, reportSuffix)
		}
		out = append(out, sets[i])
	}
	return out, nil
}

func indexFold(names []string, name string) int {
	return slices.IndexFunc(names, func(s string) bool { return strings.EqualFold(s, name) })
}

// reportRow yields the files of a row.
func (r *reader) reportRow(t *table, line int, cells []string) {
	files := 0
	for _, s := range t.sets {
		urls := split(cells[s.urls])
		md5s, sizes := s.list(cells, s.md5), s.list(cells, s.size)
		files += len(urls)
		if err := s.unequal(urls, md5s, sizes); err != nil {
			r.fail(line, err)
			continue
		}
		for i := range urls {
			d := draft{line: line}
			r.finish(&d, r.reportFile(&d, s, urls[i], element(md5s, i), element(sizes, i)))
		}
	}
	if files == 0 {
		r.empty++
	}
}

// list returns the elements of a column, none if it is missing.
func (s set) list(cells []string, column int) []string {
	if column < 0 {
		return nil
	}
	return split(cells[column])
}

// split returns the elements of a list.
func split(cell string) []string {
	cell = strings.TrimSuffix(strings.TrimSpace(cell), ";")
	if cell == "" {
		return nil
	}
	return strings.Split(cell, ";")
}

func element(list []string, i int) string {
	if i < len(list) {
		return strings.TrimSpace(list[i])
	}
	return ""
}

// unequal returns an error if the lists of a row do not belong together.
func (s set) unequal(urls, md5s, sizes []string) error {
	switch {
	case len(md5s) != 0 && len(md5s) != len(urls):
		return fmt.Errorf("%s_md5 has %d elements, but %s_ftp has %d: download the report again", s.name, len(md5s), s.name, len(urls))
	case len(sizes) != 0 && len(sizes) != len(urls):
		return fmt.Errorf("%s_bytes has %d elements, but %s_ftp has %d: download the report again", s.name, len(sizes), s.name, len(urls))
	}
	return nil
}

// reportFile reads one file of a set.
func (r *reader) reportFile(d *draft, s set, url, md5, size string) error {
	u, err := r.reportURL(strings.TrimSpace(url))
	if err == nil {
		err = d.addURL(u)
	}
	if err != nil {
		return inField(s.name+reportSuffix, err)
	}
	if err := d.addSum(digest.MD5, md5); err != nil {
		return inField(s.name+"_md5", err)
	}
	return inField(s.name+"_bytes", d.setSize(size))
}

// reportURL reads a URL, or a host and a path. Such a path is no URL: its "#", "%"
// and spaces are those of the file's name.
func (r *reader) reportURL(text string) (*urlparse.URL, error) {
	if strings.Contains(text, "://") {
		return r.Parser.Parse(text)
	}
	host, path, _ := strings.Cut(text, "/")
	if host == "" {
		return nil, errors.New("an element is empty: download the report again")
	}
	u, err := r.Parser.Parse("ftp://" + host + "/")
	if err != nil {
		return nil, err
	}
	segments := strings.Split(path, "/")
	u.Dirs, u.Name = segments[:len(segments)-1], segments[len(segments)-1]
	if len(u.Dirs) == 0 {
		u.Dirs = nil
	}
	return u, r.Parser.Check(u)
}

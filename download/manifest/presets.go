package manifest

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"example.com/ftpfetch/urlparse"
)

// Archives' reports name files in columns of their own: NCBI's in one of assemblies' directories, ENA's in columns such as
// fastq_ftp, with which fastq_md5 and fastq_bytes go. Their cells may be lists, with ";" between the elements, which
// belong together by position.
const ftpPath, enaURLs, enaMD5s, enaSizes = "ftp_path", "_ftp", "_md5", "_bytes"

func reports(name string) bool {
	return name == ftpPath || len(name) > len(enaURLs) && strings.HasSuffix(name, enaURLs)
}

// ofReport tells whether a name could be that of a column of a report.
func ofReport(name string) bool {
	return reports(name) || strings.HasSuffix(name, enaMD5s) || strings.HasSuffix(name, enaSizes)
}

// report returns what the header of a report means: the chosen columns, or all.
func (r *reader) report(names []string) (t *table, err error) {
	t = &table{names: names, report: true}
	for i, name := range names {
		stem, ena := strings.CutSuffix(name, enaURLs)
		switch {
		case name == ftpPath:
			t.open = true
			suffixes := r.Files
			if len(suffixes) == 0 {
				suffixes = []string{"_genomic.fna.gz"}
			}
			for _, suffix := range suffixes {
				t.files = append(t.files, []column{{i, name, func(d *Item, text string) error { return d.addAssembly(text, suffix) }}})
			}
		case ena && stem != "":
			file := []column{{i, name, (*Item).addENA}}
			if at := slices.Index(names, stem+enaMD5s); at >= 0 {
				file = append(file, column{at, names[at], cellOf("md5")})
			}
			if at := slices.Index(names, stem+enaSizes); at >= 0 {
				file = append(file, column{at, names[at], cellOf("size")})
			}
			t.files = append(t.files, file)
		}
	}
	if len(t.files) == 0 {
		return nil, errNoHeader
	}
	all, chosen := t.files, r.Files
	if t.open {
		chosen = nil
	}
	for n, want := range chosen {
		want = strings.TrimSuffix(strings.ToLower(want), enaURLs) + enaURLs
		i := slices.IndexFunc(all, func(file []column) bool { return file[0].name == want })
		if i < 0 {
			return nil, fmt.Errorf("the report has no column %s: ask for it, or choose one of those that are there", want)
		}
		t.files = append(t.files[:n:n], all[i])
	}
	return t, nil
}

// elements returns the elements of a cell of a report, none for "na".
func elements(cell string) []string {
	if cell = strings.TrimSuffix(cell, ";"); cell == "" || cell == "na" {
		return nil
	}
	list := strings.Split(cell, ";")
	for i, e := range list {
		list[i] = strings.TrimSpace(e)
	}
	return list
}

// addENA reads a URL, or a host and a path. Such a path is no URL: its "#", "%" and spaces are those of the file's name.
func (i *Item) addENA(text string) error {
	host, path, _ := strings.Cut(text, "/")
	switch {
	case strings.Contains(text, "://"):
		return i.addURL(urlparse.Parse(text))
	case host == "":
		return errors.New("an element is empty: download the report again")
	}
	u, err := urlparse.Parse("ftp://" + host + "/")
	if err != nil {
		return err
	}
	segments := strings.Split(path, "/")
	if u.Name = segments[len(segments)-1]; len(segments) > 1 {
		u.Dirs = segments[:len(segments)-1]
	}
	return i.addURL(u, u.Check())
}

// addAssembly adds the file with a suffix of an assembly's directory, with whose name that of the file begins. NCBI serves
// the same files by HTTPS and by FTP.
func (i *Item) addAssembly(text, suffix string) error {
	text = strings.TrimSuffix(text, "/")
	if path, ok := strings.CutPrefix(text, "https://ftp.ncbi.nlm.nih.gov/"); ok {
		text = "ftp://ftp.ncbi.nlm.nih.gov/" + path
	}
	dir, err := urlparse.Parse(text)
	switch {
	case err != nil:
		return err
	case dir.Name == "" || dir.Type != "":
		return inField(dir.Redacted(), errors.New("is not the directory of an assembly: download the file again"))
	}
	u := dir.Child(dir.Name+suffix, "")
	return i.addURL(u, u.Check())
}

package manifest

import (
	"errors"
	"slices"
	"strings"

	"example.com/ftpfetch/urlparse"
)

const (
	ftpPath       = "ftp_path" // the column of an assembly's directory
	ncbiHTTPS     = "https://ftp.ncbi.nlm.nih.gov/"
	ncbiFTP       = "ftp://ftp.ncbi.nlm.nih.gov/"
	genomicSuffix = "_genomic.fna.gz"
)

// readNCBI reads an assembly_summary.txt. Its header is a comment.
func (r *reader) readNCBI() {
	column := -1
	for r.next() {
		line := r.in.text
		switch {
		case strings.HasPrefix(line, "#"):
			if i := slices.Index(header(line, "\t"), ftpPath); i >= 0 {
				column = i
			}
		case strings.TrimSpace(line) == "":
		case column < 0:
			r.fail(r.in.n, errors.New("no header with the column ftp_path is above this line: download the whole assembly_summary.txt"))
			return
		default:
			r.assembly(strings.Split(line, "\t"), column)
		}
	}
}

// assembly yields the files of a row. Their names begin like that of the directory.
func (r *reader) assembly(cells []string, column int) {
	if column >= len(cells) {
		r.fail(r.in.n, errors.New("the line ends before the column ftp_path: download the file again"))
		return
	}
	text := strings.TrimSuffix(strings.TrimSpace(cells[column]), "/")
	if text == "" || text == "na" {
		r.empty++
		return
	}
	dir, err := r.assemblyDir(text)
	if err != nil {
		r.fail(r.in.n, inField(ftpPath, err))
		return
	}
	suffixes := r.Suffixes
	if len(suffixes) == 0 {
		suffixes = []string{genomicSuffix}
	}
	for _, suffix := range suffixes {
		u := dir.Child(dir.Name+suffix, urlparse.TypeNone)
		r.single(r.in.n, u, r.Parser.Check(u))
	}
}

// assemblyDir reads the directory of an assembly. NCBI serves the same files by
// HTTPS and by FTP.
func (r *reader) assemblyDir(text string) (*urlparse.URL, error) {
	if path, ok := strings.CutPrefix(text, ncbiHTTPS); ok {
		text = ncbiFTP + path
	}
	dir, err := r.Parser.Parse(text)
	if err == nil && (dir.Name == "" || dir.Type != urlparse.TypeNone) {
		err = inField(dir.Redacted(), errors.New("is not the directory of an assembly: download the file again"))
	}
	return dir, err
}

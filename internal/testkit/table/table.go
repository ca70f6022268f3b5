// Package table reads the tables of tests from files in testdata, so that the rows need no Go syntax.
package table

import (
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// field is a word, or text in quotation marks or back quotes; a word may come before a quotation mark, as in name="a
// b".
var field = regexp.MustCompile("[^\\s\"`]*\"(?:[^\"\\\\]|\\\\.)*\"|`[^`]*`|\\S+")

// Rows returns the rows of a section of testdata/name: the lines after "[section]", up to the next section; "" means
// all sections. A row consists of fields separated by white space. A field that begins with a quotation mark or a back
// quote is a Go string. Rows skips empty lines and lines that begin with "#".
func Rows(t testing.TB, name, section string) (rows [][]string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", name))
	if err != nil {
		t.Fatal(err)
	}
	within := section == ""
	for line := range strings.Lines(string(text)) {
		line = strings.TrimSpace(line)
		switch {
		case line == "" || line[0] == '#':
		case line[0] == '[':
			within = section == "" || line == "["+section+"]"
		case within:
			rows = append(rows, fields(t, name, line))
		}
	}
	if rows == nil {
		t.Fatalf("testdata/%s has no rows in [%s]", name, section)
	}
	return rows
}

func fields(t testing.TB, name, line string) []string {
	found := field.FindAllString(line, -1)
	for i, f := range found {
		if f[0] != '"' && f[0] != '`' {
			continue
		}
		text, err := strconv.Unquote(f)
		if err != nil {
			t.Fatalf("testdata/%s: %s: %v", name, f, err)
		}
		found[i] = text
	}
	return found
}

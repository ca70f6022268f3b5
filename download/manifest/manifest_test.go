package manifest

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"example.com/ftpfetch/internal/rules/must"
	testdata "example.com/ftpfetch/internal/rules/table"
	"example.com/ftpfetch/urlparse"
)

const (
	md5a      = "0e29c053bcd31072c8bed9eddece1cec"
	md5b      = "5d848b65379c195fe158a5d7324b4a18"
	sha256abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
)

// show returns what reading yields, a line for each item or error.
func show(text string, o Options) string {
	var b strings.Builder
	for item, err := range Read(strings.NewReader(text), o) {
		if err != nil {
			fmt.Fprintln(&b, err)
			continue
		}
		fmt.Fprintln(&b, showItem(item))
	}
	return b.String()
}

func showItem(item Item) string {
	s := fmt.Sprint(item.Line, " ", item.Path)
	for _, u := range item.URLs {
		s += " " + u.Redacted()
	}
	if item.Size != nil {
		s += fmt.Sprint(" ", *item.Size)
	}
	if item.Sum.Algorithm != "" {
		s += " " + item.Sum.String()
	}
	return s
}

func gzipped(text string) string {
	var b strings.Builder
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

// list is a row of testdata/lists.txt: its options, and the texts before and after them.
type list struct {
	Options
	text []string
}

// lists returns the rows of a section.
func lists(t *testing.T, section string) (all []list) {
	t.Helper()
	digests := strings.NewReplacer("{md5a}", md5a, "{md5b}", md5b, "{sha256}", sha256abc)
	for _, row := range testdata.Rows(t, "lists.txt", section) {
		var l list
		for _, field := range row {
			name, value, _ := strings.Cut(field, "=")
			switch name {
			case "keep-dirs":
				l.KeepDirs = true
			case "allow-port":
				l.AllowPort = true
			case "format":
				l.Format = value
			case "base":
				l.Base = must.Get(urlparse.Parse(value))(t)
			case "map":
				l.Map = append(l.Map, must.Get(strconv.Unquote(value))(t))
			default:
				l.text = append(l.text, digests.Replace(field))
			}
		}
		all = append(all, l)
	}
	return all
}

// TestRead reads every form, told by its beginning.
func TestRead(t *testing.T) {
	compressed := gzipped("url\nftp://h/a\n") + gzipped("ftp://h/b\n")
	base := must.Get(urlparse.Parse("ftp://h/d/"))(t)
	for _, l := range append(lists(t, "read"), list{text: []string{"compressed", compressed, "2 a ftp://h/a\n3 b ftp://h/b\n"}},
		list{Options{Map: []string{"url=F"}, Base: base}, []string{"compressed, mapped", gzipped("# made by x\nF,n\na,1\n") + gzipped("# again\nF,n\nb,2\n"), "3 a ftp://h/d/a\n6 b ftp://h/d/b\n"}},
		list{text: []string{"compressed Metalink", gzipped("<metalink>\r\n<file><url>ftp://h/a</url></file></metalink>\r\n"), "2 a ftp://h/a\n"}}) {
		if got, want := show(l.text[1], l.Options), l.text[2]; got != want {
			t.Errorf("%s: got\n%swant\n%s", l.text[0], got, want)
		}
	}
}

// TestBadLines checks that each bad line has its message, and that the good line after it is read.
func TestBadLines(t *testing.T) {
	overlong := list{text: []string{"too long", "", "ftp://h/" + strings.Repeat("x", maxLine+1), "ftp://h/g", "the line is longer than 1048576 bytes"}}
	for _, l := range append(lists(t, "bad lines"), overlong) {
		name, head, bad, good, says := l.text[0], l.text[1], l.text[2], l.text[3], l.text[4]
		n := strings.Count(head, "\n") + 1
		want := fmt.Sprintf("line %d: %s\n", n, says)
		errors, items := "", 0
		for line := range strings.Lines(show(head+bad+"\n"+good+"\n", l.Options)) {
			if strings.HasPrefix(line, "line ") {
				errors += line
			} else if strings.HasPrefix(line, fmt.Sprint(n+1+strings.Count(bad, "\n"), " ")) {
				items++
			}
		}
		if errors != want || items != 1 {
			t.Errorf("%s: got\n%s and %d items, want\n%s and an item of line %d", name, errors, items, want, n+1)
		}
	}
}

// TestFatal checks what ends the reading, because no later line can be understood.
func TestFatal(t *testing.T) {
	cut := list{text: []string{gzipped("ftp://h/a\nftp://h/b\n")[:36], "1 a ftp://h/a\nline 2: the list is compressed and damaged: download it again\n"}}
	damaged := list{text: []string{"\x1f\x8b\x08", "line 1: the list is compressed and damaged: download it again\n"}}
	const long = "line 2: an object or element is longer than 2097152 bytes: leave out what does not count, such as digests of pieces\n"
	endless := list{text: []string{"[\n\"" + strings.Repeat("x", 3*maxLine), long}}
	element := list{text: []string{"<metalink>\n<file><url>" + strings.Repeat("x", 3*maxLine), long}}
	for _, l := range append(lists(t, "fatal"), cut, damaged, endless, element) {
		if got := show(l.text[0], l.Options); got != l.text[1] {
			t.Errorf("%.40q: got\n%swant\n%s", l.text[0], got, l.text[1])
		}
	}
}

// TestReadError checks that an error of the reader comes last and unchanged, in every form, and that half a line is not
// taken for a whole one.
func TestReadError(t *testing.T) {
	want := errors.New("the disk is on fire")
	for _, format := range formats() {
		start := map[string]string{"json": `["`, "tsv": "url\n", "csv": "url\n"}[format]
		broken := func() io.Reader { return io.MultiReader(strings.NewReader(start+"ftp://h/ha"), iotest.ErrReader(want)) }
		o := Options{Format: format, Base: must.Get(urlparse.Parse("ftp://h/"))(t)}
		if files, _, errs := Check(broken(), o); files != 0 || len(errs) == 0 || errs[len(errs)-1] != want {
			t.Errorf("%s: Check has %d files, %v", format, files, errs)
		}
		var got []error
		for item, err := range Read(broken(), o) {
			if err == nil {
				t.Errorf("%s: got %s", format, showItem(item))
			}
			got = append(got, err)
		}
		if len(got) == 0 || got[len(got)-1] != want {
			t.Errorf("%s: got %v", format, got)
		}
	}
}

// TestStop checks that nothing is read after the caller has stopped.
func TestStop(t *testing.T) {
	texts := []string{"ftp://h.x/a\nftp://h.x/b\n", "<ftp://h.x/a> <ftp://h.x/b>", "url\nftp://h.x/a\nftp://h.x/b\n", "x_ftp\ty_ftp\nh/a;h.x/b\th/c\n",
		"<metalink><file><url>ftp://h/a</url></file><file>", "curl ftp://h/a\ncurl\n", "ftp://h/a\n out=b\n\nftp://",
		"{\"url\":\"ftp://h/a\"}\n{}\n", "[{\"url\":\"ftp://h/a\"},1]", "#ftp_path\nftp://h/a\nna\nx\n", "bad\nbad\n"}
	for _, text := range texts {
		n := 0
		for range Read(strings.NewReader(text), Options{}) {
			n++
			break
		}
		if n != 1 {
			t.Errorf("%q: %d", text, n)
		}
	}
}

func TestGuess(t *testing.T) {
	for text, want := range map[string]string{
		"":                            "list",
		"ftp://h/a":                   "list",
		"nonsense":                    "list",
		"ftp://h/a\n<URL:ftp://h/b>":  "list",
		"url":                         "tsv",
		"a\tfastq_ftp":                "tsv",
		"_ftp":                        "list",
		"http://h/a\tftp://h/a":       "list",
		"<?xml version='1.0'?>\n<m/>": "metalink",
		"<metalink xmlns='x'>":        "metalink",
		"<html>":                      "list",
		"#!/bin/sh\n\ncurl -L x":      "curl",
		"#!/bin/sh\nset -e\ncurl x":   "curl",
		"#!/bin/x\nftp://h/a":         "list",
		"a,URL":                       "csv",
		"#ftp_path":                   "tsv",
		"a,b":                         "csv",
		"h/x,v":                       "list",
		" {":                          "json",
		"[":                           "json",
		"# x\n" + md5a + "  a":        "sums",
		"SHA256 (a) = " + sha256abc:   "sums",
		strings.Repeat("#x\n", 1<<10): "list",
	} {
		if got := (&reader{}).guess(text); got != want {
			t.Errorf("guess(%.30q) = %q, want %q", text, got, want)
		}
	}
}

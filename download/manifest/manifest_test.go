package manifest

import (
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"net/url"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"

	"example.com/ftpfetch/internal/testkit/must"
	testdata "example.com/ftpfetch/internal/testkit/table"
	"example.com/ftpfetch/urlparse"
)

const md5a = "0e29c053bcd31072c8bed9eddece1cec"
const md5b = "5d848b65379c195fe158a5d7324b4a18"
const sha256abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"

// show returns what Read yields, one line for each item or error.
func show(text string, o Options) string {
	var b strings.Builder
	for item, err := range Read(strings.NewReader(text), &o) {
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

// lists returns the rows of a section of testdata/lists.txt.
func lists(t *testing.T, section string) (all []list) {
	t.Helper()
	digests := strings.NewReplacer("{md5a}", md5a, "{md5b}", md5b, "{sha256}", sha256abc)
	for _, row := range testdata.Rows(t, "lists.txt", section) {
		var l list
		for _, field := range row {
			switch name, value, _ := strings.Cut(field, "="); name {
			case "keep-dirs":
				l.KeepDirs = true
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

// TestRead reads every form, which the beginning of the list shows.
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

// TestFatal checks the errors that end the reading, because no later line can be parsed.
func TestFatal(t *testing.T) {
	cut := list{text: []string{gzipped("ftp://h/a\nftp://h/b\n")[:36], "1 a ftp://h/a\nline 2: the list is compressed and damaged: download it again\n"}}
	damaged := list{text: []string{"\x1f\x8b\x08", "line 1: the list is compressed and damaged: download it again\n"}}
	const long = "line 2: an object or element is longer than 1048576 bytes: leave out what does not count, such as digests of pieces\n"
	endless := list{text: []string{"[\n\"" + strings.Repeat("x", 3*maxLine), long}}
	element := list{text: []string{"<metalink>\n<file><url>" + strings.Repeat("x", 3*maxLine), long}}
	for _, l := range append(lists(t, "fatal"), cut, damaged, endless, element) {
		if got := show(l.text[0], l.Options); got != l.text[1] {
			t.Errorf("%.40q: got\n%swant\n%s", l.text[0], got, l.text[1])
		}
	}
}

// TestReadError checks in every form that an error of the reader comes last and unchanged, and that Read does not take
// half a line for a whole one.
func TestReadError(t *testing.T) {
	want := errors.New("the disk is on fire")
	for _, format := range Formats() {
		start := map[string]string{"json": `["`, "tsv": "url\n", "csv": "url\n"}[format]
		broken := func() io.Reader { return io.MultiReader(strings.NewReader(start+"ftp://h/ha"), iotest.ErrReader(want)) }
		o := Options{Format: format, Base: must.Get(urlparse.Parse("ftp://h/"))(t)}
		if files, _, errs := Check(broken(), &o); files != 0 || len(errs) == 0 || errs[len(errs)-1] != want {
			t.Errorf("%s: Check has %d files, %v", format, files, errs)
		}
		var got []error
		for item, err := range Read(broken(), &o) {
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

// TestStop checks that Read yields nothing after the caller has stopped.
func TestStop(t *testing.T) {
	texts := []string{"ftp://h.x/a\nftp://h.x/b\n", "<ftp://h.x/a> <ftp://h.x/b>", "url\nftp://h.x/a\nftp://h.x/b\n", "x_ftp\ty_ftp\nh/a;h.x/b\th/c\n",
		"<metalink><file><url>ftp://h/a</url></file><file>", "curl ftp://h/a\ncurl\n", "ftp://h/a\n out=b\n\nftp://",
		"{\"url\":\"ftp://h/a\"}\n{}\n", "[{\"url\":\"ftp://h/a\"},1]", "#ftp_path\nftp://h/a\nna\nx\n", "bad\nbad\n"}
	for _, text := range texts {
		n := 0
		for range Read(strings.NewReader(text), nil) {
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
	all := heads(t)
	for _, form := range Formats() {
		if got := (&reader{}).guess(all[form]); got != form {
			t.Errorf("the beginning of %s in lists.txt is one of %s", form, got)
		}
	}
}

// password matches text that is certainly a password: between the colon and the "@" of the login of a URL, and long
// enough.
var password = regexp.MustCompile(`(?i)ftp(?:s|es)?://[a-z0-9]+:([A-Za-z0-9#]{8,})@`)

// secrets returns the passwords in a text that do not occur elsewhere in it.
func secrets(text string) (list []string) {
	found := make(map[string]int)
	for _, m := range password.FindAllStringSubmatch(text, -1) {
		found[m[1]]++
	}
	for secret, n := range found {
		if strings.Count(text, secret) == n {
			list = append(list, secret)
		}
	}
	return list
}

// checkReading reads a text and checks what Read promises for every text.
func checkReading(t *testing.T, text string, o Options) {
	hidden, last := secrets(text), 0
	for item, err := range Read(strings.NewReader(text), &o) {
		if err != nil {
			checkFault(t, text, err, hidden)
			continue
		}
		if item.Line < last || item.Line > lineCount(text) {
			t.Errorf("%q: line %d after %d", text, item.Line, last)
		}
		last = item.Line
		if len(item.URLs) == 0 || !filepath.IsLocal(filepath.FromSlash(item.Path)) || strings.HasSuffix(item.Path, "/") {
			t.Errorf("%q: %s", text, showItem(item))
		}
		for _, u := range item.URLs {
			if err := u.Check(); err != nil || u.IsDir() {
				t.Errorf("%q: %s: %v", text, u, err)
			}
		}
		if item.Size != nil && *item.Size < 0 || (len(item.Sum.Digest) == 0) != (item.Sum.Algorithm == "") {
			t.Errorf("%q: %s", text, showItem(item))
		}
	}
}

// lineCount returns the maximum number of lines in a text. A compressed text may have any number.
func lineCount(text string) int {
	if strings.HasPrefix(text, "\x1f\x8b") {
		return 1 << 30
	}
	return strings.Count(text, "\n") + 1
}

func checkFault(t *testing.T, text string, err error, hidden []string) {
	var line int
	if n, _ := fmt.Sscanf(err.Error(), "line %d: ", &line); n != 1 || !errors.Is(err, ErrLine) || line < 1 || line > lineCount(text) {
		t.Errorf("%q: %v", text, err)
	}
	if strings.ContainsAny(err.Error(), "\r\n\x00\x1b") {
		t.Errorf("%q: the message %q is not a printable line", text, err)
	}
	for _, secret := range hidden {
		if strings.Contains(err.Error(), secret) {
			t.Errorf("%q: %q is in %v", text, secret, err)
		}
	}
}

const secret = "ftp://joe:hunter2hunter2@h/d/f"

// FuzzRead reads a text as one of the forms.
func FuzzRead(f *testing.F) {
	base := &urlparse.URL{Scheme: "ftp", Host: "h", User: url.UserPassword("joe", "hunter2hunter2"), Dirs: []string{"d"}}
	forms := []struct {
		o     Options
		seeds []string
	}{
		{Options{}, []string{"", "ftp://h/a\n# x\r\n\n" + secret + "#x", "<URL:" + secret + "\n>", "url\tpath\n" + secret + "\tx", "url,size\n" + secret + ",1", "{\"url\":\"" + secret + "\"}", "[{}]",
			"#ftp_path\n" + secret, md5a + "  a", "x_ftp\tx_md5\nh/a;h/b\t;", "\xff\xfe", "\x1f\x8b", "\ufeffurl\n"}},
		{Options{Format: "list", KeepDirs: true}, []string{secret, "ftp://h/a," + secret + "/", secret + " x\n\n#\nURL:ftp://h//a/../b\n", "<URL:" + secret + ">\n", "http://joe:hunter2hunter2@h/"}},
		{Options{Format: "tsv"}, []string{"url\tpath\tsize\tmd5\tsha256\tchecksum\turls\n" + secret + "\ta/b\t1\t" + md5a + "\t\tmd5:" + md5a + "\t" + secret + " " + secret + "\n",
			"size\turl\tmd5\n" + secret + "\t1\t2\n", "url\tpath\nftp://h/x\t" + secret + "\n", "url\tchecksum\tsize\nftp://h/x\t" + secret + "\t" + secret + "\n" + secret}},
		{Options{Format: "csv"}, []string{"url,path\n" + secret + ",\"a\nb\"\n", "\"url\",\"x\"\"y\"\n\"" + secret + ",\n" + secret + ",\"\n", secret + ",\"x\n"}},
		{Options{Format: "tsv", KeepDirs: true}, []string{"fastq_ftp\tfastq_md5\tfastq_bytes\nh/a#;h/b%\t" + md5a + ";\t1;\n\t\t\n", "x_ftp\n" + secret + "#;joe:hunter2hunter2@h/a b\n"}},
		{Options{Format: "json"}, []string{`[{"url":"` + secret + `#"},` + "\n" + `{"urls":["ftp://h/a"],"size":1,"path":null}]`, "[1,[],{}]", "[" + secret, `[{"fastq_ftp":"h/a","fastq_md5":""}`}},
		{Options{Format: "ndjson"}, []string{`{"url":"` + secret + `#"}` + "\n" + `{"path":"` + secret + `","url":"ftp://h/a"}` + "\n#\n" + secret, `{"size":"` + secret + `","url":"ftp://h/a"}`}},
		{Options{Map: []string{"ncbi:_x", "ncbi:/../y"}}, []string{"##\n#a\tftp_path\nx\tna\nx\thttps://ftp.ncbi.nlm.nih.gov/a/b\n" + secret, "#ftp_path\n" + secret + "#\nhttps://joe:hunter2hunter2@h/\n"}},
		{Options{Map: []string{"url=u,md5=m,path=p", "url=v"}, Base: base}, []string{"#u\tv\tm\tp\n" + secret + ";type=i;x\t" + secret + "#\t" + md5a + "\t\nu\tv\tm\tp\n..\tna\t\t\n",
			"m,p,v,u\n" + secret + ",1,,\n", `{"list":[{"u":["a","` + secret + `"],"v":null,"m":"","p":1}],"a":"` + md5a + `"}`, gzipped("u,v\n1,2,3\n"), secret + "\n"}},
		{Options{Base: base}, []string{"{\"a\":\n\"" + md5a + "\",\"b/../c\":\"" + md5a + "\",\"x\":{\"y\":[1,\"z\",{\"url\":\"" + secret + "\"}]}}", "# FTP root number 1 : " + secret + "\nfile,date\na/b,1\n"}},
		{Options{Format: "sums", Base: base}, []string{md5a + "  ./a/b\n" + md5a + " *../c\nMD5 (x) = " + md5a + "\n\\" + md5a + "  a\\nb\n", secret}},
		{Options{Format: "list", Base: base}, []string{secret + "\thttp://joe:hunter2hunter2@i/a\n out=a/../b\n dir=./\n checksum=md5=" + md5a + "\n\tchecksum=" + secret + "\n x=" + secret + "\n", " out=x\na\tb\n dir=..\n", secret + "\n dir=/\n\n out=\n"}},
		{Options{Format: "metalink"}, []string{"<?xml?><metalink><file name='a'><size>3</size><hash type='md5'>" + md5a + "</hash><url priority='1'>" + secret + "#</url><url>ftp://h/a</url><url>http://joe:hunter2hunter2@h/</url></file></metalink>",
			"<metalink><files><file name='" + secret + "'><verification><hash type='sha-1'>x</hash></verification><resources><url preference='9'>" + secret + "</url></resources></file>", "<file name='a'>\n<file name='../b'/>\n<url>" + secret + "</file>"}},
		{Options{Format: "curl"}, []string{"curl -L " + secret + " -o 'a'\ncurl -o \"" + secret + "\" ftp://h/a\ncurl\ncurl -o\n'\n'' '\n" + secret}},
	}
	for n, form := range forms {
		for _, seed := range form.seeds {
			f.Add(byte(n), seed)
		}
	}
	f.Fuzz(func(t *testing.T, n byte, text string) { checkReading(t, text, forms[int(n)%len(forms)].o) })
}

// FuzzCheck checks that Check finds all conflicts: the paths of the items that it accepts can all exist together.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{"ftp://h/a\nftp://h/a\n", "url\tpath\nftp://h/a\tx\nftp://h/b\tx/y\nftp://h/b\tx/y\n", "bad\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		files, _, errs := Check(strings.NewReader(text), nil)
		paths := map[string]bool{}
		for item, err := range Read(strings.NewReader(text), nil) {
			if err != nil && len(errs) == 0 {
				t.Errorf("%q: not found: %v", text, err)
			} else if err == nil {
				paths[item.Path] = true
			}
		}
		for path := range paths {
			for i := range path {
				if path[i] == '/' && len(errs) == 0 && paths[path[:i]] {
					t.Errorf("%q: %s is a file and above %s", text, path[:i], path)
				}
			}
		}
		if len(errs) == 0 && len(paths) != files {
			t.Errorf("%q: %d files read, %d counted", text, len(paths), files)
		}
	})
}

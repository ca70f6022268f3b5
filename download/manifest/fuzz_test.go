package manifest

import (
	"errors"
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"example.com/ftpfetch/urlparse"
)

// password finds what is certainly a password: between the colon and the "@" of the login of a URL, and long enough to
// tell.
var password = regexp.MustCompile(`(?i)ftp(?:s|es)?://[a-z0-9]+:([A-Za-z0-9#]{8,})@`)

// secrets returns the passwords in a text that are nowhere else in it.
func secrets(text string) (list []string) {
	for _, m := range password.FindAllStringSubmatch(text, -1) {
		if strings.Count(text, m[1]) == strings.Count(text, ":"+m[1]+"@") {
			list = append(list, m[1])
		}
	}
	return list
}

// checkReading reads a text and checks what Read promises of every one.
func checkReading(t *testing.T, text string, o Options) {
	hidden, last := secrets(text), 0
	for item, err := range Read(strings.NewReader(text), o) {
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

// lineCount returns how many lines a text may have: what is compressed has any number.
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
	base := &urlparse.URL{Scheme: urlparse.FTP, Host: "h", User: url.UserPassword("joe", "hunter2hunter2"), Dirs: []string{"d"}}
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

// FuzzCheck checks that Check finds all that is in the way: what it lets pass has paths that can all exist together.
func FuzzCheck(f *testing.F) {
	for _, seed := range []string{"ftp://h/a\nftp://h/a\n", "url\tpath\nftp://h/a\tx\nftp://h/b\tx/y\nftp://h/b\tx/y\n", "bad\n"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		files, _, errs := Check(strings.NewReader(text), Options{})
		paths := map[string]bool{}
		for item, err := range Read(strings.NewReader(text), Options{}) {
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

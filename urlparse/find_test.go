package urlparse

import (
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/iotest"
)

// findAll returns a line "LINE URL" or "LINE error COLUMN TEXT" for each hit.
func findAll(r io.Reader) (lines []string, err error) {
	err = Find(r, func(line int, u *URL, err error) bool {
		if e, ok := errors.AsType[*Error](err); ok {
			lines = append(lines, strconv.Itoa(line)+" error "+strconv.Itoa(e.column)+" "+inner(e.Input))
		} else {
			lines = append(lines, strconv.Itoa(line)+" "+u.String())
		}
		return true
	})
	return lines, err
}

// TestAppendixFind tests the wrapper in free text.
func TestAppendixFind(t *testing.T) {
	testFind(t, []findCase{
		{"the Appendix's example",
			"Yes, Jim, I found it under <URL:ftp://info.cern.ch/pub/www/doc;\n      type=d> but you can probably pick it up from <URL:ftp://ds.in\n" +
				"      ternic.net/rfc>.  Note the warning in <URL:http://ds.internic.\n      net/instructions/overview.html#WARNING>.\n",
			[]string{"1 ftp://info.cern.ch/pub/www/doc;type=d", "2 ftp://ds.internic.net/rfc"}},
		{"any case", "<url:FTP://H/a><Url:ftp://h/b>", []string{"1 ftp://h/a", "1 ftp://h/b"}},
		{"no space before", "see<URL:ftp://h/a>x", []string{"1 ftp://h/a"}},
		{"spaces, tabs, CR LF", "\n<URL: ftp://h/a \t\r\n /b\v\f >", []string{"2 ftp://h/a/b"}},
		{"hyphen before a break stays", "<URL:ftp://h/a-\n b>", []string{"1 ftp://h/a-b"}},
		{"URL holds what ends a bare one", `<URL:ftp://h/a(b),.>`, []string{"1 ftp://h/a(b),."}},
		{"other schemes", "<URL:http://h/> <URL:news:x> <URL:h\nttp://h>", nil},
		{"malformed, then another", "<URL:ftp://h/a\n#b> <URL:ftp://h/c>", []string{"1 error 16 ftp://h/a#b", "2 ftp://h/c"}},
		{"no scheme", "<URL:h/a>", []string{"1 error 6 h/a"}},
		{"not closed before another", "<URL:ftp://h/a <URL:ftp://h/b>", []string{"1 error 16 ftp://h/a", "1 ftp://h/b"}},
		{"not closed", "x\n<URL:ftp://u:secret@h/a b", []string{"2 error 26 ftp://u:***@h/ab"}},
		{"not closed, other scheme", "<URL:http://h/a", nil},
		{"password", "<URL:ftp://u:se\ncret@h/a>", []string{"1 ftp://u:secret@h/a"}},
		{"nothing", "URL <URL ftp: ftp:/ <ftp", nil},
		{"empty", "", nil},
	})
}

// TestFindBare tests URLs without a wrapper.
func TestFindBare(t *testing.T) {
	testFind(t, []findCase{
		{"alone on lines", "ftp://h/a\n  ftps://h/b  \r\n\nftpes://h/c", []string{"1 ftp://h/a", "2 ftps://h/b", "4 ftpes://h/c"}},
		{"alone: taken whole", "ftp://h/a.\nftp://h/b,c)\t\nURL:ftp://h/d;type=d\n", []string{"1 ftp://h/a.", "2 ftp://h/b,c)", "3 ftp://h/d;type=d"}},
		{"in a sentence", "See ftp://h/a, ftp://h/b. And (ftp://h/c). Or ftp://h/d!?: yes",
			[]string{"1 ftp://h/a", "1 ftp://h/b", "1 ftp://h/c", "1 ftp://h/d"}},
		{"bracket of the URL", "see ftp://h/a(1). [see ftp://h/b(2)] {ftp://[::1]}",
			[]string{"1 ftp://h/a(1)", "1 ftp://h/b(2)", "1 ftp://[::1]/"}},
		{"quotes", `a="ftp://h/a." 'ftp://h/it' ` + "`ftp://h/c`", []string{"1 ftp://h/a.", "1 ftp://h/it", "1 ftp://h/c"}},
		{"apostrophe within", "see ftp://h/it's there", []string{"1 ftp://h/it's"}},
		{"typographic quotes", "“ftp://h/a” and «ftp://h/b»", []string{"1 ftp://h/a", "1 ftp://h/b"}},
		{"angle brackets", "<ftp://h/a.> <a>ftp://h/b</a>", []string{"1 ftp://h/a.", "1 ftp://h/b"}},
		{"not closed", "x <ftp://h/a b> \"ftp://h/c d\"", []string{"1 error 10 ftp://h/a", "1 error 10 ftp://h/c"}},
		{"prefix", "URL:ftp://h/a or url:FTP://h/b.", []string{"1 ftp://h/a", "1 ftp://h/b"}},
		{"not at a boundary", "sftp://h/a xftp://h/b http://h/?ftp://h/c a,ftp://h/d CURL:ftp://h/e", nil},
		{"a mere scheme", "ftp:// or ftp://... are no URLs", nil},
		{"a mere scheme alone", "ftp://", []string{"1 error 7 ftp://"}},
		{"malformed", "get ftp://u:secret@h/a#b, ftp://h/c", []string{"1 error 19 ftp://u:***@h/a#b", "1 ftp://h/c"}},
		{"malformed alone", "ftp://h:x/\nftp://h/b", []string{"1 error 9 ftp://h:***/", "2 ftp://h/b"}},
		{"another on the line", "ftp://h/a. ftp://h/b.\n", []string{"1 ftp://h/a", "1 ftp://h/b"}},
		{"slashes at the end", "see ftp://h// now", []string{"1 ftp://h//"}},
	})
}

type findCase struct {
	name, in string
	want     []string
}

func testFind(t *testing.T, cases []findCase) {
	t.Helper()
	for _, c := range cases {
		for _, r := range []io.Reader{strings.NewReader(c.in), iotest.OneByteReader(strings.NewReader(c.in)), iotest.DataErrReader(strings.NewReader(c.in))} {
			if got, err := findAll(r); !slices.Equal(got, c.want) || err != nil {
				t.Errorf("%s:\n got %q, %v\nwant %q", c.name, got, err, c.want)
			}
		}
	}
}

// TestFindBoundsMemory reads URLs without end: each is one error, and the search continues after it.
func TestFindBoundsMemory(t *testing.T) {
	endless := strings.Repeat("a", 3*maxFound)
	for in, want := range map[string]string{
		"<URL:ftp://h/" + endless + "> ftp://h/b": "1 ftp://h/b", "ftp://h/" + endless + "\nftp://h/b": "2 ftp://h/b",
		"x ftp://h/" + endless + ". <URL:ftp://h/b>": "1 ftp://h/b", "<URL:http://h/" + endless + ">": "",
	} {
		got, err := findAll(strings.NewReader(in))
		if n := len(got); want == "" && n != 0 || want != "" && (n != 2 || !strings.HasPrefix(got[0], "1 error 65537 ftp://h/aaa") || got[1] != want || len(got[0]) > maxFound+100) || err != nil {
			t.Errorf("%.20s: %d hits, %v", in, n, err)
		}
	}
}

// Find ends with the error of the reader, or when found returns false.
func TestFindEnds(t *testing.T) {
	broken := errors.New("broken")
	for _, in := range []string{"", "x", "ftp://h/a ", "ftp://h/a \n<URL:ftp", "ftp://h/a <URL:ftp://h/b", "ftp://h/a ftp://h/b", "ftp://h/a  f"} {
		got, err := findAll(io.MultiReader(strings.NewReader(in), iotest.ErrReader(broken)))
		if !errors.Is(err, broken) || strings.Contains(strings.Join(got, " "), "/b") {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	_, err := findAll(iotest.TimeoutReader(iotest.OneByteReader(strings.NewReader("ftp://h/a"))))
	if !errors.Is(err, iotest.ErrTimeout) {
		t.Errorf("a passing error is lost: %v", err)
	}
	n := 0 // found may end it
	if err := Find(strings.NewReader("ftp://h/a ftp://h/b"), func(int, *URL, error) bool { n++; return false }); n != 1 || err != nil {
		t.Errorf("%d hits, %v", n, err)
	}
}

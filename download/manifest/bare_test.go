package manifest

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/urlparse"
)

// bareLines are lines of lists without a header, as they lie around. URL, SUM, NAME and ALGO stand for what they say. A
// line with 7 has a size. The digest of "bare" lines has no name of an algorithm beside it.
var bareLines = []string{
	"URL SUM", "URL   SUM", "  URL SUM ", "URL\tSUM", "URL \t SUM\t", "SUM URL", "SUM  URL", "SUM *URL", "SUM\tURL", "SUM\t*URL",
	"URL,SUM", "URL, SUM", "SUM,URL", `"URL","SUM"`, `"URL", "SUM"`, `"SUM","URL"`, "\"URL\"\t\"SUM\"", `"URL" SUM`, "URL,SUM,",
	"URL SUM 7", "URL 7 SUM", "SUM 7 URL", "SUM  URL  7", "URL\tSUM\t7", "URL\t7\tSUM", "URL,7,SUM", "SUM,7,URL", `"URL","7","SUM"`, "URL\t\tSUM",
	"NAME URL SUM", "NAME\tURL\tSUM", "URL,NAME,SUM", "SUM  URL  NAME", "NAME,URL,7,SUM",
	"URL ALGO:SUM", "ALGO=SUM URL", "URL\tALGO:SUM", "URL,ALGO:SUM", "ALGO (URL) = SUM", "ALGO(URL)= SUM",
}

// dressings are what surrounds the two lines of a list and does not count.
var dressings = map[string]string{
	"LF": "%s\n%s\n", "CRLF": "%s\r\n%s\r\n", "no last end": "%s\n%s", "a mark": "\ufeff%s\n%s\n", "a mark and CRLF": "\ufeff%s\r\n%s",
	"comments": "# made by hand\n\n%s\n#x,y\n \t \n%s\n#\n", "comments like headers": "# link, md5\r\n%s\r\n\r\n# a\tb\r\n%s\r\n",
}

// bareSums are the digests of two files.
var bareSums = map[string][]string{
	"md5": {md5a, md5b}, "sha1": {md5a + "01234567", md5b + "89abcdef"}, "sha256": {sha256abc, md5a + md5b},
	"sha512": {sha256abc + md5a + md5b, md5b + md5a + sha256abc},
}

// bareURLs are the URLs of two files in a list with a base, and what is read: their paths and URLs.
var bareURLs = []struct {
	base       string
	text, want []string
}{
	{"", []string{"ftp://h/d/a", "ftp://h/b"}, []string{"a ftp://h/d/a", "b ftp://h/b"}},
	{"ftp://i/", []string{"ftp://h/d/a", "ftp://h/b"}, []string{"a ftp://h/d/a", "b ftp://h/b"}},
	{"", []string{"FTPS://u:hunter2@h:990/a%20b", "URL:ftpes://h/%2Fx/c%2Cd;type=a"}, []string{"a b ftps://u:***@h:990/a%20b", "c,d ftpes://h/%2Fx/c,d;type=a"}},
	{"", []string{"ftp://h/d/1234", "ftp://h/deadbeefdeadbeef"}, []string{"1234 ftp://h/d/1234", "deadbeefdeadbeef ftp://h/deadbeefdeadbeef"}},
	{"ftp://h/x/", []string{"d/a.gz", "./7z"}, []string{"a.gz ftp://h/x/d/a.gz", "7z ftp://h/x/7z"}},
	{"ftp://", []string{"h.y/d/a.gz", "h.x:2121/b,c.gz"}, []string{"a.gz ftp://h.y/d/a.gz", "b,c.gz ftp://h.x:2121/b,c.gz"}},
}

// bareList is a list of two files, and what is read of it.
type bareList struct {
	what string
	o    Options
	line []string
	want []string
	// one has a digest that may be of two algorithms
	unclear bool
}

// text returns the list in a dressing.
func (l *bareList) text(dressing string) string { return fmt.Sprintf(dressing, l.line[0], l.line[1]) }

// bareLists returns a list for each line, algorithm and URL that go together.
func bareLists(t *testing.T) (lists []bareList) {
	t.Helper()
	for _, line := range bareLines {
		for _, u := range bareURLs {
			relative := !strings.Contains(u.text[0], "://")
			comma := strings.Contains(line, ",") && strings.Contains(u.text[1], ",")
			named := strings.Contains(line, "NAME") && (relative || strings.Contains(u.want[0], "a b"))
			if relative && !strings.HasPrefix(strings.TrimLeft(line, ` "`), "URL") || comma || named {
				continue // another form, or a line that nobody can read
			}
			for algo, sums := range bareSums {
				for _, upper := range []bool{false, true} {
					l := bareList{what: fmt.Sprintf("%s of %q, %s, base %q", algo, line, u.text[0], u.base)}
					if u.base == "ftp://" {
						l.o.Base = &urlparse.URL{Scheme: "ftp"}
					} else if u.base != "" {
						l.o.Base = must.Get(urlparse.Parse(u.base))(t)
					}
					l.unclear = algo == "sha512" && !strings.Contains(line, "ALGO")
					for i, sum := range sums {
						l.add(line, u.text[i], u.want[i], algo, sum, upper)
					}
					lists = append(lists, l)
				}
			}
		}
	}
	return lists
}

// add adds a line and what is read of it.
func (l *bareList) add(line, text, want, algo, sum string, upper bool) {
	name, _, _ := strings.Cut(want, " ftp")
	if strings.Contains(line, "7") {
		want += " 7"
	}
	l.want = append(l.want, want+" "+algo+":"+sum)
	if upper {
		algo = strings.ToUpper(algo)
		sum = strings.ToUpper(sum)
	}
	l.line = append(l.line, strings.NewReplacer("URL", text, "SUM", sum, "ALGO", algo, "NAME", name).Replace(line))
}

// bareRead returns what is read of a list, without the numbers of the lines, and its errors.
func bareRead(text string, o Options) (items, faults []string) {
	for line := range strings.Lines(show(text, o)) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "line ") {
			faults = append(faults, line)
		} else {
			_, item, _ := strings.Cut(line, " ")
			items = append(items, item)
		}
	}
	return items, faults
}

// advised matches what an error says to set Options.Map to.
var advised = regexp.MustCompile(`set Options\.Map to ([a-z0-9=,]+)\)$`)

// checkBare reads a list. If a digest may be of two algorithms, each line is an error whose advice makes the list
// readable.
func checkBare(t *testing.T, l bareList, text string) {
	t.Helper()
	got, faults := bareRead(text, l.o)
	if l.unclear {
		if len(got) != 0 || len(faults) != 2 || advised.FindStringSubmatch(faults[0]) == nil {
			t.Errorf("%s: %q: %q, %q", l.what, text, got, faults)
			return
		}
		l.o.Map = advised.FindStringSubmatch(faults[0])[1:]
		if got, faults = bareRead(text, l.o); len(got) == 2 && !strings.Contains(text, "://") {
			l.want = got // a mapped relative name is below the base with its directories
		}
	}
	if !slices.Equal(got, l.want) || faults != nil {
		t.Errorf("%s: %q with %q: got %q, %q\nwant %q", l.what, text, l.o.Map, got, faults, l.want)
	}
}

// TestBare reads each list without a header in each dressing.
func TestBare(t *testing.T) {
	cases := 0
	for _, l := range bareLists(t) {
		for _, name := range slices.Sorted(maps.Keys(dressings)) {
			cases++
			checkBare(t, l, l.text(dressings[name]))
		}
	}
	t.Logf("%d cases", cases)
}

// TestBareBadLines spoils a line between two good ones in each list. It must be an error that speaks of the digest, and
// that shows neither the line nor a password. The other lines are read.
func TestBareBadLines(t *testing.T) {
	cases := 0
	for _, l := range bareLists(t) {
		if l.unclear {
			continue
		}
		_, hex, _ := strings.Cut(l.want[0][strings.LastIndex(l.want[0], " "):], ":")
		for what, bad := range map[string]string{"short": hex[1:], "long": hex + "0", "56": (hex + hex)[:56], "none": "g" + hex[1:], "half": hex[:16]} {
			cases++
			line := strings.NewReplacer(hex, bad, strings.ToUpper(hex), strings.ToUpper(bad)).Replace(l.line[0])
			text := l.line[0] + "\n" + line + "\n" + l.line[1] + "\n"
			got, faults := bareRead(text, l.o)
			if !slices.Equal(got, l.want) || len(faults) != 1 || !strings.HasPrefix(faults[0], "line 2: ") ||
				!strings.Contains(faults[0], "digest") && !strings.Contains(faults[0], "hexadecimal") || strings.Contains(faults[0], "hunter2") {
				t.Errorf("%s, %s: %q: got %q, %q", l.what, what, text, got, faults)
			}
		}
	}
	t.Logf("%d cases", cases)
}

// TestBareTwoURLs joins two URLs on a line, which is an error unless a tab says that they are of the same file.
func TestBareTwoURLs(t *testing.T) {
	one, two := "ftp://u:hunter2@h/a", "ftps://i/b"
	for _, between := range []string{" ", "   ", ",", ", ", ";", "|", `","`} {
		for _, before := range []string{"", md5a + " ", md5a + "  "} {
			for _, behind := range []string{"", " " + md5a, "," + md5a} {
				text := before + one + between + two + behind
				if between == `","` {
					text = `"` + before + one + between + two + `"` + behind
				}
				items, faults := bareRead("ftp://h/x\n"+text+"\nftp://h/y\n", Options{})
				if len(items) != 2 || len(faults) != 1 || strings.Contains(faults[0], "hunter2") || strings.Contains(faults[0], "%20") && !strings.Contains(faults[0], "digest") {
					t.Errorf("%q: got %q, %q", text, items, faults)
				}
			}
		}
	}
	for _, text := range []string{one + "\t" + two, one + "\t" + two + "\t" + md5a, md5a + "\t" + one + "\t" + two} {
		if items, faults := bareRead(text, Options{}); len(items) != 1 || faults != nil || !strings.Contains(items[0], " ftps://i/b") {
			t.Errorf("%q: got %q, %q", text, items, faults)
		}
	}
}

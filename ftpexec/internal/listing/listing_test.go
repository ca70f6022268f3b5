package listing

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/internal/testkit/table"
)

// now is when the lines are read, unless a test says otherwise.
var now = time.Date(2005, 6, 15, 12, 0, 0, 0, time.UTC)

// lines returns the lines of MLSD or LIST in testdata/lines.txt: where each is from, the line itself, and what it says.
func lines(t testing.TB, command string) [][]string { return table.Rows(t, "lines.txt", command) }

// LIST reads a line that stands alone.
func LIST(line string, now time.Time) (Item, error) { return NewReader(nil, "", now).LIST(line) }

// text returns what an Item says. It leaves out what is unknown.
func text(item Item) string {
	all := []string{item.Mode.String()}
	if !item.HasPerm {
		all[0] = all[0][:len(all[0])-len("rwxrwxrwx")]
	}
	add := func(known bool, format string, value any) {
		if known {
			all = append(all, fmt.Sprintf(format, value))
		}
	}
	add(true, "name=%q", item.Name)
	add(item.Size >= 0, "size=%d", item.Size)
	add(!item.Time.IsZero(), "time=%s", item.Time.Format("2006-01-02T15:04:05.999999999"))
	add(item.Precision != 0, "to=%v", item.Precision)
	add(item.UTC, "zone=%s", "UTC")
	add(item.Unique != "", "unique=%q", item.Unique)
	add(item.Target != "", "target=%q", item.Target)
	return strings.Join(all, " ")
}

func testLines(t *testing.T, command string, read func(line string) (Item, error)) {
	for _, row := range lines(t, command) {
		source, line, want := row[0], row[1], strings.Join(row[2:], " ")
		if got, err := read(line); err != nil || text(got) != want {
			t.Errorf("%s: %q\n got %s, %v\nwant %s", source, line, text(got), err, want)
		}
	}
}

func TestMLSD(t *testing.T) { testLines(t, "MLSD", MLSD) }

func TestLIST(t *testing.T) {
	testLines(t, "LIST", func(line string) (Item, error) { return LIST(line, now) })
}

// One line has one format: no other would read it differently.
func TestFormatsDoNotOverlap(t *testing.T) {
	for _, row := range lines(t, "LIST") {
		line, n := row[1], 0
		for _, f := range formats {
			if _, _, ok := NewReader(nil, "", now).by(f, line); ok {
				n++
			}
		}
		if n != 1 {
			t.Errorf("%d formats match %q", n, line)
		}
	}
}

func TestNoEntry(t *testing.T) {
	for _, line := range []string{"", " ", "total 0", "total 14786", "insgesamt 12", "total 4.5K", "Directory DISK$PCSA:[ANONYM]", "Total of 11 Files, 10966 Blocks.",
		"Volume Unit    Referred Ext Used Recfm Lrecl BlkSz Dsorg Dsname", " Name     VV.MM   Created       Changed      Size  Init   Mod   Id",
		"drwxr-xr-x    2 0        0            4096 Jun 15 03:04 .", "drwxr-xr-x    2 0        0            4096 Jun 15 03:04 .."} {
		if got, err := LIST(line, now); !errors.Is(err, ErrNoEntry) {
			t.Errorf("LIST(%q): got %+v, %v, want ErrNoEntry", line, got, err)
		}
	}
	for _, line := range []string{"Type=cdir;Perm=el;Unique=keVO1+ZF4; test", "Type=pdir;Perm=e;Unique=keVO1+d?3; ..", "type=dir; ."} {
		if got, err := MLSD(line); !errors.Is(err, ErrNoEntry) {
			t.Errorf("MLSD(%q): got %+v, %v, want ErrNoEntry", line, got, err)
		}
	}
}

func TestUnknown(t *testing.T) {
	for _, line := range []string{"name", "a b c", "ls: .: Permission denied", "total", "drwxr-xr-x", "drwxr-xr-x 2 ftp ftp 4096 Jan  2 15:04", "drwxr-xr-x 2 ftp ftp 4096 Jan  2 15:04 ",
		"-rw-r--r-- 1 ftp ftp 4096 n", "Zrwxrwxrwx 1 root other 7 Jan 25 00:17 n",
		"lrwxrwxrwx 1 0 0 7 Jan 25 00:17  -> n", "13-13-06  03:04PM       <DIR>          ", "+i8388621.48594,m825718503", "X.TXT;1"} {
		if got, err := LIST(line, now); !errors.Is(err, ErrUnknown) {
			t.Errorf("LIST(%q): got %+v, %v, want ErrUnknown", line, got, err)
		}
	}
	for _, line := range []string{"", " ", "name", "a b", "type=file;", "type=file;size=1", "type=file; ", "-rw-r--r-- 1 root root 5 Jan  2 15:04 n"} {
		if got, err := MLSD(line); !errors.Is(err, ErrUnknown) {
			t.Errorf("MLSD(%q): got %+v, %v, want ErrUnknown", line, got, err)
		}
	}
}

// TestExplained says where a line leaves its format, for the first hundred lines of a listing that cannot be read.
func TestExplained(t *testing.T) {
	const bad = "drwxr-xr-x 2 ftp ftp 4096 Jan  2 15:04"
	r := NewReader(slices.Repeat([]string{bad}, 2*mostExplained), "", now) // which looks at all of them first
	for i := range 2 * mostExplained {
		_, err := r.LIST(bad)
		if explained := err.Error() != ErrUnknown.Error(); !errors.Is(err, ErrUnknown) || explained != (i < mostExplained) {
			t.Fatalf("line %d: %v", i+1, err)
		}
	}
}

// TestWithoutOthers reads lines about which no other line decides.
func TestWithoutOthers(t *testing.T) {
	if item, err := LIST("-rw-r--r-- 1 o g 5 Jan  2 15:04  name", now); item.Name != " name" || item.Doubt || err != nil {
		t.Errorf("after a time of day: got %+v, %v, want a name that begins with a space, without doubt", item, err)
	}
	if item, err := LIST("-rw-r--r-- owner group 5 Foo 12 15:04 name", now); !errors.Is(err, ErrUnknown) {
		t.Errorf("a month that nobody knows, and no number of links: got %+v, %v", item, err)
	}
	if item, err := LIST(`01-02-06  03:04PM                    5 a [b\c]`, now); !errors.Is(err, errName) {
		t.Errorf("a file of DOS whose name has a backslash: got %+v, %v", item, err)
	}
}

// TestWide has spaces before names that may belong to them: names alone, by NLST, show that.
func TestWide(t *testing.T) {
	for _, test := range []struct {
		gaps [2]string // between sizes and names
		want bool
	}{
		{[2]string{"50 ", "51 "}, false},
		{[2]string{"50  ", "51  "}, true},
		{[2]string{"50 ", "5  "}, true}, // both names begin in one column
	} {
		const line = "01-02-06  03:04PM                   "
		if got := NewReader([]string{line + test.gaps[0] + "aa", line + test.gaps[1] + "bb"}, "", now).Wide(); got != test.want {
			t.Errorf("%q: wide %v, want %v", test.gaps, got, test.want)
		}
	}
}

func TestLines(t *testing.T) {
	for _, test := range []struct{ lines, want []string }{
		{nil, nil},
		{[]string{"a", "b"}, []string{"a", "b"}},
		{[]string{"VMS_file_1;1", "170774/170775     24-APR-2003 08:16:15  [FTP_CLIENT,SCOT]      (RWED,RWED,RE,)", "b"},
			[]string{"VMS_file_1;1 170774/170775     24-APR-2003 08:16:15  [FTP_CLIENT,SCOT]      (RWED,RWED,RE,)", "b"}},
		{[]string{"a;1", "b;1", "c;1"}, []string{"a;1", "b;1", "c;1"}},
	} {
		if got := Lines(test.lines); !slices.Equal(got, test.want) {
			t.Errorf("Lines(%q) = %q, want %q", test.lines, got, test.want)
		}
	}
}

func BenchmarkMLSD(b *testing.B) {
	for b.Loop() {
		MLSD("modify=20260102030405;perm=adfr;size=12;type=file;unique=FE00U20A;UNIX.group=0;UNIX.mode=0644;UNIX.owner=0; name")
	}
}

// BenchmarkLIST has listings of 10,000 lines, at night of a million, in the commonest formats. An operation is a listing.
func BenchmarkLIST(b *testing.B) {
	for name, line := range map[string]string{
		"ls -l":  "-rw-r--r--    1 ftp      ftp          %7d Jan 02  2003 name%06[1]d",
		"recent": "-rw-r--r--    1 ftp      ftp          %7d Jan 02 15:04 name%06[1]d",
		"DOS":    "01-02-06  03:04PM              %7d name%06[1]d",
		"EPLF":   "+i8388621.48594,m825718503,r,s%d,\tname%06[1]d",
		"VMS":    "NAME%06[1]d.TXT;1    12/15   2-JAN-2006 15:04:05  [SYSTEM]  (RWED,RWED,RE,RE)",
	} {
		lines := make([]string, night.Or(10_000, 1_000_000))
		for i := range lines {
			lines[i] = fmt.Sprintf(line, i)
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				r := NewReader(lines, "", now)
				for _, line := range lines {
					if _, err := r.LIST(line); err != nil {
						b.Fatal(err)
					}
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(lines)), "ns/line")
		})
	}
}

func FuzzMLSD(f *testing.F) {
	for _, row := range lines(f, "MLSD") {
		f.Add(row[1])
	}
	f.Fuzz(func(t *testing.T, line string) {
		item, err := MLSD(line)
		check(t, line, item, err)
		if err == nil && !strings.HasSuffix(line, " "+item.Name) {
			t.Errorf("%q: the name %q does not follow the first space after the facts", line, item.Name)
		}
	})
}

func FuzzLIST(f *testing.F) {
	for _, row := range lines(f, "LIST") {
		f.Add(row[1], "")
	}
	for _, s := range corpus(f) {
		for _, l := range s.listings {
			f.Add(strings.Join(l.lines, "\n"), l.dir)
		}
	}
	f.Fuzz(func(t *testing.T, text, dir string) {
		lines := Lines(strings.Split(text, "\n"))
		r := NewReader(lines, dir, now)
		for _, line := range lines {
			item, err := r.LIST(line)
			if r.last == nil || r.last.name != "z/VM" || err != nil {
				check(t, line, item, err)
			} else if name, kind, _ := strings.Cut(item.Name, "."); !strings.Contains(line, name) || !strings.Contains(line, kind) {
				t.Errorf("%q: the name %q", line, item.Name)
			}
			if err == nil && strings.ContainsAny(strings.TrimSuffix(item.Name, "/"), "/\r\n\x00") {
				t.Errorf("%q: the name %q", line, item.Name)
			}
			if err == nil && !strings.HasSuffix(item.Name, ".DIR;1") {
				checkAgain(t, item)
			}
		}
	})
}

// checkAgain fails if a line of ls -l about an item does not say the same.
func checkAgain(t *testing.T, item Item) {
	t.Helper()
	line := fmt.Sprintf("%crw-r--r-- 1 owner group %d Jan  2  2003 %s", map[bool]byte{true: 'd', false: '-'}[item.Mode.IsDir()], max(0, item.Size), item.Name)
	again, err := LIST(line, now)
	if strings.Trim(item.Name, " ") == "" && err != nil {
		return
	}
	if err != nil || again.Name != item.Name || again.Size != max(0, item.Size) && !item.Mode.IsDir() {
		t.Errorf("%q: got %+v, %v, want the name %q", line, again, err, item.Name)
	}
}

// check fails if item cannot be what a line tells.
func check(t *testing.T, line string, item Item, err error) {
	t.Helper()
	if err != nil {
		if item != (Item{}) {
			t.Errorf("%q: %+v, %v", line, item, err)
		}
		return
	}
	types := []fs.FileMode{0, fs.ModeDir, fs.ModeSymlink, fs.ModeDevice, fs.ModeDevice | fs.ModeCharDevice, fs.ModeNamedPipe, fs.ModeSocket, fs.ModeIrregular}
	for what, wrong := range map[string]bool{
		"name":      item.Name == "" || !strings.Contains(line, item.Name) || slices.Contains([]string{".", "..", "./", "../"}, item.Name),
		"target":    !strings.Contains(line, item.Target) || item.Target != "" && item.Mode&fs.ModeSymlink == 0,
		"size":      item.Size < -1 || item.Size >= 0 && item.Mode.Type() != 0 && item.Mode.Type() != fs.ModeIrregular,
		"type":      !slices.Contains(types, item.Mode.Type()),
		"mode":      !item.HasPerm && item.Mode != item.Mode.Type(),
		"precision": (item.Precision == 0) != item.Time.IsZero() || item.Precision < 0 || item.Precision > day,
		"zone":      item.UTC && item.Time.IsZero() || item.Time.Location() != time.UTC,
	} {
		if wrong {
			t.Errorf("%q: bad %s: %+v", line, what, item)
		}
	}
}

// TestMonths has the months of the C library's locales, whose abbreviations ls writes.
func TestMonths(t *testing.T) {
	for language, names := range map[string]string{
		"English":              "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec",
		"German":               "Jan Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez",
		"German in Austria":    "Jän Feb Mär Apr Mai Jun Jul Aug Sep Okt Nov Dez",
		"French":               "janv. févr. mars avril mai juin juil. août sept. oct. nov. déc.",
		"Spanish":              "ene feb mar abr may jun jul ago sep oct nov dic",
		"Italian":              "gen feb mar apr mag giu lug ago set ott nov dic",
		"Portuguese":           "jan fev mar abr mai jun jul ago set out nov dez",
		"Dutch":                "jan feb mrt apr mei jun jul aug sep okt nov dec",
		"Swedish and Danish":   "jan feb mar apr maj jun jul aug sep okt nov dec",
		"Norwegian":            "jan. feb. mars april mai juni juli aug. sep. okt. nov. des.",
		"Chinese and Japanese": "1月 2月 3月 4月 5月 6月 7月 8月 9月 10月 11月 12月",
	} {
		for i, name := range strings.Fields(names) {
			got, err := LIST("-rw-r--r-- 1 root root 5 "+name+" 12  2003 n", now)
			if want := time.Month(i + 1); err != nil || got.Time.Month() != want {
				t.Errorf("%s: %s is %v, want %v (%v)", language, name, got.Time.Month(), want, err)
			}
		}
	}
}

// Whatever number stands for a size or a time: the size is that or unknown, and the time has a form in JSON.
func TestHostileNumbers(t *testing.T) {
	lines := []string{"+m%[1]s,r,s%[1]s,\tname", "-rw-r--r-- 1 u g %[1]s Jan  2 %[1]s name", "-rw-r--r-- 1 u g %[1]s Dec 31 23:59:59 9999 name",
		"-rw-r--r-- 1 u g %[1]s %[1]s-01-02 15:04 name", "-rw-r--r-- 1 u g %[1]s 9999-12-31 23:59:59 -0100 name", "-rw-r--r-- 1 u g %[1]s 0000-01-01 00:00:00 +0100 name",
		"-rw-r--r-- 1 u g %[1]s 9999-12-31 23:59:59.%[1]s -1200 name",
		"01-02-%[1]s  03:04PM  %[1]s name", "%[1]s-01-02  03:04PM  %[1]s name", "NAME.TXT;1  %[1]s/12  2-JAN-%[1]s 15:04:05", "QSYS  %[1]s 02/23/%[1]s 15:09:55 *STMF name",
		"  %[1]s      A    04-23-%[1]s   10:57  name", "type=file;size=%[1]s;modify=%[1]s; name", "type=file;size=%[1]s;modify=%[1]s0101000000.%[1]s; name"}
	numbers := []string{"0", "0000", "0001", "-1", "9999", "10000", "2147483648", "253402300799", "253402300800", "549755813887", "4611686018427387904",
		"9223372036854775807", "9223372036854775808", "18446744073709551616", strings.Repeat("9", 40)}
	for _, line := range lines {
		for _, number := range numbers {
			for _, read := range []func(string) (Item, error){MLSD, func(s string) (Item, error) { return LIST(s, time.Now()) }} {
				item, err := read(fmt.Sprintf(line, number))
				if _, jerr := json.Marshal(item.Time); err == nil && (jerr != nil || item.Size < -1 || item.Size >= 0 && fmt.Sprint(item.Size) != strings.TrimLeft(number[:len(number)-1], "0")+number[len(number)-1:]) {
					t.Errorf("%q: size %d, time %v: %v", fmt.Sprintf(line, number), item.Size, item.Time, jerr)
				}
			}
		}
	}
}

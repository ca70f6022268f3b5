package ftpexec_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// The lines of a listing decide together which spaces belong to a name. If they do not, NLST does. Without it there is
// no name.
func TestSpacesBeforeNames(t *testing.T) {
	const padded, plain = "-rw-r--r-- 1 root system 531 Aug 13 2003  a\r\n", "-rw-r--r-- 1 root system 531 Aug 13 2003 b\r\n"
	for _, test := range []struct {
		name, list, nlst string
		want             []string
		asks             bool
		odd              int
	}{
		{"a padded year", padded, "", []string{"- a 531"}, false, 0},
		{"both, and the space is padding", padded + plain, "a\r\nb\r\n", []string{"- a 531", "- b 531"}, true, 0},
		{"both, and the space belongs to the name", padded + plain, " a\r\nb\r\n", []string{"-  a 531", "- b 531"}, true, 0},
		{"both, and NLST is refused", padded + plain, "550", []string{"- b 531"}, true, 1},
		{"a space after a time", line(" a") + line("b"), "./ a\r\n./b\r\n", []string{"-  a 7", "- b 7"}, true, 0},
		{"a space after a time that is none of the name", line(" a") + line("b"), "a\r\nb\r\n", []string{"- a 7", "- b 7"}, true, 0},
		{"a zone", "-rw-r--r-- 1 u g 7 Jan 2 2003 10:15:00 UTC a\r\n", "a\r\n", []string{"- a 7"}, true, 0},
		{"a name like a zone", "-rw-r--r-- 1 u g 7 Jan 2 10:15 UTC a\r\n", "UTC a\r\n", []string{"- UTC a 7"}, true, 0},
		{"half of the day, and NLST is refused", "-rw-r--r-- 1 u g 7 Jan 2 10:15 PM a\r\n", "550", nil, true, 1},
		{"ls -F", "-rwxr-xr-x 1 u g 7 Jan 2 10:15 a*\r\n", "a\r\n", []string{"- a 7"}, true, 0},
		{"not ls -F", "-rwxr-xr-x 1 u g 7 Jan 2 10:15 a*\r\n", "a*\r\n", []string{"- a* 7"}, true, 0},
		{"DOS, a size with spaces", "25.02.2009  14:41         1 234 567 a\r\n", "a\r\n", []string{"- a"}, true, 0},
		{"DOS, digits before a name", "25.02.2009  14:41         1 234 567 a\r\n", "234 567 a\r\n", []string{"- 234 567 a 1"}, true, 0},
		{"DOS, one entry", "06-25-09  02:41PM                    5  x\r\n", " x\r\n", []string{"-  x 5"}, true, 0},
		{"DOS, wide columns", "12-05-96  05:03PM       <DIR>               pub\r\n12-05-96  05:03PM                    123456 a\r\n", "", []string{"d pub", "- a 123456"}, false, 0},
	} {
		names := testserver.Transfer(test.nlst)
		if test.nlst == "550" {
			names = testserver.Reply("550 No.")
		}
		s := testserver.New(t, nil, testserver.Honest(""), testserver.On("MLSD", testserver.Reply("500 No.")), testserver.On("LIST", testserver.Transfer(test.list)), testserver.On("NLST", names))
		got, lines, err := entriesOf(t.Context(), &ftpexec.Client{MaxIdle: -1}, parse(t, s.URL("/d/")))
		if err != nil || len(lines) != test.odd || !slices.Equal(got, test.want) {
			t.Errorf("%s: got %q, %v, %v, want %q", test.name, got, lines, err, test.want)
		}
		if asks := slices.Contains(listings(s.Commands()), "NLST"); asks != test.asks {
			t.Errorf("%s: sent %q", test.name, s.Commands())
		}
	}
}

// The names of an NLST that fails decide nothing: the name that it did not send may be the right one.
func TestSpacesAndCutNLST(t *testing.T) {
	cut := testserver.Sequence(testserver.Reply("150 x"), testserver.Data("b\r\n", testserver.Closed), testserver.Reply("426 Cut"))
	s := testserver.New(t, nil, testserver.Honest(""), testserver.On("MLSD", testserver.Reply("500 No.")),
		testserver.On("LIST", testserver.Transfer(line(" b")+line("b"))), testserver.On("NLST", cut))
	got, lines, err := entriesOf(t.Context(), &ftpexec.Client{MaxIdle: -1}, parse(t, s.URL("/d/")))
	if want := []string{"-  b 7", "- b 7"}; err != nil || len(lines) != 0 || !slices.Equal(got, want) {
		t.Errorf("got %q, %v, %v, want %q", got, lines, err, want)
	}
}

// Each system's listing is read through Entries, the members of an IBM i file by two.
func TestEntriesOfSystems(t *testing.T) {
	for name, test := range map[string][2]string{
		"IBM i, a library": {"ROOT  36864 05/29/04 10:16:58 *FILE  Q.FILE\r\nROOT  *MEM  Q.FILE/A.MBR\r\nROOT  *MEM  Q.FILE/B.MBR\r\n", "d Q.FILE"},
		"IBM i, a file":    {"ROOT  *MEM  d/A.MBR\r\nROOT  *MEM  d/B.MBR\r\n", "- A.MBR,- B.MBR"},
		"z/OS, members":    {" Name     VV.MM   Created       Changed      Size  Init   Mod   Id\r\n PLAIN\r\n", "- PLAIN"},
		"z/VM":             {"PROFILE  EXEC     V         30         58          1 2004-10-12 13:40:23 -\r\n", "- PROFILE.EXEC"},
		"HP NonStop":       {"ACCTDATA      101            2048 12-Jan-04 13:33:48 255,255 \"NUNU\"\r\n", "- ACCTDATA 2048"},
		"VxWorks":          {"     512    Jan-01-1998  12:34:56   DIR1              <DIR>\r\n", "d DIR1"},
		"MultiNet":         {"Directory DISK$PCSA:[ANONYM]\r\n\r\nBIG.BCK;4      12345KB  2-MAI-2003 10:30 [SYSTEM] (RWED,RWED,RE,RE)\r\n", "- BIG.BCK;4"},
		"Russian, KOI8-R":  {"\xc9\xd4\xcf\xc7\xcf 8\r\n-rw-r--r-- 1 root root 5 \xc1\xd0\xd2 18 15:04 n\r\n", "- n 5"},
	} {
		s := testserver.New(t, nil, testserver.Honest(""), testserver.On("MLSD", testserver.Reply("500 No.")), testserver.On("LIST", testserver.Transfer(test[0])))
		got, lines, err := entriesOf(t.Context(), &ftpexec.Client{MaxIdle: -1}, parse(t, s.URL("/d/")))
		if err != nil || len(lines) > 0 || strings.Join(got, ",") != test[1] {
			t.Errorf("%s: got %q, %v, %v, want %s", name, got, lines, err, test[1])
		}
	}
}

// An error about a line says why the line is not understood.
func TestEntriesSaysWhy(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest(""), testserver.On("MLSD", testserver.Reply("500 No.")), testserver.On("LIST", testserver.Transfer(line("a")+"-rw-r--r-- 1 ftp ftp 4096 n\r\n")))
	_, lines, err := entriesOf(t.Context(), &ftpexec.Client{MaxIdle: -1}, parse(t, s.URL("/d/")))
	if err != nil || len(lines) != 1 || !errors.Is(lines[0], ftpexec.ErrLine) || !strings.Contains(lines[0].Error(), "4096 n (nearest to ls -l, but without a size and a date after byte 10)") {
		t.Errorf("got %v, %v", lines, err)
	}
}

// TestEarly checks what EntriesEarly passes on before a listing is whole: the login directory, and the entries whose
// names no other line can change.
func TestEarly(t *testing.T) {
	list := line("a") + line(" b") + "-rw-r--r-- 1 root system 531 Aug 13 2003  c\r\n" + "12-05-96  05:03PM                    123456  d\r\n" + line("e")
	s := testserver.New(t, nil, testserver.Honest(""), testserver.On("MLSD", testserver.Reply("500 No.")),
		testserver.On("LIST", testserver.Transfer(list)), testserver.On("NLST", testserver.Transfer("a\r\n b\r\nc\r\nd\r\ne\r\n")))
	var names []string
	logins := 0
	early := func(e ftpexec.Entry) {
		if e.Mode.IsRegular() { // NLST, which decides about the spaces, does not give the types of names
			names = append(names, e.Name)
		}
	}
	login := func(string) { logins++ }
	n := 0
	for _, err := range (&ftpexec.Client{MaxIdle: -1}).EntriesEarly(t.Context(), parse(t, s.URL("/d/")), early, login) {
		if err == nil {
			n++
		}
	}
	if want := []string{"a", "e"}; logins == 0 || n != 5 || !slices.Equal(names, want) {
		t.Errorf("early %q, want %q; %d logins, %d entries", names, want, logins, n)
	}
}

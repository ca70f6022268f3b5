package cli_test

import (
	"encoding/json"
	"strings"
	"testing"

	"example.com/ftpfetch/testserver"
)

// unixLister returns a server that has no MLSD and answers LIST with these lines.
func unixLister(t *testing.T, lines string) *testserver.Server {
	none := testserver.Reply("502 No.")
	return testserver.New(t, nil, testserver.Honest("contents").With("MLSD", none).With("LIST", testserver.Transfer(lines)))
}

// TestLinesThatCannotBeRead checks that each such line is reported with the nearest format and where it departs from
// it, and that -l counts them.
func TestLinesThatCannotBeRead(t *testing.T) {
	const nearest = "nearest to ls -l, but without a size and a date after byte 10"
	list := strings.Repeat("-rw-r--r-- 1 ftp ftp 4096 n\r\n", 7) + "-rw-r--r-- 1 ftp ftp 5 Jan  2  2020 name\r\n"
	s := unixLister(t, list)
	for args, reasons := range map[string]int{"-l": 5, "-l -v": 7, "-l --sort none": 5, "--json": 5, "--json --progress json": 7, "--json --sort none": 5} {
		code, out, said := run(t, append(strings.Fields(args), s.URL("/d/"))...)
		if code != 8 || strings.Count(said, nearest) != reasons || !strings.Contains(said, "/d/: 7 lines of the listing could not be read") && !strings.Contains(args, "progress") {
			t.Errorf("%s: exit %d, want 8 and %d reasons:\n%s", args, code, reasons, said)
		}
		if strings.Contains(args, "progress") && !strings.Contains(said, `"error":"7 lines of the listing could not be read","code":8`) {
			t.Errorf("%s: no event has the sum:\n%s", args, said)
		}
		if !strings.Contains(out, "name") {
			t.Errorf("%s: the rest is not shown: %q", args, out)
		}
		if !strings.Contains(args, "json") {
			continue
		}
		unread := 0
		for line := range strings.Lines(out) {
			var row struct{ URL, Name, Error string }
			if err := json.Unmarshal([]byte(line), &row); err != nil || row.URL == "" || (row.Name == "") == (row.Error == "") {
				t.Errorf("%s: %q: %v", args, line, err)
			}
			if strings.Contains(row.Error, "4096 n ("+nearest+")") {
				unread++
			}
		}
		if unread != 7 {
			t.Errorf("%s: %d objects are about lines that cannot be read, want 7:\n%s", args, unread, out)
		}
	}
	if code, _, said := run(t, "-r", "-d", t.TempDir(), s.URL("/d/")); code != 8 || strings.Count(said, nearest) != 5 || !strings.Contains(said, "1 of 1 complete") {
		t.Errorf("-r: exit %d, want 8:\n%s", code, said)
	}
}

// TestNamesAlone checks that the command says once per run that a server tells only names, because it has only NLST or
// its listings cannot be read.
func TestNamesAlone(t *testing.T) {
	const alone = "the server lists only names, without types, sizes and times"
	for what, list := range map[string]testserver.Action{"LIST is refused": testserver.Reply("502 No."), "LIST cannot be read": testserver.Transfer("no sense\r\n")} {
		s := testserver.New(t, nil, testserver.Honest("contents").With("MLSD", testserver.Reply("502 No.")).With("LIST", list).With("NLST", testserver.Transfer("a\r\nb\r\n")).
			With("^CWD [ab]$", testserver.Reply("550 Not a directory.")))
		for args, want := range map[string]int{"-l": 1, "-l --sort none": 1, "-l -q": 0, "-r": 1, "-r --glob": 1, "": 0} {
			all := strings.Fields(args)
			if strings.Contains(args, "-r") {
				all = append(all, "-d", t.TempDir(), "--keep-dirs=1")
			}
			code, out, said := run(t, append(all, s.URL("/d/"), s.URL("/e/"))...)
			if code != 0 || strings.Count(said, alone) != want || want == 0 && said != "" {
				t.Errorf("%s, %s: exit %d, %q, want it said %d times:\n%s", what, args, code, out, want, said)
			}
		}
	}
	s := unixLister(t, "-rw-r--r-- 1 ftp ftp 5 Jan  2  2020 name\r\n")
	if code, _, said := run(t, "-l", s.URL("/d/")); code != 0 || strings.Contains(said, alone) {
		t.Errorf("details are told: exit %d:\n%s", code, said)
	}
}

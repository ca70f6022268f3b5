package cli

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"example.com/ftpfetch/testserver"
)

// TestNear checks the hints for URLs of which some part is missing. SERVER stands for the server's URL; "" means no
// hint.
func TestNear(t *testing.T) {
	tree := map[string]string{
		"/pub/README": "", "/pub/Data/genome.fa.gz": "", "/pub/Data/genome.fa.md5": "", "/pub/caf\xe9": "", "/pub/naïve": "",
		"/pub/a;b": "", "/pub/50%": "", "/pub/two words": "", "/pub/empty/": "", "/file": "", "/pub/2 (two)/": "",
		"/opt/-d/f": "", "/opt/-f": "", "/-x/": "", "/shut/": "", "/pub/" + strings.Repeat("n", 999) + "/": "", "/pub/esc\x1b[2J": "", "/many/1/": "", "/many/2/": "", "/many/3/": "", "/many/4/": "", "/many/5/": "", "/many/6/": "",
	}
	shut := func(c *testserver.Conn) testserver.Action {
		switch {
		case c.Verb == "CWD" && c.Arg == "shut":
			return testserver.ReplaceReply(testserver.Reply("550 Failed to change directory."))
		case c.Verb == "CWD" && strings.HasPrefix(c.Arg, "-"):
			return testserver.ReplaceReply(testserver.Reply("550 Cannot read properties of null"))
		case c.Arg == "-f":
			return testserver.ReplaceReply(testserver.Reply("550 -f: No such file or directory"))
		case c.Verb == "RETR" && c.Arg == "2 (two)":
			return testserver.ReplaceReply(testserver.Reply("550 No such file."))
		}
		return nil
	}
	s := testserver.New(t, &testserver.Options{Tree: tree, Fault: shut})
	server := strings.TrimSuffix(s.URL("/"), "/")
	for args, want := range map[string]string{
		"SERVER/pub":                     `. End the URL in "/" to list it; -r fetches what is in it`,
		"SERVER/nothing":                 "",
		"SERVER/pub/2%20(two)":           ". It is a directory: write SERVER/pub/2%20(two)/",
		"SERVER/pub/readme":              ". There is SERVER/pub/README",
		"SERVER/pub/READNE":              ". There is SERVER/pub/README",
		"SERVER/pub/REDAME":              ". There is SERVER/pub/README",
		"SERVER/pub/READ":                "",
		"SERVER/pub/Data/genome.fa":      ". There is SERVER/pub/Data/genome.fa.gz, SERVER/pub/Data/genome.fa.md5",
		"SERVER/pub/caf%C3%A9":           ". There is SERVER/pub/caf%E9",
		"SERVER/pub/na%EFve":             ". There is SERVER/pub/na%C3%AFve",
		"SERVER/pub/a%253Bb":             ". There is SERVER/pub/a%3Bb",
		"SERVER/pub/two+words":           ". There is SERVER/pub/two%20words",
		"SERVER/pub/two%2520words":       ". There is SERVER/pub/two%20words",
		"SERVER/pub/data/genome.fa.gz":   ". There is SERVER/pub/Data/",
		"SERVER/pbu/Data/genome.fa.gz":   ". There is SERVER/pub/",
		"SERVER/pub/esc%1B%5B2j":         ". There is SERVER/pub/esc%1B%5B2J",
		"SERVER/pub/none/x/y":            ". There is no none in SERVER/pub/, but 2 (two)/, Data/, empty/",
		"SERVER/pub/Data/none/x":         ". There is no none in SERVER/pub/Data/",
		"SERVER/opt/-d/f":                ". -d is there, but the server may take it for an option: write SERVER/opt%2F-d/",
		"SERVER/opt/-f":                  ". -f is there, but the server may take it for an option: write SERVER/opt%2F-f",
		"-r SERVER/-x/":                  ". -x is there, but the server may take it for an option: write SERVER/.%2F-x/",
		"SERVER/shut/x":                  ". shut is there, but this login may not enter it",
		"SERVER/file/x":                  ". file is a file",
		"SERVER/many/x/":                 ". There is no x in SERVER/many/, but 1/, 2/, 3/, 4/, 5/, more",
		"-l SERVER/pub/dta":              ". There is SERVER/pub/Data/",
		"-l SERVER/pub/none":             ". There is no none in SERVER/pub/, but 2 (two)/, Data/, empty/",
		"-r SERVER/pub/dta/":             ". There is SERVER/pub/Data/",
		"-r -j 1 SERVER/pub/dta":         ". There is SERVER/pub/Data/",
		"-I SERVER/pub/readme":           ". There is SERVER/pub/README",
		"-j 2 SERVER/file SERVER/pub/50": "",
		"-q SERVER/pub/readme":           "",
	} {
		t.Chdir(t.TempDir())
		var stderr bytes.Buffer
		code := Run(t.Context(), strings.Fields(strings.ReplaceAll(args, "SERVER", server)), IO{Out: new(bytes.Buffer), Err: &stderr})
		first := ""
		for line := range strings.Lines(stderr.String()) {
			if strings.Contains(line, "(550 ") {
				first = strings.TrimSpace(line)
			}
		}
		if code == 0 || !strings.HasSuffix(first, ")"+strings.ReplaceAll(want, "SERVER", server)) {
			t.Errorf("%s: exit %d, got %s, want %s", args, code, stderr.String(), want)
		}
	}
}

// TestNearTimes checks that a run with many failures looks around only a few times.
func TestNearTimes(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/d/file": ""}})
	var args []string
	for i := range 20 {
		args = append(args, s.URL(fmt.Sprintf("/d/File%d", i)))
	}
	t.Chdir(t.TempDir())
	var stderr bytes.Buffer
	Run(t.Context(), args, IO{Out: new(bytes.Buffer), Err: &stderr})
	listed := strings.Count(fmt.Sprint(s.Commands()), "MLSD")
	if listed != mostLooks {
		t.Errorf("listed %d times: %s", listed, stderr.String())
	}
}

// TestQuestionMarks checks that a name with "?" that a listing gave and that is not found says what that may mean.
func TestQuestionMarks(t *testing.T) {
	lists := testserver.Transfer("-rw-r--r--    1 0        0               7 Jan 02  2003 ????.txt\r\n")
	s := testserver.New(t, nil, testserver.Honest("x"), testserver.On("MLSD", testserver.Reply("500 Unknown command")), testserver.On("LIST", lists),
		testserver.On("^(RETR|SIZE|MDTM)", testserver.Reply("550 Error")), testserver.On("NLST", testserver.Reply("500 x")))
	const want = `some servers list "?" for a letter that they cannot show: then only the file's own name brings it`
	for _, args := range [][]string{{"-r", s.URL("/pub/")}, {"--glob", s.URL("/pub/*.txt")}} {
		t.Chdir(t.TempDir())
		var stderr bytes.Buffer
		code := Run(t.Context(), args, IO{Out: new(bytes.Buffer), Err: &stderr})
		if code == 0 || !strings.Contains(stderr.String(), want) {
			t.Errorf("%s: exit %d, %s", args, code, stderr.String())
		}
	}
}

// TestPlanWithTabs checks that a plan for programs has four columns, whatever is in a name.
func TestPlanWithTabs(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/pub/a\tb\tc": "1", "/pub/d": "2"}})
	t.Chdir(t.TempDir())
	var out, stderr bytes.Buffer
	code := Run(t.Context(), []string{"--dry-run", "-r", "-d", "x", s.URL("/pub/")}, IO{Out: &out, Err: &stderr})
	lines := strings.Split(out.String(), "\n")
	if want := []string{`fetch	1	x/a\x09b\x09c	not here`, "fetch\t1\tx/d\tnot here"}; code != 0 || lines[0] != want[0] || lines[1] != want[1] {
		t.Errorf("exit %d, %q, %s", code, lines, stderr.String())
	}
}

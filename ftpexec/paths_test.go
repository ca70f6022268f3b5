package ftpexec_test

import (
	"strings"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// Some servers write the directory in front of each name. Where that is the listed directory, the entry has its name;
// where it is another one, LIST shows the names, and a line that is left is not an entry.
func TestEntriesWithPaths(t *testing.T) {
	const file = "type=file;size=7; "
	cases := 0
	for _, tt := range []struct {
		dir, name string
		here      bool // the path leads to an entry of the directory
	}{
		{"/pub/", "pub/a", true}, {"/pub/", "/pub/a", true}, {"/pub/", "./a", true}, {"/pub/", "./pub/a", true},
		{"/pub/", "/srv/ftp/pub/a", true}, {"/pub/", "pub//a", true}, {"/pub/", "PUB/a", true}, {"/pub/", "/pub/./a", true},
		{"/x/pub/", "pub/a", true}, {"/x/pub/", "x/pub/a", true}, {"/x/pub/", "/x/pub/a", true}, {"/x/pub/", "/home/u/x/pub/a", true},
		{"/%2Fx/pub/", "/x/pub/a", true}, {"/%2Fx/pub/", "pub/a", true}, {"/x/../pub/", "/pub/a", true}, {"/x/../pub/", "pub/a", true}, {"/./pub/", "pub/a", true},
		{"/", "./a", true}, {"/", "/a", true}, {"/", "/home/u/a", true},
		{"/pub/", "/a", false}, {"/pub/", "sub/a", false}, {"/pub/", "pub/sub/a", false}, {"/pub/", "/x/a", false}, {"/pub/", "x/pub/a", false}, {"/pub/", "/pub/sub/a", false},
		{"/pub/", "../a", false}, {"/x/pub/", "x/a", false}, {"/x/pub/", "/pub/a", false}, {"/", "pub/a", false}, {"/", "../a", false},
		{"/pub/", "ub/a", false}, {"/pub/", "/xpub/a", false},
	} {
		for _, way := range []string{"MLSD", "NLST"} {
			cases++
			inMemory(t, func(t *testing.T, network *ftptest.Network) {
				gives := func(match, prefix string, names ...string) testserver.Step {
					return testserver.On(match, testserver.Transfer(prefix+strings.Join(names, "\r\n"+prefix)+"\r\n"))
				}
				dir := tt.name[:len(tt.name)-len("a")]
				steps := []testserver.Step{testserver.Honest(""), gives("MLSD", file, tt.name, dir+"b"), testserver.On("LIST", testserver.Transfer(line("a")+line("b")))}
				want, sent := "- a 7,- b 7", "MLSD"
				if !tt.here {
					sent = "MLSD,LIST -a"
				}
				if way == "NLST" {
					steps = append(steps, testserver.On("^(MLSD|LIST)", testserver.Reply("500 what?")), gives("NLST", "", dir+".", tt.name, dir+"b"))
					want, sent = "? "+tt.name+",? "+dir+"b", "MLSD,LIST -a,LIST,NLST"
				}
				lines := 0
				if way == "NLST" && !tt.here {
					want, lines = "", 2
				}
				s := network.NewScript(t, steps...)
				c := &ftpexec.Client{MaxIdle: -1, Dial: network.Dial}
				got, bad, err := entriesOf(t.Context(), c, parse(t, s.URL(tt.dir)))
				if err != nil || len(bad) != lines || strings.Join(got, ",") != want {
					t.Errorf("%s of %s, %s: got %q, %v, %v, want %q and %d lines", way, tt.dir, tt.name, got, bad, err, want, lines)
				}
				if got := strings.Join(listings(s.Commands()), ","); got != sent {
					t.Errorf("%s of %s, %s: sent %s, want %s", way, tt.dir, tt.name, got, sent)
				}
			})
		}
	}
	if cases < 60 {
		t.Errorf("%d cases", cases)
	}
}

// A listing in which only some lines have another directory in front yields the others, and these as lines.
func TestEntriesWithSomePaths(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest(""), testserver.On("MLSD", testserver.Transfer(
		"type=cdir; pub\r\ntype=file;size=7; pub/a\r\ntype=file;size=7; b\r\ntype=file;size=7; other/a\r\ntype=dir; pub/..\r\ntype=dir; /pub/sub\r\ntype=dir; pub/x/\r\n")))
	got, lines, err := entriesOf(t.Context(), closing(t, &ftpexec.Client{}), parse(t, s.URL("/pub/")))
	const want = "a path that leads to another directory"
	if err != nil || strings.Join(got, ",") != "- a 7,- b 7,d sub,d x" || len(lines) != 1 || !strings.Contains(lines[0].Error(), want) {
		t.Errorf("got %q, %v, %v", got, lines, err)
	}
}

package cli_test

import (
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ftpfetch/cmd/internal/cli"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// TestChanged has local files that no ledger lists, for a tree and for a list. A file with the server's size and time
// counts as complete. What the command says of any other is true, and what it advises works.
func TestChanged(t *testing.T) {
	at := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	served := testserver.Options{Tree: map[string]string{"/d/a": "server's"}, ModTime: at}
	timeless := served
	timeless.Fault = func(c *testserver.Conn) testserver.Action {
		if c.Verb == "MDTM" || c.Verb == "MLSD" {
			return testserver.Reply("502 No")
		}
		return nil
	}
	for _, tt := range []struct {
		name, here string
		time       time.Time
		o          testserver.Options
		code       int
		want       string
		advice     string // a flag that replaces the file; with "=", one that keeps it
	}{
		{"another size", "mine", at, served, 23, "a: differs from the server's: 8 bytes there, 4 here (-c fetches the rest if it was left unfinished, -N updates it,", "-N"},
		{"another size, longer", "mine, and longer", at, served, 23, "a: differs from the server's: 8 bytes there, 16 here (-N updates it,", "-N"},
		{"the start", "serv", at, served, 23, "a: differs from the server's: 8 bytes there, 4 here (-c fetches the rest if it was left unfinished,", "-c"},
		{"the start, later", "serv", at.Add(time.Hour), served, 23, "(-c fetches the rest if it was left unfinished,", "-c"},
		{"shorter, older", "mine", at.Add(-time.Hour), served, 23, "8 bytes there, 4 here (-N updates it,", "-N"},
		{"the same", "the same", at, served, 0, "1 of 1 complete", ""},
		{"older", "the same", at.Add(-time.Hour), served, 23, "a: is older than the server's, and of the same size (-N updates it,", "-N"},
		{"newer", "the same", at.Add(time.Hour), served, 23, "a: is newer than the server's, and of the same size (--overwrite replaces it)", "-N="},
		{"newer, replaced", "the same", at.Add(time.Hour), served, 23, "(--overwrite replaces it)", "--overwrite"},
		{"no time", "the same", at, timeless, 23, "a: has the size of the server's file, whose time is not known (-N updates it, --overwrite replaces it,", "--overwrite"},
		{"no time, another size", "mine", at, timeless, 23, "a: differs from the server's: 8 bytes there, 4 here (", "-N"},
	} {
		s := testserver.New(t, &tt.o)
		for _, args := range []string{"-r -d . " + s.URL("/d/"), "-i " + written(t, s.URL("/d/a")+"\n"), "--no-ledger -r -d . " + s.URL("/d/")} {
			for _, flag := range []string{"", tt.advice} {
				t.Chdir(t.TempDir())
				must.Do(t, os.WriteFile("a", []byte(tt.here), 0o666))
				must.Do(t, os.Chtimes("a", tt.time, tt.time))
				flag, leaves := strings.CutSuffix(flag, "=")
				want := tt.here
				if flag != "" && !leaves {
					want = "server's"
				}
				code, _, said := run(t, strings.Fields(args+" "+flag)...)
				if flag == "" && (code != tt.code || !strings.Contains(said, tt.want)) || flag != "" && code != 0 {
					t.Errorf("%s, %s %s: exit %d, %s", tt.name, args, flag, code, said)
				}
				if text := string(must.Get(os.ReadFile("a"))(t)); text != want {
					t.Errorf("%s, %s %s: the file is %q", tt.name, args, flag, text)
				}
			}
		}
	}
}

// TestFacts gives the same URL in two places, with every pair of facts about it, for a file that is missing, right or
// wrong, with every flag about existing files. A run may end with 0 only if the file agrees with all facts.
func TestFacts(t *testing.T) {
	const right, wrong = "right", "wrong"
	md5 := map[string]string{right: "7c4f29407893c334a6cb7a87bf045c0d", wrong: "2bda2998d9b0ee197da142a0447f6725"}
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/f": right}})
	url := s.URL("/f")
	type facts struct{ size, sum string }
	var all []facts
	for _, size := range []string{"", "5", "6"} {
		for _, sum := range []string{"", md5[right], md5[wrong]} {
			all = append(all, facts{size, sum})
		}
	}
	agree := func(text string, given ...facts) bool {
		for _, x := range given {
			if x.size == "6" || x.sum != "" && x.sum != md5[text] {
				return false
			}
		}
		return true
	}
	list := func(x facts) string { return written(t, "url\tsize\tmd5\n"+url+"\t"+x.size+"\t"+x.sum+"\n") }
	cases, whole := 0, 0
	try := func(given []facts, flags []string, args ...string) {
		t.Helper()
		for _, there := range []string{"", right, wrong} {
			for _, flag := range flags {
				if cases++; cases%night.Or(7, 1) != 0 {
					continue
				}
				t.Chdir(t.TempDir())
				if there != "" {
					must.Do(t, os.WriteFile("f", []byte(there), 0o666))
				}
				code, _, stderr := run(t, append(args, flag)...)
				text, _ := os.ReadFile("f")
				if code == 0 {
					whole++
				}
				if code == 0 && !agree(string(text), given...) || code != 0 && len(given) == 1 && there == "" && agree(right, given...) {
					t.Errorf("%v %q %s with %q: code %d, %q: %s", given, args, flag, there, code, text, stderr)
				}
			}
		}
	}
	flags := []string{"-q", "--no-clobber", "--overwrite", "-N", "-c"}
	for i, x := range all {
		one := []facts{x}
		try(one, flags, "--manifest", list(x))
		try(one, flags, "--manifest", list(x), url)
		try(one, flags, "-i", list(x), url)
		try(one, flags, "--manifest", list(x), s.URL("/"), "-r", "-d", ".")
		try(one, flags, "-i", written(t, url+"\n"), "--manifest", list(x), url)
		for _, y := range all[:i] {
			try([]facts{x, y}, flags[1:3], "-i", list(x), "--manifest", list(y))
			try([]facts{x, y}, flags[1:3], "-i", list(y), "--manifest", list(x))
		}
	}
	t.Logf("%d cases, %d of them with success", cases, whole)
}

// shy returns the address of a server that closes the first connections before it sends or receives anything, and
// relays the others.
func shy(t *testing.T, address string, first int) string {
	t.Helper()
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { l.Close() })
	go func() {
		for n := 0; ; n++ {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			to, err := net.Dial("tcp", address)
			if n < first || err != nil {
				conn.Close()
				continue
			}
			go func() { _, _ = io.Copy(to, conn); to.Close() }()
			go func() { _, _ = io.Copy(conn, to); conn.Close() }()
		}
	}()
	return l.Addr().String()
}

// TestFirstConnection has servers that close the first connection at once, also before a TLS handshake. Each request
// must succeed with a retry, and fail without.
func TestFirstConnection(t *testing.T) {
	t.Parallel()
	for _, mode := range []string{"ftp", "ftpes", "ftps"} {
		s := testserver.New(t, &testserver.Options{Scheme: mode, Tree: map[string]string{"/d/f": "contents"}})
		for _, what := range []string{"D/f", "-s 2 D/f", "D/", "D;type=d", "-l D/", "--json -l D/", "-I D/f", "-r D/", "--glob D/*", "-i LIST"} {
			for _, retries := range []string{"0", "1"} {
				t.Run(fmt.Sprint(what, " TLS ", mode, " retries ", retries), func(t *testing.T) {
					t.Parallel()
					url := strings.Replace(s.URL("/d"), s.Addr(), shy(t, s.Addr(), 1), 1)
					args := strings.Fields(strings.NewReplacer("D", url, "LIST", written(t, url+"/f\n")).Replace(what))
					if strings.HasSuffix(what, "f") || strings.ContainsAny(what, "r*L") { // not a listing
						args = append(args, "-d", filepath.Join(t.TempDir(), "out"))
					}
					code, _, said := run(t, append(args, "--insecure", "--retries", retries)...)
					if (code == 0) != (retries == "1") {
						t.Errorf("exit %d, %s", code, said)
					}
				})
			}
		}
	}
}

// TestFloods runs commands in which 60 things go wrong in the same way. The message appears five times, and then the
// number of the others; -v, the report and JSON have them all.
func TestFloods(t *testing.T) {
	tree := map[string]string{"/there": "x"}
	names := make([]string, 60)
	for i := range names {
		names[i] = fmt.Sprintf("%c%c/f%d.gz", 'a'+i%26, 'a'+i/26, i)
		tree["/have/"+names[i]] = "server's"
	}
	s := testserver.New(t, &testserver.Options{Tree: tree, Users: map[string]string{"locked": "no"}})
	lines := func(before, after string) string {
		return written(t, before+strings.Join(names, after+"\n"+before)+after+"\n")
	}
	noise := make([]byte, 1<<16)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	for _, tt := range []struct {
		list, args string
		code, said int    // at most so many lines on standard error
		want       string // one of the lines
	}{
		{lines("ftp.sra.ebi.ac.uk/vol1/", ""), "-i LIST", 3, 6, "write ftp://ftp.sra.ebi.ac.uk/vol1/aa/f0.gz, or --base ftp:// for the whole list\n"},
		{lines("ftp.sra.ebi.ac.uk/vol1/", " x"), "-i LIST", 3, 6, "\nftpfetch: ... and 55 more\n"},
		{lines("ftp.sra.ebi.ac.uk/vol1/", ""), "-i LIST -v", 3, 60, "aa/f0.gz"},
		{lines("ftp.sra.ebi.ac.uk/vol1/", ""), "-i LIST --progress json", 3, 60, "aa/f0.gz"},
		{written(t, "a.gz\nb.gz\n"), "-i LIST", 3, 2, "write ftp://host/path, or --base URL for the directory of the whole list"},
		{lines("", "") + " ", "--manifest LIST --format tsv", 3, 1, "names no column url"},
		{written(t, string(noise)), "--manifest LIST", 3, 1, "the list is no text"},
		{written(t, string(noise)), "-i LIST", 3, 1, "the list is no text"},
		{written(t, "PK\x03\x04"+string(noise)), "--manifest LIST", 3, 1, "a ZIP archive or a workbook: save it as CSV"},
		{lines(s.URL("/none/"), ""), "-i LIST --report r", 9, 7, "\nftpfetch: ... and 55 more: r has them all\n0 of 60 complete"},
		{lines(s.URL("/have/"), ".none"), "-i LIST --report r --keep-dirs", 78, 7, "\nftpfetch: ... and 55 more: r has them all\n0 of 60 complete"},
		{lines(s.URL("/have/"), ".none"), "-I -i LIST", 78, 6, "\nftpfetch: ... and 55 more\n"},
		{lines("ftp://locked@"+s.Addr()+"/have/", ""), "-i LIST --report r", 67, 8, "\n0 of 60 complete"},
		{lines(s.Addr()+"/have/", ""), "-i LIST --base ftp:// --report r", 0, 1, "60 of 60 complete"},
		{lines("./", ""), "-i LIST --report r --base " + s.URL("/have/"), 0, 1, "60 of 60 complete"},
	} {
		t.Chdir(t.TempDir())
		code, _, said := run(t, strings.Fields(strings.ReplaceAll(tt.args, "LIST", strings.TrimSpace(tt.list)))...)
		if n := strings.Count(said, "\n"); code != tt.code || n > tt.said || n < tt.said && tt.said == len(names) || !strings.Contains(said, tt.want) {
			t.Errorf("%s: exit %d, %d lines, want %d, %d and %q:\n%.1500s", tt.args, code, n, tt.code, tt.said, tt.want, said)
		}
		if strings.Contains(tt.args, "--report") {
			if rows := strings.Count(string(must.Get(os.ReadFile("r"))(t)), "\n"); rows != len(names) {
				t.Errorf("%s: the report has %d rows", tt.args, rows)
			}
		}
	}
}

// TestNothingFetched runs trees of which nothing is fetched. That fails and says what to write, unless the server has
// nothing either, which the command then says.
func TestNothingFetched(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{
		"/d/a.gz": "a", "/d/b.gz": "b", "/d/sub/c.txt": "c", "/d/sub/d.TXT": "d", "/d/sub/deep/e": "e", "/top/one/f": "f", "/top/two/": "", "/empty/": "", "/mix/f": "f", "/mix/g/h": "h", "/mix/i/j": "j", "/none/sub/": "",
	}})
	for _, tt := range []struct {
		args string // U is the server's URL
		code int
		want string // the end of a line on standard error; D is the URL of the directory in args
	}{
		{"-r --accept txt U/d/", 78, "nothing matches txt (write '*.txt', which matches 1)"},
		{"-r --accept *.GZ U/d/", 78, "nothing matches *.GZ (write '*.gz', which matches 2)"},
		{"-r --accept d/*.gz U/d/", 78, "nothing matches d/*.gz: its path counts from the directory of the URL (write '*.gz', which matches 2)"},
		{"-r --accept *.zip --accept *.rar U/d/", 78, "nothing matches *.zip or *.rar"},
		{"-r --accept *.txt --depth 1 U/d/", 78, "nothing matches *.txt; directories below level 1 are not read: 1 (--depth 2 reads more)"},
		{"-r --accept c.txt --reject sub U/d/", 78, "nothing matches c.txt besides what --reject leaves out"},
		{"-r --accept c.txt --reject c.* U/d/", 78, "nothing matches c.txt besides what --reject leaves out"},
		{"-r --reject * U/d/", 78, "--reject leaves nothing to fetch"},
		{"-r --reject *.gz --depth 1 U/d/", 78, "--reject leaves nothing to fetch; directories below level 1 are not read: 1 (--depth 2 reads more)"},
		{"-r --depth 1 U/top/", 78, "no file; directories below level 1 are not read: 2 (--depth 2 reads more)"},
		{"-r --depth 1 U/d/", 0, "directories below level 1 are not read: 1"},
		{"--glob U/d/s*", 78, "only directories match s* (-r fetches what is in them)"},
		{"--glob U/mix/*", 0, "directories that match are not fetched: 2 (-r fetches what is in them)"},
		{"--glob U/mix/[fg]", 0, "directories that match are not fetched: 1 (-r fetches what is in them)"},
		{"--glob U/d/*.GZ", 78, "nothing matches *.GZ (write '*.gz', which matches 2)"},
		{"--glob -r U/top/two*", 0, "no file in what matches two*"},
		{"--glob -r --accept x U/d/s*", 78, "nothing matches x (write '*x*', which matches 1)"},
		{"-r --accept sub U/d/", 78, "nothing matches sub (write 'sub/', which matches 3)"},
		{"-r U/empty/", 0, "empty"},
		{"-r U/none/", 0, "no file in it"},
		{"-r --accept *.gz U/empty/", 0, "empty"},
		{"-r --accept *.txt U/d/ U/top/", 78, "nothing matches *.txt"},
	} {
		t.Chdir(t.TempDir())
		code, _, said := run(t, strings.Fields(strings.ReplaceAll(tt.args, "U", strings.TrimSuffix(s.URL("/"), "/")))...)
		if code != tt.code || !strings.Contains(said, "/: "+tt.want+"\n") {
			t.Errorf("%s: exit %d, %q, want %d and %q", tt.args, code, said, tt.code, tt.want)
		}
		if _, err := os.Stat(".ftpfetch-ledger"); (err == nil) == strings.Contains(said, "\n0 of ") {
			t.Errorf("%s: the ledger: %v, %q", tt.args, err, said)
		}
	}
}

// TestTreeOnTerminal checks that a terminal shows the sizes of trees and plans with units and in columns, and the total
// last.
func TestTreeOnTerminal(t *testing.T) {
	s := testserver.New(t, &testserver.Options{
		Tree:    map[string]string{"/d/a\x1b": strings.Repeat("x", 20000), "/d/b": "12"},
		ModTime: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC),
	})
	t.Chdir(t.TempDir())
	at := "\t2026-01-02T03:04:05Z\t" + s.URL("/d/")
	for args, want := range map[string]string{
		"-I -r --sort size":       "19.5 KiB" + at + "a%1B\n2 B" + at + "b\n19.5 KiB\t2 files\ttotal\n",
		"-I --sort name --glob":   "19.5 KiB" + at + "a%1B\n2 B" + at + "b\n19.5 KiB\t2 files\ttotal\n",
		"-r --dry-run -d e":       "fetch     19.5 KiB  e/a\\x1b  (not here)\nfetch          2 B  e/b  (not here)\ntotal     19.5 KiB  2 to fetch, 0 to replace, 0 to leave, 0 to delete\n",
		"-I -r --json --accept b": `{"url":"` + s.URL("/d/b") + `","size":2,"time":"2026-01-02T03:04:05Z"}` + "\n" + `{"total":{"files":1,"size":2,"whole":true}}` + "\n",
	} {
		u := s.URL("/d/")
		if strings.Contains(args, "--glob") {
			u += "*"
		}
		var tty screen
		code := cli.Run(t.Context(), append(strings.Fields(args), u), cli.IO{Out: &tty, Err: io.Discard})
		if code != 0 || tty.String() != want {
			t.Errorf("%s: exit %d\n%s, want\n%s", args, code, tty.String(), want)
		}
	}
}

// TestDefaultConnections fetches a list with the default number of connections from servers that allow from one to seven.
// Nothing is lost, no server has more than six connections, and each has to refuse few for each that it does not allow:
// the client asks four times within a second, and more often on a busy machine, if it has just closed a connection,
// which the server may still count.
func TestDefaultConnections(t *testing.T) {
	tree := map[string]string{}
	for i := range 40 {
		tree[fmt.Sprintf("/d/f%02d", i)] = strings.Repeat("x", 5000)
	}
	for allowed := 1; allowed <= 7; allowed++ {
		var mu sync.Mutex
		refused, most := 0, 0
		s := testserver.New(t, &testserver.Options{Tree: tree, Fault: func(c *testserver.Conn) testserver.Action {
			mu.Lock()
			defer mu.Unlock()
			switch {
			case c.Verb != "":
			case c.Open > allowed:
				refused++
				return testserver.Sequence(testserver.Reply("421 Too many connections."), testserver.EndControl(testserver.Closed))
			default:
				most = max(most, c.Open)
			}
			return nil
		}})
		code, _, said := run(t, "-r", "-d", t.TempDir(), s.URL("/d/"))
		if code != 0 || !strings.Contains(said, "40 of 40 complete") {
			t.Errorf("%d allowed: exit code %d, %s", allowed, code, said)
		}
		if most > 6 || refused > 12*max(0, 6-allowed) || allowed >= 6 && most < 5 {
			t.Errorf("%d allowed: %d connections at most, %d refused", allowed, most, refused)
		}
	}
}

package cli_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"example.com/ftpfetch/cmd/internal/cli"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// mark is in every part of the passwords of these tests, wherever they are split.
const mark = "zq7"

// spellings are URLs with a password, correct ones and common mistakes. HOST stands for the server's host and port, and
// PATH for the path of a file there, without the first "/".
var spellings = []string{
	"ftp://me:zq7@HOST/PATH", "FTP://me:zq7@HOST/PATH", "ftp://me:zq7%40zq7%3Azq7%2Fzq7@HOST/PATH", "ftp://me%3Azq7@HOST/PATH", "ftp://me%3azq7:@HOST/PATH", "ftp://:zq7@HOST/PATH",
	"ftp://me:zq7@zq7@HOST/PATH", "ftp://me:zq7:zq7@HOST/PATH", "ftp://me:zq7/zq7@HOST/PATH", "ftp://me:zq7#zq7@HOST/PATH", "ftp://me:zq7?zq7@HOST/PATH", "ftp://me:zq7%zzzq7@HOST/PATH", "ftp://me:zq7%@HOST/PATH",
	"ftp://me:zq7 zq7@HOST/PATH", "ftp://me:zq7\"zq7@HOST/PATH", "ftp://me:zq7\\zq7@HOST/PATH", "ftp://me:zq7[zq7@HOST/PATH", "ftp://me:zq7\x01@HOST/PATH", "ftp://me:zq7é\xff@HOST/PATH", "ftp://me:zq7%0d%0aQUIT@HOST/PATH", "ftp://me:zq7%00@HOST/PATH",
	"ftp://me:zq7;zq7@HOST/PATH", "ftp://me:zq7,zq7@HOST/PATH", "ftp://me:{zq7,zq7}@HOST/PATH", "ftp://me:zq7*@HOST/PATH", "ftp://me:$zq7@HOST/PATH", "ftp://me:zq7'@HOST/PATH", "ftp://me:<zq7>@HOST/PATH",
	"ftp://me:zq7@HOST:99999/PATH", "ftp://me:zq7@h:99999/PATH", "ftp://me:zq7@h:x/PATH", "ftp://me:zq7@h:6667/PATH", "ftp://me:zq7@h:0/PATH", "ftp://me:zq7@h:-1/PATH", "ftp://me:zq7@h:/PATH",
	"ftp://me:zq7@[::1]:1/PATH", "ftp://me:zq7@[::1/PATH", "ftp://me:zq7@::1/PATH", "ftp://me:zq7@[zz]/PATH", "ftp://me:zq7@[::1]x/PATH", "ftp://me:zq7@[fe80::1%25eth0]/PATH",
	"ftp://me:zq7@/PATH", "ftp://me:zq7@", "ftp://me:zq7", "ftp://me:zq7/", "ftp:// me:zq7@HOST/PATH", " ftp://me:zq7@HOST/PATH", "ftp://me:zq7@h h/PATH", "ftp://me:zq7@h_%zz/PATH", "ftp://me:zq7@-h-.x..y/PATH", "ftp://me:zq7@1.2.3.400/PATH",
	"me:zq7@HOST/PATH", "@me:zq7@HOST/PATH", "@//me:zq7@HOST/PATH", "//me:zq7@HOST/PATH", "ftp:/me:zq7@HOST/PATH", "ftp:me:zq7@HOST/PATH", "ftp//me:zq7@HOST/PATH", "ftp;//me:zq7@HOST/PATH", "ftp:///me:zq7@HOST/PATH", "ftp:\\\\me:zq7@HOST\\PATH",
	"http://me:zq7@HOST/PATH", "sftp://me:zq7@HOST/PATH", "ftpd://me:zq7@HOST/PATH", "f%74p://me:zq7@HOST/PATH", "url:ftp://me:zq7@HOST/PATH", "<ftp://me:zq7@HOST/PATH>",
	"ftp://me:zq7@HOST/PATH#x", "ftp://me:zq7@HOST/PATH?x", "ftp://me:zq7@HOST/PATH;type=z", "ftp://me:zq7@HOST/PATH;type=", "ftp://me:zq7@HOST/%zz", "ftp://me:zq7@HOST/a b", "ftp://me:zq7@HOST/%00", "ftp://me:zq7@HOST/..", "ftp://me:zq7@HOST/\x1b[2J",
	"ftp://HOST/d/ftp://me:zq7@HOST/PATH", "ftp://me:zq7@HOST/PATH ftp://me:zq7@HOST/PATH", "ftp://me:zq7@HOST/PATH,ftp://me:zq7@HOST/PATH", "ftp://me:zq7@HOST/d/ftp://me:zq7@HOST/PATH", "ftp://HOST/me:zq7@x/PATH",
	"ftps://me:zq7@HOST/PATH", "ftpes://me:zq7@HOST/PATH", "socks5://me:zq7@HOST", "socks5://me:zq7@HOST/x", "socks4://me:zq7@HOST", "http://me:zq7@:1", "https://me:zq7@[::1", "get+http://me:zq7@h:99999", "get+ftp://me:zq7@HOST",
}

// settings are all places in a command line and its environment that take such a URL. TEXT stands for the URL, FILE for
// a list that holds it, and GOOD for a URL without a password.
var settings = []struct {
	name, args string
	list, env  string // the text of FILE, with TEXT; the variable that is set to TEXT
}{
	{"argument", "-v TEXT", "", ""}, {"arguments", "--progress json TEXT GOOD", "", ""}, {"lanes", "-j 2 --report REPORT GOOD TEXT", "", ""}, {"dry run", "--dry-run -v TEXT", "", ""},
	{"-I", "-I -v TEXT", "", ""}, {"-I --json", "-I --json TEXT", "", ""}, {"-l", "-l -v TEXT", "", ""}, {"--json", "--json TEXT", "", ""}, {"-r", "-r -v --report REPORT TEXT", "", ""}, {"-I -r", "-I -r --json TEXT", "", ""},
	{"-r --delete", "-r -N --delete TEXT", "", ""}, {"--glob", "--glob -v TEXT", "", ""}, {"-o -", "-v -o - TEXT", "", ""}, {"-s", "-v -s 4 TEXT", "", ""}, {"--verify", "-v --verify TEXT", "", ""}, {"--shared", "--shared -v TEXT", "", ""},
	{"-i", "-v -i FILE --report REPORT", "TEXT\n", ""}, {"-i --keep-dirs", "--keep-dirs -i FILE --report REPORT.tsv", "GOOD\nTEXT\n", ""}, {"-i URL", "-v -i TEXT", "", ""}, {"--manifest URL", "--manifest TEXT", "", ""}, {"--base", "-i FILE --base TEXT", "x\n", ""},
	{"TSV", "-v --manifest FILE --progress json", "url\tpath\nTEXT\tf\n", ""}, {"CSV", "--manifest FILE", "url,path\n\"TEXT\",f\n", ""}, {"JSON", "--manifest FILE --report REPORT", "[{\"url\": \"TEXT\", \"path\": \"f\"}]\n", ""}, {"NDJSON", "--manifest FILE", "{\"url\": \"TEXT\"}\n", ""},
	{"Metalink", "--manifest FILE -v", "<?xml version=\"1.0\"?><metalink xmlns=\"urn:ietf:params:xml:ns:metalink\"><file name=\"f\"><url>TEXT</url><url>GOOD</url></file></metalink>", ""},
	{"aria2", "-i FILE", "TEXT\n  out=f\n", ""}, {"curl", "--manifest FILE --format curl", "curl -o f 'TEXT'\n", ""}, {"sums", "--manifest FILE --format sums", "0123456789abcdef0123456789abcdef  TEXT\n", ""}, {"size", "--manifest FILE", "url\tsize\nGOOD\tTEXT\n", ""}, {"md5", "--manifest FILE", "url\tmd5\nGOOD\tTEXT\n", ""},
	{"--proxy", "-v --proxy TEXT GOOD", "", ""}, {"--proxy get+", "-v --proxy get+TEXT GOOD", "", ""}, {"ftp_proxy", "-v GOOD", "", "ftp_proxy"}, {"FTP_PROXY", "GOOD", "", "FTP_PROXY"}, {"all_proxy", "-v GOOD", "", "all_proxy"}, {"ALL_PROXY", "--progress json GOOD", "", "ALL_PROXY"}, {"NO_PROXY", "-v GOOD", "", "NO_PROXY"},
	{"NETRC", "-v ftp://me@HOST/PATH", "", "NETRC"}, {"FTPFETCH_PER_HOST", "GOOD", "", "FTPFETCH_PER_HOST"}, {"FTPFETCH_WITHOUT", "GOOD", "", "FTPFETCH_WITHOUT"}, {"XDG_RUNTIME_DIR", "--shared GOOD", "", "XDG_RUNTIME_DIR"},
	{"netrc", "-v --netrc=FILE ftp://me@HOST/PATH", "machine HOST login me password TEXT\nmachine TEXT\n", ""}, {"netrc machine", "--netrc=FILE GOOD", "machine TEXT login me TEXT password\nTEXT\n", ""},
	{"-u", "-v -u me:TEXT GOOD", "", ""}, {"-u alone", "-v -u TEXT GOOD", "", ""}, {"flag", "--jobz TEXT GOOD", "", ""}, {"wrong flag", "-nc --mirorr TEXT", "", ""}, {"flag=", "--jobz=TEXT GOOD", "", ""}, {"habit", "--no-parent -np TEXT", "", ""}, {"curl's", "-sSL -C - TEXT", "", ""}, {"aria2's", "-x16 TEXT", "", ""},
	{"-j", "-j TEXT GOOD", "", ""}, {"--max-time", "--max-time TEXT GOOD", "", ""}, {"--checksum", "--checksum TEXT GOOD", "", ""}, {"--newer-than", "-r -N --newer-than TEXT GOOD", "", ""}, {"--min-age", "-r --min-age TEXT GOOD", "", ""}, {"--type", "--type TEXT GOOD", "", ""}, {"--ip", "--ip TEXT GOOD", "", ""}, {"--tls", "--tls TEXT GOOD", "", ""},
	{"--format", "--format TEXT -i FILE", "GOOD\n", ""}, {"--map", "--map TEXT --manifest FILE", "GOOD\n", ""}, {"--shard", "--shard TEXT -i FILE", "GOOD\n", ""}, {"--sort", "--sort TEXT -l GOOD", "", ""}, {"--progress", "--progress TEXT GOOD", "", ""}, {"--limit-rate", "--limit-rate TEXT GOOD", "", ""}, {"--help", "--help=TEXT", "", ""}, {"-q", "-q=TEXT GOOD", "", ""}, {"-O", "-O TEXT", "", ""},
}

// TestSpelledSecrets puts a password in every spelling of a URL into every place that takes one, and searches
// everything that the command writes: streams, files and the names of files.
func TestSpelledSecrets(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Users: map[string]string{"me": mark, "me:" + mark: ""}, Tree: map[string]string{"/d/f": "contents", "/d/x": "x"}})
	cases, right, nth := 0, 0, 0
	for _, place := range settings {
		for _, spelling := range spellings {
			if nth++; nth%night.Or(37, 1) != 0 {
				continue
			}
			if place.name == "-i --keep-dirs" && strings.HasPrefix(spelling, "ftp://HOST/") {
				continue // a directory is named as in the URL
			}
			cases++
			fill := strings.NewReplacer("HOST", s.Addr(), "PATH", "d/f")
			text := fill.Replace(spelling)
			if strings.HasPrefix(place.args, "-r") || place.name == "-I -r" || place.name == "-l" || place.name == "--json" {
				text = strings.Replace(text, "/d/f", "/d/", 1)
			}
			if spellCommand(t, place.name+": "+spelling, place.args, place.list, place.env, text, fill) == 0 {
				right++
			}
		}
	}
	t.Logf("%d cases, of which %d end with 0", cases, right)
	if right == 0 {
		t.Error("none succeeds")
	}
}

func spellCommand(t *testing.T, what, args, list, env, text string, fill *strings.Replacer) int {
	t.Helper()
	dir, input := t.TempDir(), t.TempDir()
	t.Chdir(dir)
	for _, name := range []string{"ftp_proxy", "FTP_PROXY", "all_proxy", "ALL_PROXY", "NO_PROXY", "NETRC", "FTPFETCH_PER_HOST", "FTPFETCH_WITHOUT", "XDG_RUNTIME_DIR"} {
		t.Setenv(name, "")
	}
	t.Setenv("HOME", input)
	t.Setenv("TMPDIR", input)
	if env != "" && !strings.Contains(text, "\x00") {
		t.Setenv(env, text)
	}
	good := fill.Replace("ftp://HOST/PATH")
	file := filepath.Join(input, "list")
	must.Do(t, os.WriteFile(file, []byte(strings.NewReplacer("TEXT", text, "GOOD", good, "HOST", "127.0.0.1").Replace(list)), 0o600))
	words := strings.Fields(args)
	for i := range words {
		words[i] = strings.NewReplacer("TEXT", text, "GOOD", good, "FILE", file, "REPORT", "report").Replace(fill.Replace(words[i]))
	}
	words = append(words, "--retries", "0", "--connect-timeout", "1s", "--timeout", "5s")
	var stdout, stderr bytes.Buffer
	code := cli.Run(t.Context(), words, cli.IO{Out: &stdout, Err: &stderr})
	for from, said := range map[string]string{"standard output": stdout.String(), "standard error": stderr.String(), "the directory": everything(t, dir)} {
		if strings.Contains(strings.ToLower(said), mark) {
			t.Errorf("%s: %s shows the password:\n%s", what, from, said)
		}
	}
	return code
}

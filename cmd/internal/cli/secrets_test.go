package cli_test

import (
	"bytes"
	"encoding/base64"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/cmd/internal/cli"
	"example.com/ftpfetch/internal/network/proxy/proxytest"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// secret is the password of these tests, encoded its form in a URL, and leaks every form in which it could leak.
const secret = "hid/den@p:w%d!"
const encoded = "hid%2Fden%40p%3Aw%25d!"

var leaks = []string{
	secret, encoded, strings.ToLower(encoded), url.QueryEscape(secret), url.PathEscape(secret), "den@p", "hid/d", "hid%2",
	base64.StdEncoding.EncodeToString([]byte("me:" + secret)), "Basic ",
}

// wantNoLeak fails the test if text shows the secret in any form.
func wantNoLeak(t *testing.T, what, text string) {
	t.Helper()
	for _, leak := range leaks {
		if strings.Contains(text, leak) {
			t.Errorf("%s shows %q:\n%s", what, leak, text)
		}
	}
}

// place is where a password comes from: flags, the login in the URL, standard input, variables, or the URL of a proxy.
type place struct {
	name, login, in string
	args            []string
	env             map[string]string
}

// places creates the netrc files and proxies of the test.
func places(t *testing.T, host string) []place {
	t.Helper()
	home, open := filepath.Join(t.TempDir(), ".netrc"), filepath.Join(t.TempDir(), "open")
	for path, mode := range map[string]os.FileMode{home: 0o600, open: 0o644} {
		must.Do(t, os.WriteFile(path, []byte("machine "+host+" login me password \""+secret+"\"\n"), mode))
	}
	broken := filepath.Join(t.TempDir(), "broken")
	must.Do(t, os.WriteFile(broken, []byte("machine h login me password "+secret+" "+secret), 0o600))
	o := &proxytest.Options{User: "me", Password: secret}
	socks, tunnel := proxytest.NewSOCKS5(t, o), proxytest.NewHTTP(t, o)
	wrong := proxytest.NewHTTP(t, &proxytest.Options{User: "me", Password: "another"})
	serves := proxytest.NewHTTP(t, &proxytest.Options{User: "me", Password: secret, Refuse: true, Serve: repeats})
	return []place{
		{name: "URL", login: "me:" + encoded + "@"},
		{name: "URL, the colon encoded", login: "me%3A" + encoded + "@"},
		{name: "-u", args: []string{"-u", "me:" + secret}},
		{name: "stdin", args: []string{"--password-stdin", "-u", "me"}, in: secret + "\n"},
		{name: "netrc", login: "me@", env: map[string]string{"NETRC": home}},
		{name: "--netrc=FILE", args: []string{"--netrc=" + home}},
		{name: "open netrc", args: []string{"--netrc=" + open}},
		{name: "broken netrc", login: "me@", args: []string{"--netrc=" + broken}},
		{name: "socks5", login: "me:" + encoded + "@", args: []string{"--proxy", socks.URLAs("me:" + encoded)}},
		{name: "http proxy", login: "me:" + encoded + "@", args: []string{"--proxy", tunnel.URLAs("me:" + encoded)}},
		{name: "http proxy refuses", login: "me:" + encoded + "@", args: []string{"--proxy", wrong.URLAs("me:" + encoded)}},
		{name: "GET", login: "me:" + encoded + "@", args: []string{"--proxy", "get+" + serves.URLAs("me:"+encoded)}},
		{name: "GET refused", login: "me:" + encoded + "@", args: []string{"--proxy", "get+" + tunnel.URLAs("me:"+encoded)}},
		{name: "GET withheld", login: "me:" + encoded + "@", args: []string{"--proxy", serves.URLAs("me:" + encoded)}},
		{name: "malformed proxy", args: []string{"--proxy", "http://me:" + secret + "@:99999"}},
		{name: "malformed ftp_proxy", env: map[string]string{"ftp_proxy": "gopher://me:" + encoded + "@p"}},
		{name: "malformed URL", login: "me:" + secret + "@"},
	}
}

// repeats is a proxy that repeats the login in all its answers.
func repeats(w http.ResponseWriter, r *http.Request) {
	login := r.Header.Get("Authorization")
	w.Header().Set("X-Login", login)
	w.Header().Set("Content-Type", "text/html; x="+secret)
	if strings.Contains(r.RequestURI, "none") {
		w.WriteHeader(http.StatusNotFound)
	}
	_, _ = io.WriteString(w, login+secret)
}

// TestNoOutputShowsAPassword runs the command with the secret in each place and in each output mode, with servers that
// accept it, refuse it, repeat it or break off. It searches everything that was written, including files.
func TestNoOutputShowsAPassword(t *testing.T) {
	servers := map[string]testserver.Options{
		"takes it":   {Users: map[string]string{"me": secret}},
		"refuses it": {Users: map[string]string{"me": "another"}},
		"repeats it": {Fault: func(p *testserver.Conn) testserver.Action {
			if p.Verb == "PASS" {
				return testserver.Reply("530-" + p.Arg + "\r\n530 No " + p.Arg + " for you")
			}
			return nil
		}},
		"breaks off": {Users: map[string]string{"me": secret}, Fault: func(p *testserver.Conn) testserver.Action {
			if p.Transfer > 0 {
				return testserver.Sequence(testserver.EndDataAfter(10, testserver.Closed), testserver.ReplaceReply(testserver.Reply("426 broken")))
			}
			return nil
		}},
	}
	for name, o := range servers {
		t.Run(name, func(t *testing.T) {
			o.Tree = map[string]string{"/file": strings.Repeat("contents\n", 100)}
			s := testserver.New(t, &o)
			journals := 0
			for _, p := range places(t, "127.0.0.1") {
				t.Run(p.name, func(t *testing.T) { journals += tryEveryWay(t, s, p) })
			}
			if name == "breaks off" && journals == 0 {
				t.Error("no journal was left to search")
			}
		})
	}
}

// TestSlashInPassword checks a password with a "/", which makes the user and a part of the password the host. The error
// must not show the password if that host cannot be reached, and must say what to write.
func TestSlashInPassword(t *testing.T) {
	t.Setenv("FTPFETCH_WITHOUT", "portcheck")
	const nobody = "ftp://127.0.0.1:1/"
	for _, args := range [][]string{{"-v"}, {"--progress", "json"}, {"-j", "1", "--report", "REPORT"}, {"-I"}, {"--dry-run"}} {
		dir := t.TempDir()
		report := filepath.Join(dir, "report")
		for i := range args {
			args[i] = strings.Replace(args[i], "REPORT", report, 1)
		}
		code, stdout, stderr := run(t, slices.Concat(args, []string{"-d", dir, "--retries", "0", nobody + url.PathEscape(secret) + "@host/f", nobody + "g"})...)
		wantNoLeak(t, "output", stdout+stderr+everything(t, dir))
		if code != 0 && !strings.Contains(stderr, "%2F") {
			t.Errorf("%q: exit %d, %s", args, code, stderr)
		}
	}
}

// ways are the uses of the command, each with the path of the URL.
var ways = []struct {
	path string
	args []string
}{
	{"/file", []string{"-v"}},
	{"/file", []string{"-v", "--progress", "json", "--retries", "0"}},
	{"/file", []string{"--progress", "plain", "--retries", "0", "-s", "2"}},
	{"/file", []string{"--dry-run"}},
	{"/", []string{"-v", "--json"}},
	{"/none", []string{"-v", "-o", "-"}},
}

// tryEveryWay uses the command in every way, and returns how many journals were left.
func tryEveryWay(t *testing.T, s *testserver.Server, p place) (journals int) {
	for _, name := range []string{"NETRC", "ftp_proxy", "FTP_PROXY", "all_proxy", "ALL_PROXY"} {
		t.Setenv(name, p.env[name])
	}
	t.Setenv("HOME", t.TempDir())
	for i, way := range ways {
		if (i+len(p.name))%night.Or(3, 1) != 0 {
			continue
		}
		dir := t.TempDir()
		args := slices.Concat(way.args, []string{"--retries", "0"}, p.args,
			[]string{strings.Replace(s.URL(way.path), "://", "://"+p.login, 1)})
		if !slices.Contains(args, "-o") {
			args = append(args, "-d", dir)
		}
		var stdout, stderr bytes.Buffer
		streams := cli.IO{Out: &stdout, Err: &stderr} // nobody can be prompted
		if p.in != "" {
			streams.In = strings.NewReader(p.in)
		}
		cli.Run(t.Context(), args, streams)
		wantNoLeak(t, "standard output", stdout.String())
		wantNoLeak(t, "standard error", stderr.String())
		files := everything(t, dir)
		wantNoLeak(t, "the directory", files)
		journals += strings.Count(files, ".ftpfetch.json\n")
	}
	return journals
}

// everything returns the names and contents of all files under dir.
func everything(t *testing.T, dir string) string {
	t.Helper()
	var all strings.Builder
	must.Do(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		all.WriteString(path + "\n" + string(text) + "\n")
		return err
	}))
	return all.String()
}

// sources are all ways to name files in a directory, whose URL is dir. Each returns the arguments.
var sources = map[string]func(t *testing.T, dir string, names []string) []string{
	"URLs": func(_ *testing.T, dir string, names []string) []string { return each(dir, names) },
	"together": func(_ *testing.T, dir string, names []string) []string {
		return append(each(dir, names), "-j2", dir+"ok")
	},
	"-i": func(t *testing.T, dir string, names []string) []string {
		return []string{"-i", written(t, strings.Join(each(dir, names), "\n"))}
	},
	"--manifest": func(t *testing.T, dir string, names []string) []string {
		rows := "url\tpath\n"
		for _, name := range names {
			rows += dir + name + "\t" + name + "\n"
		}
		return []string{"--manifest", written(t, rows)}
	},
	"tree": func(_ *testing.T, dir string, _ []string) []string { return []string{"-r", "-d", ".", dir} },
	"glob": func(_ *testing.T, dir string, _ []string) []string { return []string{"--glob", dir + "*"} },
}

func each(dir string, names []string) (urls []string) {
	for _, name := range names {
		urls = append(urls, dir+name)
	}
	return urls
}

// written writes a list outside the current directory, and returns its path.
func written(t *testing.T, text string) string {
	path := filepath.Join(t.TempDir(), "list")
	writeFile(t, path, text)
	return path
}

// local returns the files in the current directory, except the ledger.
func local() map[string]string {
	files := map[string]string{}
	entries, _ := os.ReadDir(".")
	for _, e := range entries {
		if text, err := os.ReadFile(e.Name()); err == nil && e.Name() != ".ftpfetch-ledger" {
			files[e.Name()] = string(text)
		}
	}
	return files
}

// TestOwnNames checks that no source of names can save a file under a name that ftpfetch uses for its own files.
func TestOwnNames(t *testing.T) {
	names := []string{
		"x.ftpfetch.json", "X.Ftpfetch.JSON", "x.ftpfetch.json~", ".ftpfetch.json", ".ftpfetch-ledger" + "-1-of-2", ".ftpfetch-ledger" + ".evil",
		".FTPFETCH-ledger", "x.ftpfetch.part", "x.ftpfetch.bad", "x~0123456789ABCDEF.ftpfetch.part",
	}
	cases := 0
	for _, name := range names {
		s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/d/" + name: "evil", "/d/ok": "ok"}})
		all := maps.Clone(sources)
		all["-o"] = func(_ *testing.T, dir string, names []string) []string { return []string{"-o", names[0], dir + "ok"} }
		all["--report"] = func(_ *testing.T, dir string, names []string) []string {
			return []string{"-r", "--report", names[0], dir}
		}
		for what, source := range all {
			if cases++; cases%night.Or(4, 1) != 0 {
				continue
			}
			t.Chdir(t.TempDir())
			args := source(t, s.URL("/d/"), []string{name})
			code, _, stderr := run(t, args...)
			got := local()
			delete(got, "ok")
			if code == 0 || !strings.Contains(stderr, "its own files") || len(got) != 0 {
				t.Errorf("%s, %s: code %d, files %q, %s", name, what, code, got, stderr)
			}
		}
	}
	t.Logf("%d cases", cases)
}

// TestNamesMeet fetches files whose names are those of other files' parts, from every source, with every flag, twice.
func TestNamesMeet(t *testing.T) {
	tree := map[string]string{"x": "the text of x", "x.part": "the t", "x.bad": "bad", "x.part.part": "", "ok": "ok"}
	served := map[string]string{}
	for name, text := range tree {
		served["/d/"+name] = text
	}
	s := testserver.New(t, &testserver.Options{Tree: served})
	names := slices.Sorted(maps.Keys(tree))
	cases, asked := 0, 0
	for what, source := range sources {
		for _, flag := range []string{"-c", "--overwrite", "-N", "--no-clobber", "--retries=0"} {
			if asked++; asked%night.Or(4, 1) != 0 {
				continue
			}
			t.Chdir(t.TempDir())
			for range 2 {
				for range 2 {
					cases++
					args := append(source(t, s.URL("/d/"), names), flag)
					code, _, stderr := run(t, args...)
					if code != 0 && flag != "--retries=0" || !maps.Equal(local(), tree) {
						t.Errorf("%s %s: code %d, files %q\n%s", what, flag, code, local(), stderr)
					}
				}
				slices.Reverse(names)
				t.Chdir(t.TempDir())
			}
		}
	}
	t.Logf("%d cases", cases)
}

// TestReportPlace fetches a file to the place of the report. Only that file must fail. A report never replaces a file
// that was fetched.
func TestReportPlace(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/d/a": "contents", "/d/sub/b": "b"}})
	var all [][]string
	for _, from := range [][]string{{"-j2", s.URL("/d/a"), s.URL("/d/sub/b")}, {"-i", written(t, s.URL("/d/a")+"\n")}, {"-r", "-d.", s.URL("/d/")}} {
		all = append(all, from, append(slices.Clone(from), "-N"), append(slices.Clone(from), "--overwrite"))
	}
	for _, args := range all {
		for _, fetched := range []bool{false, true} {
			t.Chdir(t.TempDir())
			if fetched {
				must.Do(t, os.WriteFile("a", []byte("contents"), 0o666))
			}
			code, _, stderr := run(t, append(args, "--report", "a")...)
			told := fetched || strings.Contains(stderr, "a: is the report of this run: give the report another name")
			if text := string(must.Get(os.ReadFile("a"))(t)); code == 0 || (text == "contents") != fetched || !told {
				t.Errorf("%q, fetched before %t: code %d, %s, %q", args, fetched, code, stderr, text)
			}
		}
	}
}

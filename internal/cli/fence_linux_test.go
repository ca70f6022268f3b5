package cli_test

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/proxy/proxytest"
	"example.com/ftpfetch/internal/rules/night"
	"example.com/ftpfetch/testserver"
)

// unchecked are changes that take away what keeps a name from a listing inside the output directory.
var unchecked = []struct{ file, old, new string }{
	{"ftpexec/list.go", `(name, "/\r`, `(name, "\r`},
	{"internal/localfile/localfile.go", "unusable(name, goos string) string {", "unusable(name, goos string) string {\nreturn \"\""},
	{"download/internal/partfile/place.go", "p := &Place{root: root, lone: root == nil}",
		"if root != nil && !filepath.IsAbs(path) {\npath = root.Name() + \"/\" + path\n}\nroot = nil\np := &Place{root: root, lone: root == nil}"},
}

// buildUnchecked builds the command with these changes.
func buildUnchecked(t *testing.T) (command string) {
	t.Helper()
	dir := t.TempDir()
	overlay := struct{ Replace map[string]string }{map[string]string{}}
	for _, c := range unchecked {
		path, err := filepath.Abs(filepath.Join("../..", c.file))
		text, rerr := os.ReadFile(path)
		if err != nil || rerr != nil || strings.Count(string(text), c.old) != 1 {
			t.Fatalf("%s: %v, %v, or it no longer has %q once", c.file, err, rerr, c.old)
		}
		overlay.Replace[path] = filepath.Join(dir, filepath.Base(path))
		writeFile(t, overlay.Replace[path], strings.Replace(string(text), c.old, c.new, 1))
	}
	text, err := json.Marshal(overlay)
	if err != nil {
		t.Fatal(err)
	}
	writeFile(t, filepath.Join(dir, "overlay"), string(text))
	command = filepath.Join(dir, "unchecked")
	build := exec.CommandContext(t.Context(), "go", "build", "-overlay", filepath.Join(dir, "overlay"), "-o", command, "../../cmd/ftpfetch")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return command
}

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// around returns what is below top but not below a/b, with the contents.
func around(t *testing.T, top string) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		text, _ := os.ReadFile(path)
		switch name := strings.TrimPrefix(path, top+"/"); {
		case name == "a/b":
			return fs.SkipDir
		case !d.IsDir():
			paths = append(paths, name+": "+string(text))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

// TestFenceHolds attacks a build that checks no names with listings whose names lead elsewhere. Only the fence is left,
// and nothing changes outside. Without it every name does: the attack is real. By day TestFenceReads and TestFenceAllows
// are enough.
func TestFenceHolds(t *testing.T) {
	if night.Or(0, 1) == 0 {
		return // it builds the command anew
	}
	command := buildUnchecked(t)
	top := filepath.Join(t.TempDir(), "top")
	var listing strings.Builder
	for _, name := range []string{"../up", "../../two", top + "/absolute", "link/through", "../old", "../dir/deep", "good"} {
		listing.WriteString("type=file;size=8; " + name + "\r\n")
	}
	s := testserver.New(t, nil, testserver.Honest("contents").With("MLSD", testserver.Transfer(listing.String())))
	const before = "a/dir/x: \na/old: untouched"
	for sandbox, want := range map[string]string{
		"":             before,
		"--no-sandbox": "a/dir/deep: contents\na/dir/x: \na/old: contents\na/up: contents\nabsolute: contents\nthrough: contents\ntwo: contents",
	} {
		out := filepath.Join(top, "a", "b")
		if err := errors.Join(os.RemoveAll(top), os.MkdirAll(out, 0o700), os.Mkdir(top+"/a/dir", 0o700), os.Symlink(top, out+"/link")); err != nil {
			t.Fatal(err)
		}
		writeFile(t, top+"/a/old", "untouched")
		writeFile(t, top+"/a/dir/x", "")
		cmd := exec.CommandContext(t.Context(), command, strings.Fields(sandbox+" -v -r -d . --depth 1 --overwrite --retries 0 "+s.URL("/"))...)
		cmd.Dir = out
		said, _ := cmd.CombinedOutput()
		if got := strings.Join(around(t, top), "\n"); got != want {
			t.Errorf("%q: outside there is\n%s\nwant\n%s\nthe command said\n%s", sandbox, got, want, said)
		}
		if text, err := os.ReadFile(out + "/good"); string(text) != "contents" || strings.Contains(string(said), "* fenced: ") == (sandbox != "") {
			t.Errorf("%q: the good file holds %q, %v; the command said\n%s", sandbox, text, err, said)
		}
	}
}

// TestFenceReads looks at what the process can open after a run.
func TestFenceReads(t *testing.T) {
	s := testserver.New(t, &testserver.Options{TLSConfig: &tls.Config{}, Tree: map[string]string{"/g": "contents"}})
	dir := t.TempDir()
	for name, text := range map[string]string{".netrc": "", "key": "", "out/g": "contents", "list": s.URL("/g") + "\n", "ca.pem": authority()} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o700); err != nil {
			t.Fatal(err)
		}
		writeFile(t, filepath.Join(dir, name), text)
	}
	for path, want := range map[string]string{
		dir + "/key": "false false", dir + "/.netrc": "false false", dir + "/ca.pem": "false false", "/proc/self/environ": "false false",
		dir + "/list": "false false", "/etc/hosts": "true false", dir + "/out/g": "true true",
	} {
		cmd := exec.CommandContext(t.Context(), "peek", "-q", "--no-clobber", "-d", "out", "--cacert", "ca.pem", "-i", "list")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "PEEK="+path, "GORACE=atexit_sleep_ms=0")
		if out, err := cmd.CombinedOutput(); err != nil || string(out) != want {
			t.Errorf("%s: %v, can be read and written: %s, want %s", path, err, out, want)
		}
	}
}

// TestFenceAllows runs what must work inside the fence and needs files, devices and pipes that are not in the output
// directory.
func TestFenceAllows(t *testing.T) {
	s := testserver.New(t, &testserver.Options{TLSConfig: &tls.Config{}, Users: map[string]string{"me": "secret"}, Tree: map[string]string{"/d/f": "contents", "/g": "contents"}})
	me := strings.Replace(s.URL(""), "//", "//me@", 1)
	socks, connect := proxytest.NewSOCKS5(t, nil).URL(), proxytest.NewHTTP(t, nil).URL()
	for _, tt := range []struct{ script, out, files string }{
		{"ftpfetch -v URL/g 2>&1 | grep -c '^. fenced: .* below [.]$'", "1\n", "g"},
		{"ftpfetch -v URL/d/ 2>&1 | grep fenced", "* fenced: this process can write no file\n", ""},
		{"ftpfetch -v --no-sandbox URL/g 2>&1 | grep fenced; true", "", "g"},
		{"ftpfetch -q -o - URL/g", "contents", ""},
		{"ftpfetch -q -o /dev/stdout URL/g | cat", "contents", ""},
		{"ftpfetch -q -o /dev/stdout URL/g >file; cat file", "contents", "file"},
		{"mkfifo $TMP/p; cat $TMP/p & ftpfetch -q -o $TMP/p URL/g; wait", "contents", ""},
		{"mkfifo $TMP/q; cat $TMP/q & ftpfetch -q -o - URL/g >$TMP/q; wait", "contents", ""},
		{"ftpfetch -q -o /dev/null URL/g", "", ""},
		{"ftpfetch -q -o $TMP/other URL/g; cat $TMP/other", "contents", ""},
		{"ftpfetch -q -d a/b URL/g", "", "a a/b a/b/g"},
		{"ftpfetch -q -d $TMP/d URL/g; cat $TMP/d/g", "contents", ""},
		{"mkdir $TMP/sub; ftpfetch -q -d $TMP -o sub/x URL/g; cat $TMP/sub/x", "contents", ""},
		{"ftpfetch -q -r -d $TMP/d --report r.tsv URL/d/; cat $TMP/d/f", "contents", "r.tsv"},
		{"ftpfetch -q --proxy SOCKS URL/g", "", "g"},
		{"ftpfetch -q --proxy HTTP URL/g", "", "g"},
		{"ftp_proxy=SOCKS ftpfetch -q -r -d t URL/d/", "", "t t/.ftpfetch-ledger t/f"},
		{"ln -s circle $TMP/circle; HOME=$TMP/circle ftpfetch -q URL/g", "", "g"},
		{"HOME=$TMP/ca.pem/none ftpfetch -q URL/g", "", "g"},
		{"chmod 0 $TMP/certs; HOME=$TMP/certs ftpfetch -q URL/g; chmod 700 $TMP/certs", "", "g"},
		{"mkdir $TMP/h; mkfifo $TMP/h/.netrc; HOME=$TMP/h ftpfetch -q URL/g", "", "g"},
		{"ftpfetch -q -d c/d URL/none 2>&- ; test ! -e c", "", ""},
		{"ftpfetch -q -r -j 3 -d t --report $TMP/r.tsv URL/; wc -l <$TMP/r.tsv", "3\n", "t t/.ftpfetch-ledger t/d t/d/f t/g"},
		{"echo URL/g | ftpfetch -q -i -; ls $TMP/tmp", "", ".ftpfetch-ledger g"},
		{"echo URL/g >$TMP/list; ftpfetch -q -i $TMP/list", "", ".ftpfetch-ledger g"},
		{"echo secret | ftpfetch -q --password-stdin ME/g", "", "g"},
		{"ftpfetch -q ME/g", "", "g"}, // by the netrc file
		{"ftpfetch -q --tls explicit --cacert $TMP/ca.pem URL/g", "", "g"},
		{"SSL_CERT_FILE=$TMP/ca.pem ftpfetch -q --tls explicit URL/g", "", "g"},
		{"SSL_CERT_DIR=$TMP/none:$TMP/certs ftpfetch -q --tls explicit URL/g", "", "g"},
	} {
		dir, tmp := t.TempDir(), t.TempDir()
		if err := errors.Join(os.Mkdir(tmp+"/tmp", 0o700), os.Mkdir(tmp+"/certs", 0o700)); err != nil {
			t.Fatal(err)
		}
		writeFile(t, tmp+"/ca.pem", authority())
		writeFile(t, tmp+"/certs/ca.pem", authority())
		writeFile(t, tmp+"/.netrc", "machine 127.0.0.1 login me password secret\n")
		cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.NewReplacer("URL", s.URL(""), "ME/", me+"/", "SOCKS", socks, "HTTP", connect).Replace(tt.script))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+tmp, "TMP="+tmp, "TMPDIR="+tmp+"/tmp", "GORACE=atexit_sleep_ms=0")
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != tt.out {
			t.Errorf("%s: %v, %q, want %q", tt.script, err, out, tt.out)
		}
		var files []string
		for _, pattern := range []string{"/*", "/*/*", "/*/*/*"} {
			found, _ := filepath.Glob(dir + pattern)
			for _, f := range found {
				files = append(files, strings.TrimPrefix(f, dir+"/"))
			}
		}
		slices.Sort(files)
		if got := strings.Join(files, " "); got != tt.files {
			t.Errorf("%s: left %s, want %s", tt.script, got, tt.files)
		}
	}
}

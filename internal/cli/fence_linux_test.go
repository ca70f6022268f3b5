package cli_test

import (
	"crypto/tls"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/proxy/proxytest"
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/testserver"
)

// TestFenceReads looks at what the process can open, change or make after a run.
func TestFenceReads(t *testing.T) {
	s := testserver.New(t, &testserver.Options{TLSConfig: &tls.Config{}, Tree: map[string]string{"/g": "contents"}})
	dir := t.TempDir()
	for name, text := range map[string]string{".netrc": "", "key": "", "out/g": "contents", "list": s.URL("/g") + "\n", "ca.pem": authority()} {
		writeFile(t, filepath.Join(dir, name), text)
	}
	must.Do(t, os.Symlink(dir+"/key", dir+"/out/link"))
	for path, want := range map[string]string{
		dir + "/key": "false false", dir + "/.netrc": "false false", dir + "/ca.pem": "false false", "/proc/self/environ": "false false",
		dir + "/list": "false false", "/etc/hosts": "true false", dir + "/out/g": "true true",
		dir + "/new": "false false", dir + "/out/../new": "false false", dir + "/out/link": "false false", dir + "/out/new": "false true",
	} {
		cmd := exec.CommandContext(t.Context(), "peek", "-q", "--no-clobber", "-d", "out", "--cacert", "ca.pem", "-i", "list")
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "HOME="+dir, "PEEK="+path)
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
		{"FTPFETCH_WITHOUT=sandbox ftpfetch -v URL/g 2>&1 | grep fenced; true", "", "g"},
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
		must.Do(t, errors.Join(os.Mkdir(tmp+"/tmp", 0o700), os.Mkdir(tmp+"/certs", 0o700)))
		writeFile(t, tmp+"/ca.pem", authority())
		writeFile(t, tmp+"/certs/ca.pem", authority())
		writeFile(t, tmp+"/.netrc", "machine 127.0.0.1 login me password secret\n")
		cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.NewReplacer("URL", s.URL(""), "ME/", me+"/", "SOCKS", socks, "HTTP", connect).Replace(tt.script))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+tmp, "TMP="+tmp, "TMPDIR="+tmp+"/tmp")
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

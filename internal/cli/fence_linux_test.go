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
	"example.com/ftpfetch/internal/rules/table"
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
	for _, row := range table.Rows(t, "fence.txt", "allowed") {
		script, prints, leaves := row[0], row[1], row[2]
		dir, tmp := t.TempDir(), t.TempDir()
		must.Do(t, errors.Join(os.Mkdir(tmp+"/tmp", 0o700), os.Mkdir(tmp+"/certs", 0o700)))
		writeFile(t, tmp+"/ca.pem", authority())
		writeFile(t, tmp+"/certs/ca.pem", authority())
		writeFile(t, tmp+"/.netrc", "machine 127.0.0.1 login me password secret\n")
		cmd := exec.CommandContext(t.Context(), "sh", "-c", strings.NewReplacer("URL", s.URL(""), "ME/", me+"/", "SOCKS", socks, "HTTP", connect).Replace(script))
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "HOME="+tmp, "TMP="+tmp, "TMPDIR="+tmp+"/tmp")
		out, err := cmd.CombinedOutput()
		if err != nil || string(out) != prints {
			t.Errorf("%s: %v, %q, want %q", script, err, out, prints)
		}
		var files []string
		for _, pattern := range []string{"/*", "/*/*", "/*/*/*"} {
			found, _ := filepath.Glob(dir + pattern)
			for _, f := range found {
				files = append(files, strings.TrimPrefix(f, dir+"/"))
			}
		}
		slices.Sort(files)
		if got := strings.Join(files, " "); got != leaves {
			t.Errorf("%s: left %s, want %s", script, got, leaves)
		}
	}
}

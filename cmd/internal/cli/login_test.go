package cli_test

import (
	"os"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// TestOneRefusedLogin runs the command in many ways with a wrong password: the server is sent it once, because many lock
// out whoever sends it again and again.
func TestOneRefusedLogin(t *testing.T) {
	for _, line := range []string{
		"U/f", "-o g U/f", "-c U/f", "-N U/f", "--verify U/f", "--verify U/d/f", "-s 4 U/f", "--range 0-3 U/f", "U/d/", "-l U/d/", "-l U/d/*",
		"--json U/d/", "-I U/f", "-I U/f U/g U/d/f", "-I -r U/d/", "-I --glob U/d/*", "-r -d x U/d/", "-r -d x --keep-dirs U/d/ U/e/", "--glob -d x U/*/*",
		"--glob -o - U/d/*", "-r -o - U/d/", "--glob --newest 1 -o - U/d/*", "-l --newest 1 U/d/", "-r --newest 2 -d x U/d/", "-r --once -d x U/d/",
		"-r -N --delete -d x U/d/", "-r --check -d x U/d/", "-r --verify -d x U/d/", "-i l -d x", "-i l -j 4 -d x", "-i l -j 4 --verify -d x",
		"-i l --check -d x", "-I -i l", "-i l --dry-run -d x", "-i l -j auto -d x", "-i l -s auto -d x", "--manifest U/d/l -d x", "-i U/d/l -d x",
		"-j 2 -d x U/f U/g", "-j 2 -d x --retries 9 U/f U/g", "--charset latin1 -r -d x U/d/", "--keep-dirs -d x U/f U/g U/d/f",
	} {
		t.Chdir(t.TempDir())
		s := testserver.New(t, &testserver.Options{Users: map[string]string{"me": "secret"}, Tree: map[string]string{
			"/f": "f", "/g": "g", "/d/f": "f", "/d/g": "g", "/e/f": "f", "/d/l": "f\ng\n", "/SHA256SUMS": ""}})
		url := "ftp://me:wrong@" + s.Addr()
		must.Do(t, os.WriteFile("l", []byte(strings.ReplaceAll("U/f\nU/g\nU/h\nU/i\nU/j\nU/k\n", "U", url)), 0o600))
		code, out, said := run(t, strings.Fields(strings.ReplaceAll(line, "U", url))...)
		sent := strings.Count(strings.Join(s.Commands(), "\n"), "PASS ")
		if code != 67 || sent != 1 {
			t.Errorf("%s: exit %d, %d passwords; %s%s", line, code, sent, out, said)
		}
	}
}

package cli

import (
	"bytes"
	"os"
	"regexp"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// shownURL matches a URL in what the command prints.
var shownURL = regexp.MustCompile(`ftp://[^\s"]+`)

// TestRelayLogin asks a relay about a file. The name of the user says where the server is, user@host:port: that port is
// no password, and the URL that is printed works as the next command's.
func TestRelayLogin(t *testing.T) {
	users := map[string]string{"me@real.example:2121": "zq7", "open@real.example:2121": ""}
	s := testserver.New(t, &testserver.Options{Users: users, Tree: map[string]string{"/d/f": "contents"}})
	t.Chdir(t.TempDir())
	host := strings.Split(s.Addr(), ":")[0]
	must.Do(t, os.WriteFile("netrc", []byte("machine "+host+" login me@real.example:2121 password zq7\n"), 0o600))
	t.Setenv("NETRC", "netrc")
	run := func(args ...string) (code int, out, stderr string) {
		var stdout, said bytes.Buffer
		code = Run(t.Context(), args, IO{In: strings.NewReader("zq7\n"), Out: &stdout, Err: &said})
		return code, stdout.String(), said.String()
	}
	for _, login := range []string{"me%40real.example%3A2121:zq7", "--password-stdin me%40real.example%3A2121", "me%40real.example%3A2121", "open%40real.example%3A2121"} {
		flag, user, ok := strings.Cut(login, " ")
		if !ok {
			flag, user = "", login
		}
		for _, what := range []string{"-I /d/f", "-I --json /d/f", "-I -r /d/", "-I -r --json /d/", "-l --json /d/", "--dry-run --json -r -d out /d/", "--report - -o x /d/f"} {
			flags, path := what[:strings.LastIndex(what, " ")], what[strings.LastIndex(what, " ")+1:]
			args := append(strings.Fields("-v "+flag+" "+flags), "ftp://"+user+"@"+s.Addr()+path)
			code, out, stderr := run(args...)
			shown := shownURL.FindString(out)
			name, _, _ := strings.Cut(user, ":")
			if code != exitOK || shown != "ftp://"+name+"@"+s.Addr()+"/d/f" || strings.Contains(out+stderr, "zq7") {
				t.Errorf("%q: exit %d, %q, %s", args, code, out, stderr)
				continue
			}
			if !strings.Contains(stderr, "USER "+strings.NewReplacer("%40", "@", "%3A", ":").Replace(name)+"\n") && !strings.Contains(flags, "--dry-run") {
				t.Errorf("%q: the dialogue hides the port: %s", args, stderr)
			}
			if code, out, stderr := run("-o", "-", shown); code != exitOK || out != "contents" {
				t.Errorf("%q printed %s, by which it gets: exit %d, %q, %s", args, shown, code, out, stderr)
			}
			_ = os.Remove("x")
		}
	}
}

package cli_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// TestCharset checks --charset with names in Latin-1: what is shown and saved is UTF-8, and what is sent is Latin-1.
func TestCharset(t *testing.T) {
	tree := map[string]string{"/d/caf\xe9": "contents", "/d/na\xefve/\xfcber.txt": "more", "/d/\xc3\xa9": "odd", "/d/plain": ""}
	for _, tt := range []struct {
		args  string
		out   string // a part of the output
		files string // the files with their contents, sorted
		sent  string
	}{
		{"URL/d/caf%E9", "", "café=contents", "RETR caf\xe9"},
		{"URL/d/caf%C3%A9", "", "café=contents", "RETR caf\xe9"},
		{"URL/d/na%C3%AFve/%FCber.txt", "", "über.txt=more", "CWD na\xefve"},
		{"URL/d/%C3%83%C2%A9", "", "Ã©=odd", "RETR \xc3\xa9"},
		{"-r -d x URL/d/", "", "x/café=contents x/naïve/über.txt=more x/plain= x/Ã©=odd", "RETR \xfcber.txt"},
		{"--glob -d x URL/d/caf?", "", "x/café=contents", "RETR caf\xe9"},
		{"-r -d x --accept über* URL/d/", "", "x/naïve/über.txt=more", "RETR \xfcber.txt"},
		{"-i LIST", "", "café=contents plain=", "RETR caf\xe9"},
		{"-l URL/d/", "  café\n", "", "MLSD"},
		{"-l URL/d/", "  naïve/\n", "", "MLSD"},
		{"URL/d/na%EFve/", "über.txt\n", "", "CWD na\xefve"},
		{"--json URL/d/", `"name":"café","url":"URL/d/caf%C3%A9"`, "", "MLSD"},
		{"-I URL/d/caf%E9", "\tURL/d/caf%C3%A9\n", "", "SIZE caf\xe9"},
		{"--dry-run URL/d/caf%C3%A9", `RETR caf\xe9`, "", ""},
	} {
		s := testserver.New(t, &testserver.Options{Tree: tree})
		t.Chdir(t.TempDir())
		url := strings.TrimSuffix(s.URL("/"), "/")
		list := written(t, url+"/d/caf%E9\n"+url+"/d/plain\n")
		args := append([]string{"--charset", "latin1"}, strings.Fields(strings.NewReplacer("URL", url, "LIST", list).Replace(tt.args))...)
		code, out, stderr := run(t, args...)
		if code != 0 || !strings.Contains(strings.ReplaceAll(out, url, "URL"), tt.out) {
			t.Errorf("%s: exit %d, %q, %s", tt.args, code, out, stderr)
		}
		if got := saved(t); got != tt.files {
			t.Errorf("%s: saved %q, want %q", tt.args, got, tt.files)
		}
		if slices.Contains(s.Commands(), "OPTS UTF8 ON") {
			t.Errorf("%s: asked for names in UTF-8", tt.args)
		}
		if tt.sent != "" && !slices.Contains(s.Commands(), tt.sent) {
			t.Errorf("%s: sent %q, want %q", tt.args, s.Commands(), tt.sent)
		}
	}
	s := testserver.New(t, &testserver.Options{Tree: tree})
	t.Chdir(t.TempDir())
	for _, want := range []string{"4 of 4 complete", "4 already there"} { // a second mirror run finds the files again
		code, _, stderr := run(t, "--charset", "latin1", "-r", "-N", "--delete", "-d", "m", s.URL("/d/"))
		if code != 0 || !strings.Contains(stderr, want) || strings.Contains(stderr, "deleted") {
			t.Errorf("exit %d, %s, want %s", code, stderr, want)
		}
	}
	code, _, stderr := run(t, "--charset", "latin1", "ftp://h/%E5%90%8D")
	if code != 2 || !strings.Contains(stderr, "--charset latin1 cannot write") {
		t.Errorf("exit %d, %s", code, stderr)
	}
}

// saved returns the files in the current directory with their contents, without those that ftpfetch keeps for itself.
func saved(t *testing.T) string {
	all := make(map[string]string)
	must.Do(t, filepath.WalkDir(".", func(path string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() && !strings.HasPrefix(d.Name(), ".ftpfetch") {
			all[filepath.ToSlash(path)+"="+string(must.Get(os.ReadFile(path))(t))] = ""
		}
		return err
	}))
	return strings.Join(slices.Sorted(maps.Keys(all)), " ")
}

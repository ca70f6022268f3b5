package cli_test

import (
	"os"
	"strings"
	"testing"

	"example.com/ftpfetch/testserver"
)

// TestNothingFetched runs trees of which nothing is fetched: that is a failure that says what to write, unless the server
// has nothing either, which is said too.
func TestNothingFetched(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{
		"/d/a.gz": "a", "/d/b.gz": "b", "/d/sub/c.txt": "c", "/d/sub/d.TXT": "d", "/d/sub/deep/e": "e", "/top/one/f": "f", "/top/two/": "", "/empty/": "", "/mix/f": "f", "/mix/g/h": "h", "/mix/i/j": "j", "/none/sub/": "",
	}})
	for _, tt := range []struct {
		args string // U is the server's URL
		code int
		want string // the end of a line on standard error; D is the URL of the directory that args name
	}{
		{"-r --accept txt U/d/", 78, "nothing matches txt (write '*.txt', which matches 1)"},
		{"-r --accept *.GZ U/d/", 78, "nothing matches *.GZ (write '*.gz', which matches 2)"},
		{"-r --accept d/*.gz U/d/", 78, "nothing matches d/*.gz (write '*.gz', which matches 2)"},
		{"-r --accept *.zip --accept *.rar U/d/", 78, "nothing matches *.zip or *.rar"},
		{"-r --accept *.txt --depth 1 U/d/", 78, "nothing matches *.txt; 1 directory below level 1 is not read (--depth 2 reads more)"},
		{"-r --reject * U/d/", 78, "--reject leaves no file of it"},
		{"-r --reject *.gz --depth 1 U/d/", 78, "--reject leaves no file of it; 1 directory below level 1 is not read (--depth 2 reads more)"},
		{"-r --depth 1 U/top/", 78, "no file; 2 directories below level 1 are not read (--depth 2 reads more)"},
		{"-r --depth 1 U/d/", 0, "1 directory below level 1 is not read"},
		{"--glob U/d/s*", 78, "only directories match s* (-r fetches what is in them)"},
		{"--glob U/mix/*", 0, "2 directories that match are not fetched (-r fetches what is in them)"},
		{"--glob U/mix/[fg]", 0, "1 directory that matches is not fetched (-r fetches what is in it)"},
		{"--glob U/d/*.GZ", 78, "nothing matches *.GZ (write '*.gz', which matches 2)"},
		{"--glob -r U/top/two*", 0, "no file in what matches two*"},
		{"--glob -r --accept x U/d/s*", 78, "nothing matches x (write '*x*', which matches 1)"},
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

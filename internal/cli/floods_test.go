package cli_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/testserver"
)

// TestFloods runs commands of which the same is wrong with 60 things. It is said five times, then how often more; -v, the
// report and JSON have it all.
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
		code, said int    // at most so many lines on standard error; 60 must be
		want       string // among them
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
		{lines("ftp://locked@"+s.Addr()+"/have/", ""), "-i LIST --report r", 67, 6, "\n0 of 60 complete"},
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

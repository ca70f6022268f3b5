package manifest

import (
	"fmt"
	"net/url"
	"testing"

	"pgregory.net/rapid"

	"example.com/ftpfetch/urlparse"
)

func TestParseShard(t *testing.T) {
	const form = "write I/N, such as 3/10 for the third of ten shares"
	for text, want := range map[string]string{
		"1/1": "1/1", " 3/10 ": "3/10", "10/10": "10/10",
		"0/10":  `"0/10": shares count from 1: write 1/10 for the first`,
		"11/10": `"11/10": the share is not a number from 1 to 10: ` + form,
		"-1/10": "", "1/0": "", "0/0": "", "1/x": "", "1/2/3": "", "3": "", "": "", "auto": "", "1/4294967297": "",
	} {
		s, err := ParseShard(text)
		got := s.String()
		if err != nil {
			got = err.Error()
		}
		if want == "" {
			want = fmt.Sprintf("%q is not a share: %s", text, form)
		}
		if got != want {
			t.Errorf("ParseShard(%q): got %q, want %q", text, got, want)
		}
	}
}

// TestShardIsStable holds the shares of some URLs fast: machines with different
// versions must agree. All spellings of a URL belong together.
func TestShardIsStable(t *testing.T) {
	for text, want := range map[string]int{
		"ftp://h/a": 159,
		"ftp://ftp.sra.ebi.ac.uk/vol1/fastq/ERR222/003/ERR2223563/ERR2223563_1.fastq.gz": 148,
		"ftp://ftp.sra.ebi.ac.uk/vol1/fastq/ERR222/003/ERR2223563/ERR2223563_2.fastq.gz": 454,
		"ftps://u:secret@h/a":           892,
		"FTPS://u:other@H:990/%61":      892,
		"ftps://h:21/a":                 261,
		"ftp://[::1]:2121/%2Fetc/motd":  850,
		"ftp://h/\u00e9t\u00e9?;type=i": 203,
	} {
		if got := shardOf(t, mustParse(t, text), 1000); got != want {
			t.Errorf("%s: got %d, want %d", text, got, want)
		}
	}
}

// shardOf returns the only share of count that has the URL.
func shardOf(t interface{ Fatalf(string, ...any) }, u *urlparse.URL, count int) int {
	found := 0
	for i := range count {
		if (Shard{i + 1, count}).has(Item{URLs: []*urlparse.URL{u}}) {
			if found != 0 {
				t.Fatalf("%s belongs to %d and %d of %d", u, found, i+1, count)
			}
			found = i + 1
		}
	}
	if found == 0 {
		t.Fatalf("%s belongs to none of %d", u, count)
	}
	return found
}

// TestShardsArePartition checks that every item belongs to just one share.
func TestShardsArePartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := &urlparse.URL{Scheme: urlparse.FTP, Host: rapid.StringMatching(`[a-z]{1,20}(\.[a-z]{1,5})?`).Draw(t, "host"),
			Dirs: rapid.SliceOfN(rapid.String(), 0, 4).Draw(t, "dirs"), Name: rapid.String().Draw(t, "name"), Port: rapid.IntRange(0, 65535).Draw(t, "port")}
		count := rapid.IntRange(1, 40).Draw(t, "count")
		first := shardOf(t, u, count)
		v := *u
		v.User = url.UserPassword("u", rapid.String().Draw(t, "password"))
		w := v
		w.User = url.UserPassword("u", "other")
		if a, b := shardOf(t, &v, count), shardOf(t, &w, count); a != b {
			t.Fatalf("the password decides: %d and %d", a, b)
		}
		if again := shardOf(t, u, count); again != first {
			t.Fatalf("%d and then %d", first, again)
		}
	})
}

package manifest

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.com/ftpfetch/urlparse"
)

func TestParseShard(t *testing.T) {
	slurm := func(id, count, first, last, step string) string {
		s := "SLURM_ARRAY_TASK_ID=" + id + " SLURM_ARRAY_TASK_COUNT=" + count + " SLURM_ARRAY_TASK_MIN=" + first + " SLURM_ARRAY_TASK_MAX=" + last
		if step != "" {
			s += " SLURM_ARRAY_TASK_STEP=" + step
		}
		return s
	}
	const form = "write I/N, such as 3/10 for the third of ten shares"
	for _, tt := range []struct {
		text, env string
		want      string // a share or an error
	}{
		{"1/1", "", "1/1"},
		{" 3/10 ", "", "3/10"},
		{"10/10", "SLURM_ARRAY_TASK_ID=1", "10/10"},
		{"0/10", "", `"0/10": shares count from 1: write 1/10 for the first`},
		{"11/10", "", `"11/10": the share is not a number from 1 to 10: ` + form},
		{"-1/10", "", `"-1/10": the share is not a number from 1 to 10: ` + form},
		{"1/0", "", `"1/0": the number of shares is not a number from 1 on: ` + form},
		{"1/x", "", `"1/x": the number of shares is not a number from 1 on: ` + form},
		{"1/2/3", "", `"1/2/3": the number of shares is not a number from 1 on: ` + form},
		{"3", "", `"3" is not a share: ` + form},
		{"", "", `"" is not a share: ` + form},
		{"auto", "", "none of SLURM_ARRAY_TASK_ID, AWS_BATCH_JOB_ARRAY_INDEX and JOB_COMPLETION_INDEX is set, so this is no job of an array: " + form},
		{"auto", "JOB_COMPLETION_INDEX=0 AWS_BATCH_JOB_ARRAY_INDEX=0", "AWS_BATCH_JOB_ARRAY_INDEX and JOB_COMPLETION_INDEX are set: " + form},

		{"auto", slurm("0", "32", "0", "31", "1"), "1/32"},
		{"AUTO", slurm("31", "32", "0", "31", "1"), "32/32"},
		{"auto", slurm("1", "4", "1", "7", "2"), "1/4"},
		{"auto", slurm("7", "4", "1", "7", "2"), "4/4"},
		{"auto", slurm("5", "1", "5", "5", "1"), "1/1"},
		{"auto", slurm("3", "4", "1", "4", ""), "3/4"},
		{"auto/4", slurm("3", "4", "1", "4", "1"), "3/4"},
		{"auto/10", slurm("3", "2", "3", "4", "1"), "the array has 2 jobs, not 10: write auto, or I/10 if only some of its jobs run again"},
		{"auto", slurm("2", "3", "1", "7", "1"), "the numbers of the Slurm array have gaps: write sbatch --array=1-N or I/N"},
		{"auto", slurm("2", "4", "1", "7", "2"), "the numbers of the Slurm array have gaps: write sbatch --array=1-N or I/N"},
		{"auto", "SLURM_ARRAY_TASK_ID=2", "SLURM_ARRAY_TASK_COUNT is not set: " + form},
		{"auto", slurm("x", "4", "1", "4", ""), "SLURM_ARRAY_TASK_ID is not a number: " + form},

		{"auto", "AWS_BATCH_JOB_ARRAY_INDEX=0 AWS_BATCH_JOB_ARRAY_SIZE=10", "1/10"},
		{"auto/10", "AWS_BATCH_JOB_ARRAY_INDEX=9", "10/10"},
		{"auto", "AWS_BATCH_JOB_ARRAY_INDEX=10 AWS_BATCH_JOB_ARRAY_SIZE=10", "AWS_BATCH_JOB_ARRAY_INDEX is 10, which is not one of 10 jobs: " + form},
		{"auto/5", "JOB_COMPLETION_INDEX=4", "5/5"},
		{"auto/5", "JOB_COMPLETION_INDEX=5", "JOB_COMPLETION_INDEX is 5, which is not one of 5 jobs: " + form},
		{"auto", "JOB_COMPLETION_INDEX=4", "JOB_COMPLETION_INDEX is set, but nothing tells how many jobs there are: write auto/N, with N as in .spec.completions"},
	} {
		env := map[string]string{}
		for pair := range strings.FieldsSeq(tt.env) {
			name, value, _ := strings.Cut(pair, "=")
			env[name] = value
		}
		s, err := ParseShard(tt.text, func(name string) string { return env[name] })
		got := s.String()
		if err != nil {
			got = err.Error()
		}
		if got != tt.want {
			t.Errorf("ParseShard(%q) with %s: got %q, want %q", tt.text, tt.env, got, tt.want)
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
		if (Shard{i + 1, count}).Has(Item{URLs: []*urlparse.URL{u}}) {
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
		v.User, v.Password = urlparse.Some("u"), urlparse.Some(rapid.String().Draw(t, "password"))
		w := v
		w.Password = urlparse.Some("other")
		if a, b := shardOf(t, &v, count), shardOf(t, &w, count); a != b {
			t.Fatalf("the password decides: %d and %d", a, b)
		}
		if again := shardOf(t, u, count); again != first {
			t.Fatalf("%d and then %d", first, again)
		}
	})
}

// TestShardsAreBalanced checks that no share of 10,000 URLs differs from the
// others by more than chance would allow in one of many million cases.
func TestShardsAreBalanced(t *testing.T) {
	const urls = 10000
	for _, count := range []int{2, 3, 10, 64, 100} {
		sizes := make([]int, count)
		for i := range urls {
			u := &urlparse.URL{Scheme: urlparse.FTP, Host: "ftp.sra.ebi.ac.uk", Dirs: []string{"vol1", fmt.Sprintf("SRR%03d", i/100)}, Name: fmt.Sprintf("SRR%06d_1.fastq.gz", i)}
			sizes[shardHash(u)%uint64(count)]++ // as Has does
		}
		p := 1 / float64(count)
		bound := 6 * math.Sqrt(urls*p*(1-p))
		for index, size := range sizes {
			if math.Abs(float64(size)-urls*p) > bound {
				t.Errorf("share %d of %d has %d URLs, want %.0f +- %.0f", index+1, count, size, urls*p, bound)
			}
		}
	}
}

func TestReadShard(t *testing.T) {
	var b strings.Builder
	for i := range 100 {
		fmt.Fprintf(&b, "ftp://h/%d\n", i)
	}
	all := show(b.String(), Options{})
	parts := map[string]int{}
	for i := range 3 {
		for line := range strings.Lines(show(b.String(), Options{Shard: Shard{i + 1, 3}})) {
			parts[line]++
		}
	}
	for line := range strings.Lines(all) {
		if parts[line] != 1 {
			t.Errorf("%q is in %d shares", line, parts[line])
		}
		delete(parts, line)
	}
	if len(parts) != 0 {
		t.Errorf("too many: %v", parts)
	}
}

package manifest

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"math"
	"net/url"
	"runtime"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/urlparse"
)

// summary is what Check counts.
type summary struct {
	Items int
	Bytes int64
}

func TestCheck(t *testing.T) {
	for _, tt := range []struct {
		name, text string
		o          Options
		want       summary
		errs       []string
	}{
		{name: "sizes", text: "url\tsize\nftp://h/a\t1\nftp://h/b\t2\n", want: summary{Items: 2, Bytes: 3}},
		{name: "a size unknown", text: "url\tsize\nftp://h/a\t1\nftp://h/b\t\n", want: summary{Items: 2, Bytes: -1}},
		{name: "sizes that overflow", text: fmt.Sprintf("url\tsize\nftp://h/a\t%d\nftp://h/b\t1\n", int64(math.MaxInt64)), want: summary{Items: 2, Bytes: -1}},
		{name: "nothing", text: "# x\n", want: summary{}},
		{name: "empty lines of a report", text: "run\tfastq_ftp\nA\t\nB\th.x/b\n", want: summary{Items: 1, Bytes: -1}},
		{name: "empty lines of a summary", text: "#ftp_path\nna\nftp://h/b\n", want: summary{Items: 1, Bytes: -1}},
		{name: "bad lines", text: "ftp://h/a\nx\nftp://h/b\ny\n", want: summary{Items: 2, Bytes: -1}, errs: []string{
			"line 2: x: the scheme is missing; write ftp://host/path, or set Options.Base to URL for the directory of the whole list", "line 4: y: the scheme is missing; write ftp://host/path, or set Options.Base to URL for the directory of the whole list"}},
		{name: "places by HTTP", text: "ftp://h/a\nhttp://h/b\tftp://h/b\nftp://h/c\thttp://h/c\n", want: summary{Items: 3, Bytes: -1}, errs: []string{
			"line 2: places that are no ftp URLs are left out here and below"}},
		{name: "a path twice", text: "ftp://h/a/x\nbad\nftp://h/b/x\nftp://i/x\n", want: summary{Items: 3, Bytes: -1}, errs: []string{
			"line 2: bad: the scheme is missing; write ftp://host/path, or set Options.Base to URL for the directory of the whole list",
			"line 3: the path x belongs to line 1, which has another URL, size or digest: write another path (Options.KeepDirs saves each file under the directories of its URL)",
			"line 4: the path x belongs to line 1, which has another URL, size or digest: write another path (Options.KeepDirs saves each file under the directories of its URL)"}},
		{name: "a path twice on one line", text: "x_ftp\nh.x/a/x;h.x/b/x\n", want: summary{Items: 2, Bytes: -1}, errs: []string{
			"line 2: the path x belongs to line 2, which has another URL, size or digest: write another path (Options.KeepDirs saves each file under the directories of its URL)"}},
		{name: "directories tell equal names apart", text: "ftp://h/a/x\nftp://h/b/x\n", o: Options{KeepDirs: true}, want: summary{Items: 2, Bytes: -1}},
		{name: "the same file twice", text: "url\tsize\nftp://h/a\t1\nftp://h/b\t2\nFTP://H/%61\t1\n", want: summary{Items: 2, Bytes: 3}},
		{name: "the same URL with two digests", text: "url\tmd5\nftp://h/a\t" + md5a + "\nftp://h/a\t" + md5b + "\n", want: summary{Items: 2, Bytes: -1}, errs: []string{
			"line 3: the path a belongs to line 2, which has another URL, size or digest: write another path (Options.KeepDirs saves each file under the directories of its URL)"}},
		{name: "the same URL with two passwords", text: "ftp://u:p@h/a\nftp://u:q@h/a\n", want: summary{Items: 2, Bytes: -1}, errs: []string{
			"line 2: the path a belongs to line 1, which has another URL, size or digest: write another path (Options.KeepDirs saves each file under the directories of its URL)"}},
		{name: "a file and a directory", text: "url\tpath\nftp://h/a\tx/y\nftp://h/b\tx/y/z/w\nftp://h/c\tx\nftp://h/d\tx/v\n", want: summary{Items: 4, Bytes: -1}, errs: []string{
			"line 3: the path x/y/z/w needs a directory where line 2 has a file: write another path",
			"line 4: the path x is a directory of the path of line 2: write another path"}},
		{name: "names with the same beginning", text: "url\tpath\nftp://h/a\tx\nftp://h/b\txy/z\nftp://h/c\txy-z\n", want: summary{Items: 3, Bytes: -1}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var got summary
			var errs []error
			got.Items, got.Bytes, errs = Check(strings.NewReader(tt.text), &tt.o)
			if strings.Join(messages(errs), "\n") != strings.Join(tt.errs, "\n") {
				t.Errorf("got errors\n%s\nwant\n%s", strings.Join(messages(errs), "\n"), strings.Join(tt.errs, "\n"))
			}
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func messages(errs []error) (list []string) {
	for _, err := range errs {
		list = append(list, err.Error())
	}
	return list
}

// TestCheckShard checks that Check counts only the items of the shard, but examines the whole list.
func TestCheckShard(t *testing.T) {
	text := "bad\n"
	for i := range 50 {
		text += fmt.Sprintf("ftp://h/%d\n", i)
	}
	text += "ftp://h/0\nftp://i/1\n"
	items := 0
	for i := range 4 {
		o, n, distinct := Options{Shard: Shard{i + 1, 4}}, 0, map[string]bool{}
		files, _, errs := Check(strings.NewReader(text), &o)
		if items += files; len(errs) != 2 {
			t.Errorf("share %d: errors %v", i+1, errs)
		}
		for item, err := range Read(strings.NewReader(text), &o) {
			if err == nil {
				distinct[item.Path] = true
				n++
			}
		}
		if len(distinct) != files {
			t.Errorf("share %d: %d of %d are distinct, %d counted", i+1, len(distinct), n, files)
		}
	}
	if items != 51 {
		t.Errorf("%d items, want 51", items)
	}
}

func TestCheckBoundsErrors(t *testing.T) {
	const most = 100 // as docs/manifests.md says
	bad, clashes := strings.Repeat("bad\n", most), strings.Repeat("ftp://i/x\n", most)
	for text, more := range map[string]bool{bad: false, bad + "bad\n": true, bad + "ftp://h/x\nftp://i/x\n": true, "ftp://h/x\n" + clashes: false, "ftp://h/x\n" + clashes + "bad\n": true, "ftp://h/x\n" + clashes + "ftp://i/x\n": true} {
		_, _, errs := Check(strings.NewReader(text+"ftp://h/y\n"), nil)
		if told := strings.Contains(errs[len(errs)-1].Error(), "after 100 bad lines the rest is not read"); len(errs) != most+bit(more) || told != more || !errors.Is(errs[len(errs)-1], ErrLine) {
			t.Errorf("%.20q: %d errors, the last is %v", text, len(errs), errs[len(errs)-1])
		}
	}
	items, faults := ways["Read"](strings.NewReader("ftp://h/a\n"+bad+"ftp://h/b\n"), Options{})
	more, cut := ways["Read"](strings.NewReader("ftp://h/a\n"+bad+"bad\nftp://h/b\n"), Options{})
	if items != 2 || len(faults) != most || more != 1 || len(cut) != most+1 {
		t.Errorf("Read: %d items, %d errors; then %d and %d", items, len(faults), more, len(cut))
	}
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

// generated returns a table of n lines and generates them while it is read.
func generated(n int, line func(i int) string) io.ReadCloser {
	r, w := io.Pipe()
	go func() {
		b := bufio.NewWriter(w)
		fmt.Fprintln(b, "url\tpath\tsize\tmd5")
		for i := range n {
			fmt.Fprintln(b, line(i))
		}
		w.CloseWithError(b.Flush())
	}()
	return r
}

func manyLine(i int) string {
	return fmt.Sprintf("ftp://ftp.example.org/vol1/fastq/SRR%03d/SRR%07d/SRR%07d_1.fastq.gz\tSRR%07d/reads_1.fastq.gz\t%d\t%s", i/1000, i, i, i, i, md5a)
}

// heapOver runs use, which calls sample from time to time, and returns the maximum growth of the live heap.
func heapOver(use func(sample func())) int64 {
	var before, now runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	peak := before.HeapAlloc
	use(func() {
		runtime.GC()
		runtime.ReadMemStats(&now)
		peak = max(peak, now.HeapAlloc)
	})
	return int64(peak - before.HeapAlloc)
}

// metalink returns a Metalink of n files and generates it while it is read.
func metalink(n int) io.Reader {
	r, w := io.Pipe()
	go func() {
		b := bufio.NewWriter(w)
		fmt.Fprintln(b, "<metalink>")
		for i := range n {
			fmt.Fprintf(b, "<file name='%d'><hash type='md5'>%s</hash><url>ftp://h/%d</url></file>\n", i, md5a, i)
		}
		fmt.Fprintln(b, "</metalink>")
		w.CloseWithError(b.Flush())
	}()
	return r
}

// TestMemory measures the live heap while Read reads many lines, which must leave little in memory, and while Check
// checks many lines. Each file is in a directory of its own, and half of the lines repeat others.
func TestMemory(t *testing.T) {
	n := night.Or(40_000, 200_000)
	for _, list := range []io.Reader{generated(n, manyLine), metalink(n)} {
		items := 0
		grown := heapOver(func(sample func()) {
			for _, err := range Read(list, nil) {
				must.Do(t, err)
				if items++; items%(n/4) == 0 {
					sample()
				}
			}
		})
		if items != n || grown > 2<<20 {
			t.Errorf("%d items of %d; the live heap grew by %d bytes", items, n, grown)
		}
	}
	grown := heapOver(func(sample func()) {
		files, _, errs := Check(generated(n, func(i int) string {
			if i%(n/8) == 0 || i == n-1 {
				sample()
			}
			return manyLine(i % (n / 2))
		}), nil)
		if len(errs) != 0 || files != n/2 {
			t.Errorf("got %d files, errors %v", files, errs)
		}
	})
	if grown > 60*int64(n) {
		t.Errorf("the live heap grew by %d bytes, %d a line", grown, grown/int64(n))
	}
}

// BenchmarkArgo reads a compressed index of a million profiles.
func BenchmarkArgo(b *testing.B) {
	const n = 1_000_000
	for range b.N {
		r, w := io.Pipe()
		go func() {
			packed := gzip.NewWriter(w)
			text := bufio.NewWriter(packed)
			fmt.Fprint(text, "# Title : Profile directory file\n# FTP root number 1 : ftp://h/argo/dac\nfile,date,latitude,longitude,ocean,profiler_type,institution,date_update\n")
			for i := range n {
				fmt.Fprintf(text, "aoml/%d/profiles/R%d_%03d.nc,20200101000000,0.267,-16.032,A,845,AO,20200102000000\n", i/300, i/300, i%300)
			}
			_, _ = text.Flush(), packed.Close()
			w.Close()
		}()
		items := 0
		grown := heapOver(func(sample func()) {
			for _, err := range Read(r, nil) {
				if items++; err != nil {
					b.Fatal(err)
				} else if items%(n/4) == 0 {
					sample()
				}
			}
		})
		if items != n || grown > 2<<20 {
			b.Errorf("%d items; the live heap grew by %d bytes", items, grown)
		}
	}
}

// TestShardIsStable checks the shards of some URLs, because machines with different versions must agree on them. All
// spellings of a URL must be in one shard.
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
		if got := shardOf(t, must.Get(urlparse.Parse(text))(t), 1000); got != want {
			t.Errorf("%s: got %d, want %d", text, got, want)
		}
	}
}

// shardOf returns which of count shards has the URL. It fails unless just one has it.
func shardOf(t interface{ Fatalf(string, ...any) }, u *urlparse.URL, count int) int {
	found := 0
	for i := range count {
		if (&Options{Shard: Shard{i + 1, count}}).shares(Item{URLs: []*urlparse.URL{u}}) {
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

// TestShardsArePartition checks that every item is in just one shard.
func TestShardsArePartition(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		u := &urlparse.URL{Scheme: "ftp", Host: rapid.StringMatching(`[a-z]{1,20}(\.[a-z]{1,5})?`).Draw(t, "host"),
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

// TestLineEnds checks that an empty list is an error, and so is a list whose lines end in CR alone: its first line,
// such as a comment or header, would hide the others.
func TestLineEnds(t *testing.T) {
	lines := map[string][]string{
		"list": {"# two", "ftp://h/a", "ftp://h/b"}, "tsv": {"url\tsize", "ftp://h/a\t1", "ftp://h/b\t2"}, "csv": {"url,size", "ftp://h/a,1", "ftp://h/b,2"},
		"curl":   {"#!/bin/bash", "curl -L ftp://h/a -o x", "curl ftp://h/b"},
		"ndjson": {`{"url":"ftp://h/a"}`, `{"url":"ftp://h/b"}`},
		"sums":   {"d41d8cd98f00b204e9800998ecf8427e  a", "d41d8cd98f00b204e9800998ecf8427e  b"},
	}
	base := must.Get(urlparse.Parse("ftp://h/"))(t)
	cases := 0
	for want, text := range lines {
		for _, format := range []string{"", want} {
			for _, eol := range []string{"\n", "\r\n", "\r\r\n", "\r"} {
				for _, last := range []string{"", eol} {
					cases++
					items, errs := 0, 0
					for _, err := range Read(strings.NewReader(strings.Join(text, eol)+last), &Options{Format: format, Base: base}) {
						if items++; err != nil {
							errs++
						}
					}
					if ok := errs == 0 && items == 2; ok != (eol != "\r") && eol != "\r\r\n" || eol == "\r" && errs == 0 {
						t.Errorf("%s as %q, %q, %q: %d items, %d errors", want, format, eol, last, items, errs)
					}
				}
			}
		}
	}
	for _, format := range append(Formats(), "") {
		for _, text := range []string{"", "\xef\xbb\xbf"} {
			cases++
			if _, _, errs := Check(strings.NewReader(text), &Options{Format: format}); len(errs) == 0 {
				t.Errorf("%q as %q: no error", text, format)
			}
		}
	}
	t.Logf("%d cases", cases)
}

// TestNothing passes nil, empty and contradictory arguments to Check and Read. Each must be an error and never a panic.
func TestNothing(t *testing.T) {
	list := func() io.Reader { return strings.NewReader("ftp://h/a\n") }
	for what, tt := range map[string]struct {
		list io.Reader
		o    Options
	}{
		"no list":                  {},
		"an empty list":            {list: strings.NewReader("")},
		"a form that is none":      {list: list(), o: Options{Format: "x"}},
		"an empty map":             {list: list(), o: Options{Map: []string{""}}},
		"an empty base":            {list: strings.NewReader("a\n"), o: Options{Base: new(urlparse.URL)}},
		"no shard of some":         {list: list(), o: Options{Shard: Shard{0, 2}}},
		"a shard of none":          {list: list(), o: Options{Shard: Shard{1, 0}}},
		"a shard beyond the last":  {list: list(), o: Options{Shard: Shard{3, 2}}},
		"a shard before the first": {list: list(), o: Options{Shard: Shard{-1, 2}}},
		"fewer shards than none":   {list: list(), o: Options{Shard: Shard{-2, -1}}},
	} {
		var in, again io.Reader
		if tt.list != nil {
			text := must.Get(io.ReadAll(tt.list))(t)
			in = strings.NewReader(string(text))
			again = strings.NewReader(string(text))
		}
		files, _, errs := Check(in, &tt.o)
		n, wrong := 0, 0
		for _, err := range Read(again, &tt.o) {
			n++
			if err != nil {
				wrong++
			}
		}
		if files != 0 || len(errs) != 1 || n != 1 || wrong != 1 {
			t.Errorf("%s: Check has %d files and %v, Read %d of which %d are errors", what, files, errs, n, wrong)
		}
	}
}

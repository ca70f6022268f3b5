package manifest_test

import (
	"errors"
	"fmt"
	"io"
	"strings"

	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/urlparse"
)

func ExampleRead() {
	list := "# two files\nftp://host.dom/pub/a.txt\nftp://host.dom/pub/b c.txt\nftp://host.dom/pub/d%20e.txt\n"
	for item, err := range manifest.Read(strings.NewReader(list), manifest.Options{}) {
		if err != nil {
			fmt.Println(err)
			continue
		}
		fmt.Println(item.URLs[0], "->", item.Path)
	}
	// Output:
	// ftp://host.dom/pub/a.txt -> a.txt
	// line 3: ftp://host.dom/pub/b c.txt: column 21: a space cannot stand unencoded in a path; write %20
	// ftp://host.dom/pub/d%20e.txt -> d e.txt
}

func ExampleRead_table() {
	table := "url\tpath\tsize\tmd5\n" +
		"ftp://host.dom/pub/a\tfirst/a\t3\t900150983cd24fb0d6963f7d28e17f72\n"
	for item, err := range manifest.Read(strings.NewReader(table), manifest.Options{}) {
		fmt.Println(item.Line, item.URLs[0], item.Path, *item.Size, item.Sum, err)
	}
	// Output: 2 ftp://host.dom/pub/a first/a 3 md5:900150983cd24fb0d6963f7d28e17f72 <nil>
}

func ExampleRead_digests() {
	base, err := urlparse.Parse("ftp://host.dom/genomes/x/")
	if err != nil {
		fmt.Println(err)
		return
	}
	list := "900150983cd24fb0d6963f7d28e17f72  ./x_genomic.fna.gz\n"
	for item, err := range manifest.Read(strings.NewReader(list), manifest.Options{Base: base}) {
		fmt.Println(item.URLs[0], item.Sum, err)
	}
	// Output: ftp://host.dom/genomes/x/x_genomic.fna.gz md5:900150983cd24fb0d6963f7d28e17f72 <nil>
}

func ExampleCheck() {
	list := "ftp://host.dom/a/x\nhost.dom/y\nftp://host.dom/b/x\nftp://host.dom/a/x\n"
	open := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(list)), nil }
	summary, errs := manifest.Check(open, manifest.Options{})
	fmt.Println(summary.Items, "files,", summary.Repeats, "named again")
	for _, err := range errs {
		fmt.Println(err)
	}
	// Output:
	// 2 files, 1 named again
	// line 2: host.dom/y: column 1: the scheme is missing; write ftp://host.dom/y
	// line 3: the path x is that of line 1, which has another URL, size or digest: write another path
}

func ExampleSummary_Read() {
	list := "ftp://host.dom/a\nftp://host.dom/b\nftp://host.dom/a\n"
	open := func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(list)), nil }
	summary, _ := manifest.Check(open, manifest.Options{})
	for item := range summary.Read(strings.NewReader(list), manifest.Options{}) {
		fmt.Println(item.Line, item.URLs[0])
	}
	// Output:
	// 1 ftp://host.dom/a
	// 2 ftp://host.dom/b
}

// A form that is given instead of told by how the list begins, and a line that is wrong.
func ExampleLineError() {
	fmt.Println(manifest.Formats())
	list := "url,size\nftp://host.dom/a,1\nftp://host.dom/b,many\n"
	for item, err := range manifest.Read(strings.NewReader(list), manifest.Options{Format: manifest.CSV}) {
		var wrong *manifest.LineError
		if errors.As(err, &wrong) {
			fmt.Println(wrong.Line, wrong.Err)
			continue
		}
		fmt.Println(item.Line, item.Path)
	}
	// Output:
	// [list text tsv csv ndjson json ncbi sums]
	// 2 a
	// 3 size: is not a number of bytes: write digits only, such as 1048576
}

// Two machines share a list. Each file belongs to one of them.
func ExampleShard() {
	list := "ftp://host.dom/a\nftp://host.dom/b\nftp://host.dom/c\n"
	for machine := range 2 {
		shard := manifest.Shard{Index: machine + 1, Count: 2}
		for item, err := range manifest.Read(strings.NewReader(list), manifest.Options{Shard: shard}) {
			fmt.Println(shard, item.Path, shard.Has(item), err)
		}
	}
	// Output:
	// 1/2 b true <nil>
	// 2/2 a true <nil>
	// 2/2 c true <nil>
}

func ExampleParseShard() {
	environment := map[string]string{"AWS_BATCH_JOB_ARRAY_INDEX": "0", "AWS_BATCH_JOB_ARRAY_SIZE": "10"}
	getenv := func(name string) string { return environment[name] }
	fmt.Println(manifest.ParseShard("3/10", getenv))
	fmt.Println(manifest.ParseShard("auto", getenv))
	_, err := manifest.ParseShard("0/10", getenv)
	fmt.Println(err)
	// Output:
	// 3/10 <nil>
	// 1/10 <nil>
	// "0/10": shares count from 1: write 1/10 for the first
}

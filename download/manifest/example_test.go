package manifest_test

import (
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

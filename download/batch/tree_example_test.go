package batch_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"slices"

	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// The text files of a tree, with a row in a report for every file.
func ExampleTree() {
	s, err := testserver.Start(&testserver.Options{Tree: map[string]string{"/pub/a.txt": "one", "/pub/b.bin": "two", "/pub/c/d.txt": "three"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	root, err := os.OpenRoot(dir)
	if err != nil {
		log.Fatal(err)
	}
	defer root.Close()

	u, err := urlparse.Parse(s.URL("/pub/"))
	if err != nil {
		log.Fatal(err)
	}
	tree := &batch.Tree{Accept: []string{"*.txt"}}
	if err := tree.Check(); err != nil {
		log.Fatal(err)
	}
	report, err := batch.CreateReport(filepath.Join(dir, "report.tsv"), "path\tbytes")
	if err != nil {
		log.Fatal(err)
	}
	var src batch.Source = &ftpexec.Client{MaxIdle: 2}
	defer src.CloseIdleConnections()
	task := batch.Task{Item: manifest.Item{URLs: []*urlparse.URL{u}, Path: "mirror"}, Tree: tree}
	totals := batch.Run(context.Background(), src, slices.Values([]batch.Task{task}), batch.Options{Jobs: 2, Root: root, Report: func(o batch.Outcome) {
		if err := report.Write(o.Line, o.Path, fmt.Appendf(nil, "%s\t%d\n", o.Path, o.Result.Size)); err != nil {
			log.Print(err)
		}
	}})
	if err := report.Close(); err != nil { // it puts the rows in order
		log.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(dir, "report.tsv"))
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%s%d files, whole: %v\n", text, totals.Complete, totals.Whole())
	// Output:
	// path	bytes
	// mirror/a.txt	3
	// mirror/c/d.txt	5
	// 2 files, whole: true
}

// What stops a run early: a server that cannot be reached fails all of its files.
func ExampleNoService() {
	s, err := testserver.Start(nil)
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	gone := s.URL("/gone")
	nobody := s.URLAs("nobody:secret", "/x")

	var c ftpexec.Client
	defer c.CloseIdleConnections()
	for _, url := range []string{gone, nobody} {
		_, err := c.Get(context.Background(), url)
		fmt.Println(batch.NoService(err))
	}
	// Output:
	// false
	// true
}

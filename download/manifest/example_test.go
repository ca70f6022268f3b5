package manifest_test

import (
	"fmt"
	"strings"

	"example.com/ftpfetch/download/manifest"
)

// Check a table in which one line is wrong, one repeats a file, and two files have the same path.
func ExampleCheck() {
	list := "url,size\nftp://host.dom/a/x,3\nftp://host.dom/y,many\nftp://host.dom/b/x,3\nftp://host.dom/a/x,3\n"
	files, octets, errs := manifest.Check(strings.NewReader(list), nil)
	for _, err := range errs {
		fmt.Println(err)
	}
	fmt.Println(files, "files,", octets, "bytes")
	for item, err := range manifest.Read(strings.NewReader(list), nil) {
		if err == nil {
			fmt.Println(item.Line, item.URLs[0], item.Path, *item.Size)
		}
	}
	// Output:
	// line 3: size: is not a number of bytes: write digits only, such as 1048576
	// line 4: the path x belongs to line 2, which has another URL, size or digest: write another path (Options.KeepDirs saves each file under the directories of its URL)
	// 2 files, 6 bytes
	// 2 ftp://host.dom/a/x x 3
	// 4 ftp://host.dom/b/x x 3
	// 5 ftp://host.dom/a/x x 3
}

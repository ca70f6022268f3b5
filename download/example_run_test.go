package download_test

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// fetch saves the files of a list below dir. A second call fetches the files that are still missing. A bad line counts
// as a failed file.
func fetch(ctx context.Context, list io.Reader, dir string) (download.Totals, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return download.Totals{}, err
	}
	defer root.Close()
	c := ftpexec.Client{MaxIdle: 4}
	defer c.CloseIdleConnections()
	tasks := download.Tasks(manifest.Read(list, nil))
	return download.Run(ctx, &c, tasks, &download.RunOptions{
		Jobs: 4, Ledger: ".ftpfetch-ledger", Each: download.Options{Root: root},
		Events: func(e download.Event) {
			switch {
			case e.Kind == download.Ended && e.Err != nil:
				fmt.Println(e.Err)
			case e.Kind == download.Ended:
				fmt.Println(e.Task.Path, "is", cmp.Or(e.Result.Left, "fetched"))
			}
		},
	})
}

func ExampleRun() {
	s, err := testserver.Start(&testserver.Options{Tree: map[string]string{"/pub/a": "one", "/pub/b": "two"}})
	if err != nil {
		log.Fatal(err)
	}
	defer s.Close()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	for range 2 {
		list := strings.NewReader(s.URL("/pub/a") + "\n" + s.URL("/pub/b") + "\nh/c\n")
		totals, err := fetch(context.Background(), list, dir)
		fmt.Println(totals.Complete, "complete:", err)
	}
	// Unordered output:
	// a is fetched
	// b is fetched
	// line 3: h/c: the scheme is missing; write ftp://h/c, or set Options.Base to ftp:// for the whole list
	// 2 complete: 2 of 3 files are complete, and 0 directories are not listed whole
	// a is already there
	// b is already there
	// line 3: h/c: the scheme is missing; write ftp://h/c, or set Options.Base to ftp:// for the whole list
	// 2 complete: 2 of 3 files are complete, and 0 directories are not listed whole
}

package batch_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"strings"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// fetch saves the files of a list below dir. Called again, it fetches those that are missing.
func fetch(ctx context.Context, list io.Reader, dir string) (batch.Totals, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return batch.Totals{}, err
	}
	defer root.Close()
	c := ftpexec.Client{MaxIdle: 4}
	defer c.CloseIdleConnections()
	var wrong error
	tasks := func(yield func(batch.Task) bool) {
		for item, err := range manifest.Read(list, manifest.Options{}) {
			if wrong = err; err != nil || !yield(batch.Task{Item: item}) {
				return
			}
		}
	}
	totals, err := batch.Run(ctx, &c, tasks, batch.Options{
		Jobs: 4, Ledger: ".ftpfetch-ledger", Each: download.Options{Root: root},
		Events: func(e batch.Event) {
			switch {
			case e.Kind == download.Ended && e.Err != nil:
				fmt.Println(e.Task.Path, e.Err)
			case e.Kind == download.Ended:
				fmt.Println(e.Task.Path, "is", cmp.Or(e.Result.Left, "fetched"))
			}
		},
	})
	return totals, errors.Join(wrong, err)
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
		list := strings.NewReader(s.URL("/pub/a") + "\n" + s.URL("/pub/b") + "\n")
		totals, err := fetch(context.Background(), list, dir)
		if err != nil {
			log.Fatal(err)
		}
		fmt.Println(totals.Complete, "complete")
	}
	// Unordered output:
	// a is fetched
	// b is fetched
	// 2 complete
	// a is already there
	// b is already there
	// 2 complete
}

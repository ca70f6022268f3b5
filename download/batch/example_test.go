package batch_test

import (
	"context"
	"fmt"
	"io"
	"os"

	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
)

// fetch saves the files of a list below dir. Called again, it fetches those that
// are missing.
func fetch(ctx context.Context, list io.Reader, dir string) (batch.Totals, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return batch.Totals{}, err
	}
	defer root.Close()
	ledger, err := batch.OpenLedger(root, batch.LedgerName)
	if err != nil {
		return batch.Totals{}, err
	}
	defer ledger.Close()
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
	totals := batch.Run(ctx, &c, tasks, batch.Options{Jobs: 4, Root: root, Ledger: ledger, Report: func(o batch.Outcome) {
		if o.Err != nil {
			fmt.Println(o.Path, o.Err)
		}
	}})
	return totals, wrong
}

func ExampleRun() {
	list, err := os.Open("list.tsv")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer list.Close()
	totals, err := fetch(context.Background(), list, "data")
	fmt.Println(totals.Complete, "complete", totals.Whole() && err == nil)
}

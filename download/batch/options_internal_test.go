package batch

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"golang.org/x/time/rate"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/urlparse"
)

// TestOptionsArePassedOn checks that package fetch gets every option for a file of many, but for the time between journals.
func TestOptionsArePassedOn(t *testing.T) {
	all := download.Options{
		Overwrite: true, Skip: true, Newer: true, Continue: true, NoResume: true, Verify: true,
		Retries: 1, RetryConnect: true, Segments: 2, Limit: rate.NewLimiter(1, 1),
	}
	set := reflect.ValueOf(optionsOf(all, manifest.Item{Size: new(int64), Sum: digest.Sum{Algorithm: "md5"}}))
	for i := range set.NumField() {
		f, name := set.Field(i), set.Type().Field(i).Name
		if name == "Checkpoint" {
			continue
		}
		if f.IsZero() {
			t.Errorf("%s is not passed on: see optionsOf", name)
		}
		for k := 0; name == "Flags" && k < f.NumField(); k++ {
			if f.Field(k).IsZero() {
				t.Errorf("%s is not passed on: see optionsOf", f.Type().Field(k).Name)
			}
		}
	}
}

// TestNoRoot runs without a Root: nothing is saved anywhere, and that is an error.
func TestNoRoot(t *testing.T) {
	t.Chdir(t.TempDir())
	item := manifest.Item{URLs: []*urlparse.URL{must.Get(urlparse.Parse("ftp://127.0.0.1/f"))(t)}}
	for _, path := range []string{"f", "../f", "/f"} {
		item.Path = path
		for _, task := range []Task{{Item: item}, {Item: item, Tree: &Tree{}}} {
			for _, ledger := range []string{"", ".ftpfetch-ledger"} {
				_, err := Run(t.Context(), shown{}, slices.Values([]Task{task}), Options{Ledger: ledger})
				if err == nil || ledger != "" && !errors.Is(err, download.ErrLocal) {
					t.Errorf("%s, tree %v, ledger %q: %v", path, task.Tree != nil, ledger, err)
				}
			}
		}
	}
}

package batch

import (
	"errors"
	"reflect"
	"slices"
	"testing"

	"golang.org/x/time/rate"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/internal/fetch"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/urlparse"
)

// TestOptionsArePassedOn sets one option at a time, and checks that package fetch gets it in the field of the same
// name. The size and the digest come from the item.
func TestOptionsArePassedOn(t *testing.T) {
	all := reflect.ValueOf(download.Options{
		Existing: download.Newer, NoResume: true, Verify: true,
		Retries: 1, Segments: 2, Limit: rate.NewLimiter(1, 1),
	})
	item := manifest.Item{Size: new(int64), Sum: digest.Sum{Algorithm: "md5"}}
	for _, f := range reflect.VisibleFields(reflect.TypeFor[fetch.Options]()) {
		if f.Anonymous {
			continue
		}
		var one download.Options
		want := fetch.Options{Size: item.Size, Sum: item.Sum}
		if f.Name != "Size" && f.Name != "Sum" {
			reflect.ValueOf(&one).Elem().FieldByName(f.Name).Set(all.FieldByName(f.Name))
			reflect.ValueOf(&want).Elem().FieldByIndex(f.Index).Set(all.FieldByName(f.Name))
			if all.FieldByName(f.Name).IsZero() {
				t.Errorf("the test sets no %s", f.Name)
			}
		}
		if got := optionsOf(one, item); !reflect.DeepEqual(got, want) {
			t.Errorf("%s is not passed on as it is: got %+v: see optionsOf", f.Name, got)
		}
	}
}

// TestNoRoot checks that a run without a Root fails and saves nothing.
func TestNoRoot(t *testing.T) {
	t.Chdir(t.TempDir())
	item := manifest.Item{URLs: []*urlparse.URL{must.Get(urlparse.Parse("ftp://127.0.0.1/f"))(t)}}
	for _, path := range []string{"f", "../f", "/f"} {
		item.Path = path
		for _, task := range []Task{{Item: item}, {Item: item, Tree: &Tree{}}} {
			for _, ledger := range []string{"", ".ftpfetch-ledger"} {
				_, err := Run(t.Context(), shown{}, slices.Values([]Task{task}), &Options{Ledger: ledger})
				if err == nil || ledger != "" && !errors.Is(err, download.ErrLocal) {
					t.Errorf("%s, tree %v, ledger %q: %v", path, task.Tree != nil, ledger, err)
				}
			}
		}
	}
}

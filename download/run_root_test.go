package download

import (
	"errors"
	"slices"
	"testing"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/urlparse"
)

// TestNoRoot checks that a run without a Root fails and saves nothing.
func TestNoRoot(t *testing.T) {
	t.Chdir(t.TempDir())
	urls := []*urlparse.URL{must.Get(urlparse.Parse("ftp://127.0.0.1/f"))(t)}
	for _, path := range []string{"f", "../f", "/f"} {
		for _, task := range []Task{{URLs: urls, Path: path}, {URLs: urls, Path: path, Tree: &Tree{}}} {
			for _, ledger := range []string{"", ".ftpfetch-ledger"} {
				_, err := Run(t.Context(), shown{}, slices.Values([]Task{task}), &RunOptions{Ledger: ledger})
				if err == nil || ledger != "" && !errors.Is(err, ErrLocal) {
					t.Errorf("%s, tree %v, ledger %q: %v", path, task.Tree != nil, ledger, err)
				}
			}
		}
	}
}

package mirror_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"example.com/ftpfetch/cmd/internal/mirror"
	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// TestFiltersOfLargeDirectory lists a directory so large that download.Run fetches files before the listing is
// complete. With a Filter, the unwanted files must not be fetched; without one, all files must be.
func TestFiltersOfLargeDirectory(t *testing.T) {
	const files = 1030
	now := time.Now()
	tree := make(map[string]string)
	for i := range files {
		tree[fmt.Sprintf("/t/%04d", i)] = "xx"
	}
	server := testserver.New(t, &testserver.Options{Tree: tree, ModTime: now})
	u := must.Get(urlparse.Parse("ftp://" + server.Addr() + "/t/"))(t)
	for _, tt := range []struct {
		name   string
		filter mirror.Filter
		want   int
	}{
		{"too young", mirror.Filter{MinAge: time.Hour}, 0},
		{"too old", mirror.Filter{NewerThan: now.Add(time.Hour)}, 0},
		{"too large", mirror.Filter{MaxSize: 1}, 0},
		{"too small", mirror.Filter{MinSize: 3}, 0},
		{"just large enough", mirror.Filter{MinSize: 2}, files},
		{"just small enough", mirror.Filter{MaxSize: 2}, files},
		{"any", mirror.Filter{}, files},
	} {
		dir := t.TempDir()
		root := must.Get(os.OpenRoot(dir))(t)
		defer root.Close()
		client := &ftpexec.Client{Timeout: time.Minute, MaxIdle: 4}
		defer client.CloseIdleConnections()
		source := &mirror.Source{FullSource: client, Filter: tt.filter}
		task := download.Task{URLs: []*urlparse.URL{u}, Tree: &download.Tree{}}
		o := download.RunOptions{Jobs: 4, Each: download.Options{Root: root, Retries: -1}}
		if _, err := download.Run(t.Context(), source, slices.Values([]download.Task{task}), &o); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if got := len(must.Get(os.ReadDir(dir))(t)); got != tt.want {
			t.Errorf("%s: %d files were fetched, want %d", tt.name, got, tt.want)
		}
	}
}

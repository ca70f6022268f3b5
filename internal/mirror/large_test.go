package mirror_test

import (
	"fmt"
	"os"
	"slices"
	"testing"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/batch"
	"example.com/ftpfetch/download/manifest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/mirror"
	"example.com/ftpfetch/internal/rules/must"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// TestAgesOfLargeDirectory lists a directory with more entries than package batch waits for before it begins to fetch. A
// Source must keep it from fetching the files that their age rules out. Without ages the files are all fetched.
func TestAgesOfLargeDirectory(t *testing.T) {
	const files = 1030
	now := time.Now()
	tree := make(map[string]string)
	for i := range files {
		tree[fmt.Sprintf("/t/%04d", i)] = ""
	}
	server := testserver.New(t, &testserver.Options{Tree: tree, ModTime: now})
	u := must.Get(urlparse.Parse("ftp://" + server.Addr() + "/t/"))(t)
	for _, tt := range []struct {
		name   string
		minAge time.Duration
		newer  time.Time
		want   int
	}{
		{"too young", time.Hour, time.Time{}, 0},
		{"too old", 0, now.Add(time.Hour), 0},
		{"any age", 0, time.Time{}, files},
	} {
		dir := t.TempDir()
		root := must.Get(os.OpenRoot(dir))(t)
		defer root.Close()
		client := &ftpexec.Client{Timeout: time.Minute, MaxIdle: 4}
		defer client.CloseIdleConnections()
		source := &mirror.Source{Server: client, MinAge: tt.minAge, Newer: tt.newer}
		task := batch.Task{Item: manifest.Item{URLs: []*urlparse.URL{u}}, Tree: &batch.Tree{}}
		o := batch.Options{Jobs: 4, Each: download.Options{Root: root, Retries: -1}}
		if _, err := batch.Run(t.Context(), source, slices.Values([]batch.Task{task}), o); err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if got := len(must.Get(os.ReadDir(dir))(t)); got != tt.want {
			t.Errorf("%s: %d files were fetched, want %d", tt.name, got, tt.want)
		}
	}
}

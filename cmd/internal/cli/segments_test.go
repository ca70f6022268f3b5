package cli_test

import (
	"context"
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/spf13/afero"

	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// segmented is a run with -s, and how many transfers there may be at once.
type segmented struct {
	args         string
	large, small int // files in a list; 0 and 0: one URL
	want         int // at most
}

var segmentedRuns = []segmented{
	{"", 0, 0, 1},
	{"-s 1", 0, 0, 1},
	{"-s 2", 0, 0, 2},
	{"-s 4", 0, 0, 4},
	{"-s 16", 0, 0, 16},
	{"-s 64", 0, 0, 64},
	{"-s 16 -j 2", 0, 0, 16},
	{"-s 16 --per-host 3", 0, 0, 3},
	{"-s 16 --shared", 0, 0, 6},
	{"-s 16 --shared --per-host 5", 0, 0, 5},
	{"-s 1", 1, 0, 1},
	{"-s 2", 1, 0, 2},
	{"-s 4", 1, 0, 4},
	{"-s 16", 1, 0, 16},
	{"-s 64", 1, 0, 64},
	{"-s 16 -j 2", 1, 0, 16},
	{"-s 16 --per-host 3", 1, 0, 3},
	{"-s 1", 2, 0, 2},
	{"-s 2", 2, 0, 4},
	{"-s 4", 2, 0, 6},
	{"-s 16", 2, 0, 16},
	{"-s 64", 2, 0, 64},
	{"-s 16 --per-host 3", 2, 0, 3},
	{"-s 1", 2, 98, 6},
	{"-s 2", 2, 98, 6},
	{"-s 16", 2, 98, 16},
	{"-s 16 -j 2", 2, 98, 16},
	{"-s 16 --per-host 3", 2, 98, 3},
}

// TestSegmentConnections counts the transfers that are under way at once. The server sends no byte of a large file before
// there are as many as wanted, and there must never be more.
func TestSegmentConnections(t *testing.T) {
	t.Setenv("XDG_RUNTIME_DIR", t.TempDir())
	for _, tt := range segmentedRuns {
		t.Run(fmt.Sprintf("%s, %d and %d", tt.args, tt.large, tt.small), tt.count)
	}
}

func (tt segmented) count(t *testing.T) {
	files, tree, list := afero.NewMemMapFs(), make(map[string]string), ""
	for i := range max(1, tt.large) {
		tree[fmt.Sprint("/large", i)] = strings.Repeat("0123456789abcdef", max(2, tt.want)<<16)
	}
	for i := range tt.small {
		tree[fmt.Sprint("/small", i)] = "x"
	}
	most := 1 // for each file
	if words := strings.Fields(tt.args); len(words) > 0 {
		most, _ = strconv.Atoi(words[1])
	}
	wantLarge := min(tt.want, most*max(1, tt.large))
	gate := ftptest.NewGate(0)
	feed := ftptest.PlanFeed(files, func(_ int, r ftptest.Retrieval) ftptest.Pace {
		if strings.HasPrefix(r.Path, "/large") {
			return ftptest.Pace{Gate: gate}
		}
		return ftptest.Pace{}
	})
	s := testserver.New(t, &testserver.Options{FS: afero.NewIOFS(files), Tree: tree, Fault: feed.Fault})
	for i := range tt.small {
		list += s.URL(fmt.Sprint("/small", i)) + "\n"
	}
	for i := range tt.large {
		list += s.URL(fmt.Sprint("/large", i)) + "\n"
	}
	dir := t.TempDir()
	args := append(strings.Fields(tt.args), "-q", "-d", dir)
	if tt.large == 0 {
		args = append(args, s.URL("/large0"))
	} else {
		writeFile(t, filepath.Join(dir, "list"), list)
		args = append(args, "-i", filepath.Join(dir, "list"))
	}
	go func() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		feed.Await(ctx, func(all []ftptest.Retrieval) bool {
			open := 0
			for _, r := range all {
				if !r.Over && strings.HasPrefix(r.Path, "/large") {
					open++
				}
			}
			return open >= wantLarge
		})
		gate.Open()
	}()
	code, _, stderr := run(t, args...)
	if _, atOnce := feed.Most(); code != 0 || atOnce > tt.want || atOnce < wantLarge {
		t.Errorf("%d transfers at once, want %d; exit %d: %s", atOnce, tt.want, code, stderr)
	}
}

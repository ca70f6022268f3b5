package download_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"testing"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/guard"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// breaking is a Source with one method that panics.
type breaking struct {
	download.Source
	method string
}

func (b breaking) call(method string) {
	if b.method == method {
		panic("broken " + method)
	}
}

func (b breaking) Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error) {
	b.call("Do")
	return b.Source.Do(ctx, req)
}

func (b breaking) Entries(ctx context.Context, u *urlparse.URL) iter.Seq2[ftpexec.Entry, error] {
	b.call("Entries")
	return b.Source.Entries(ctx, u)
}

// TestPanic checks that a panic in any method of the Source, or in Events at any event, becomes the error of the run.
func TestPanic(t *testing.T) {
	for _, method := range []string{"Do", "Entries", "Started", "Progress", "Ended"} {
		srv := testserver.New(t, &testserver.Options{Tree: map[string]string{"/d/f": "text", "/d/g": "text"}})
		s := newClientStand(t)
		s.srv = srv
		root := must.Get(os.OpenRoot(s.dir))(t)
		defer root.Close()
		_, err := download.Run(t.Context(), breaking{&s.client, method}, func(yield func(download.Task) bool) {
			task := download.Task{Tree: &download.Tree{}}
			task.URLs = []*urlparse.URL{must.Get(urlparse.Parse(srv.URL("/d/")))(t)}
			yield(task)
		}, &download.RunOptions{Jobs: 2, Each: download.Options{Root: root, Retries: -1}, Events: func(e download.Event) {
			kind := map[download.EventKind]string{download.Started: "Started", download.Ended: "Ended", download.Progress: "Progress"}[e.Kind]
			if kind == method {
				panic("broken " + kind)
			}
		}})
		if !errors.Is(err, guard.ErrPanic) {
			t.Errorf("%s: got %v", method, err)
		}
		s.client.CloseIdleConnections()
	}
}

package download_test

import (
	"context"
	"errors"
	"iter"
	"os"
	"strings"
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

// TestPanic checks that a panic in any method of the Source, in Events at any event, or in another function of the
// options becomes the error of the run.
func TestPanic(t *testing.T) {
	for _, method := range []string{"Do", "Entries", "Started", "Progress", "Ended", "Info", "Info of a file", "MakeWay", "Done"} {
		srv := testserver.New(t, &testserver.Options{Tree: map[string]string{"/d/f": "text", "/d/g": "text"}})
		s := newClientStand(t)
		s.srv = srv
		root := must.Get(os.OpenRoot(s.dir))(t)
		defer root.Close()
		must.Do(t, root.Mkdir("f", 0o700)) // in the way of a file
		_, err := download.Run(t.Context(), breaking{&s.client, method}, func(yield func(download.Task) bool) {
			if method == "Info of a file" {
				yield(download.Task{URLs: []*urlparse.URL{must.Get(urlparse.Parse(srv.URL("/d/f")))(t)}})
				return
			}
			task := download.Task{Tree: &download.Tree{}}
			task.URLs = []*urlparse.URL{must.Get(urlparse.Parse(srv.URL("/d/")))(t)}
			yield(task)
		}, withBroken(method, download.RunOptions{Jobs: 2, Each: download.Options{Root: root, Retries: -1}, Events: func(e download.Event) {
			kind := map[download.EventKind]string{download.Started: "Started", download.Ended: "Ended", download.Progress: "Progress"}[e.Kind]
			if kind == method {
				panic("broken " + kind)
			}
		}}))
		if !errors.Is(err, guard.ErrPanic) {
			t.Errorf("%s: got %v", method, err)
		}
		s.client.CloseIdleConnections()
	}
}

// withBroken returns o with a function that panics.
func withBroken(function string, o download.RunOptions) *download.RunOptions {
	switch {
	case strings.HasPrefix(function, "Info"):
		o.Info = func(*urlparse.URL, ftpexec.Entry) { panic("broken Info") }
	case function == "MakeWay":
		o.MakeWay = func(string) error { panic("broken MakeWay") }
	case function == "Done":
		o.Done = func(context.Context, *download.Task, download.Result) error { panic("broken Done") }
		o.Ledger = ".ftpfetch-ledger"
	}
	return &o
}

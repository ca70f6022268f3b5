package download_test

import (
	"context"
	"errors"
	"iter"
	"net"
	"os"
	"slices"
	"strings"
	"testing"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/urlparse"
)

// TestNothing passes nil, empty and contradictory arguments to Run. Each must be an error of the run or of one task,
// and never a panic.
func TestNothing(t *testing.T) {
	root := must.Get(os.OpenRoot(t.TempDir()))(t)
	defer root.Close()
	u := must.Get(urlparse.Parse("ftp://127.0.0.1:1/d/f"))(t)
	dir := must.Get(urlparse.Parse("ftp://127.0.0.1:1/d/"))(t)
	if download.Tasks(nil) != nil {
		t.Error("there are tasks of nothing")
	}
	one := func(task download.Task) iter.Seq[download.Task] { return slices.Values([]download.Task{task}) }
	to := func(path string, urls ...*urlparse.URL) download.Task { return download.Task{URLs: urls, Path: path} }
	client := &ftpexec.Client{}
	good := download.RunOptions{Each: download.Options{Root: root, Retries: -1}}
	for _, tt := range []struct {
		what  string
		src   download.Source
		tasks iter.Seq[download.Task]
		o     func(o *download.RunOptions)
		fine  bool // there is nothing to do, which is no error
	}{
		{what: "no source", tasks: one(to("f", u))},
		{what: "no sequence", src: client, fine: true},
		{what: "an empty sequence", src: client, tasks: slices.Values([]download.Task(nil)), fine: true},
		{what: "an empty task", src: client, tasks: one(download.Task{})},
		{what: "no URL", src: client, tasks: one(to("f"))},
		{what: "a URL that is nil", src: client, tasks: one(to("f", nil))},
		{what: "a second URL that is nil", src: client, tasks: one(to("f", u, nil))},
		{what: "an empty URL", src: client, tasks: one(to("f", &urlparse.URL{}))},
		{what: "no path", src: client, tasks: one(to("", u))},
		{what: "a tree without URL", src: client, tasks: one(download.Task{Tree: &download.Tree{}})},
		{what: "a tree with an empty URL", src: client, tasks: one(download.Task{URLs: []*urlparse.URL{{}}, Tree: &download.Tree{}})},
		{what: "a tree for a writer", src: client, tasks: one(download.Task{URLs: []*urlparse.URL{dir}, Tree: &download.Tree{}, Writer: os.Stderr})},
		{what: "a directory as a file", src: client, tasks: one(to("f", dir))},
		{what: "fewer than no jobs", src: client, tasks: one(to("f", u)), o: func(o *download.RunOptions) { o.Jobs = -1 }},
		{what: "fewer than none for each host", src: client, tasks: one(to("f", u)), o: func(o *download.RunOptions) { o.PerHost = -1 }},
		{what: "too many segments", src: client, tasks: one(to("f", u)), o: func(o *download.RunOptions) { o.Each.Segments = 65 }},
		{what: "a timeout that is over", src: client, tasks: one(to("f", u)), o: func(o *download.RunOptions) { o.Timeout = -1 }},
		{what: "a ledger elsewhere", src: client, tasks: one(to("f", u)), o: func(o *download.RunOptions) { o.Ledger = "../x" }},
		{what: "a ledger that is not read", src: client, o: func(o *download.RunOptions) { o.Ledger = "x" }},
		{what: "contradictory options", src: client, tasks: one(to("f", u)), o: func(o *download.RunOptions) { o.Each.Existing = download.Continue; o.Each.NoResume = true }},
		{what: "a Dial that returns nothing", src: &ftpexec.Client{Dial: func(context.Context, string, string) (net.Conn, error) { return nil, nil }},
			tasks: one(to("f", u))},
	} {
		o := good
		if tt.o != nil {
			tt.o(&o)
		}
		totals, err := download.Run(t.Context(), tt.src, tt.tasks, &o)
		if (err == nil) != tt.fine || totals.Complete > 0 {
			t.Errorf("%s: %+v, %v", tt.what, totals, err)
		}
	}
}

// TestEachIsForAll checks that Run refuses options of one file in Options.Each, which it would ignore, before it takes a
// task, and takes the others.
func TestEachIsForAll(t *testing.T) {
	const refused = "Options.Each has a Size, Sum, Events or Commit, which has no effect"
	size := int64(0)
	for _, tt := range []struct {
		name string
		each download.Options
		err  string
	}{
		{"Size", download.Options{Size: &size}, refused},
		{"Sum", download.Options{Sum: digest.Sum{Algorithm: "md5", Digest: make([]byte, 16)}}, refused},
		{"Sum without a digest", download.Options{Sum: digest.Sum{Algorithm: "md5"}}, refused},
		{"Events", download.Options{Events: func(download.Event) {}}, refused},
		{"Commit", download.Options{Commit: func(download.Result) error { return nil }}, refused},
		{"others", download.Options{Retries: 3, Segments: 2, Verify: true, NoResume: true, Existing: download.Newer}, ""},
	} {
		tt.each.Root = must.Get(os.OpenRoot(t.TempDir()))(t)
		defer tt.each.Root.Close()
		taken := false
		tasks := func(func(download.Task) bool) { taken = true }
		_, err := download.Run(t.Context(), &ftpexec.Client{}, tasks, &download.RunOptions{Each: tt.each})
		if (err != nil) != (tt.err != "") || err != nil && !strings.Contains(err.Error(), tt.err) || taken != (tt.err == "") {
			t.Errorf("%s: got %v, want %q; tasks are taken: %v", tt.name, err, tt.err, taken)
		}
	}
}

// TestEndOfContext checks that the error of a run whose context has ended matches both the cause and the context's
// error.
func TestEndOfContext(t *testing.T) {
	root := must.Get(os.OpenRoot(t.TempDir()))(t)
	defer root.Close()
	why := errors.New("why")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(why)
	u := must.Get(urlparse.Parse("ftp://127.0.0.1:1/f"))(t)
	tasks := slices.Values([]download.Task{{URLs: []*urlparse.URL{u}, Path: "f"}})
	_, err := download.Run(ctx, &ftpexec.Client{}, tasks, &download.RunOptions{Each: download.Options{Root: root}})
	if !errors.Is(err, why) || !errors.Is(err, context.Canceled) || err.Error() != "why" {
		t.Errorf("got %v", err)
	}
}

package download_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// scarce is a source for which the process has too many open files at the given request, counted from one.
type scarce struct {
	*ftpexec.Client
	asked, at int
}

func (s *scarce) Do(ctx context.Context, r *ftpexec.Request) (*ftpexec.Response, error) {
	if s.asked++; s.asked == s.at {
		return nil, fmt.Errorf("a socket: %w", syscall.EMFILE)
	}
	return s.Client.Do(ctx, r)
}

// TestWriterGetsNoOtherTurn fetches a file for a Writer, with too many files open before its first byte or after half of
// it. What the Writer has must not be written again.
func TestWriterGetsNoOtherTurn(t *testing.T) {
	t.Parallel()
	half := testserver.OnConn(1, testserver.On("RETR", testserver.Reply("150 x"), testserver.Data("cont", testserver.Closed), testserver.Reply("426 x")))
	for at, want := range map[int]string{1: "contents", 2: "cont"} {
		steps := []testserver.Step{testserver.Honest("contents")}
		if at > 1 {
			steps = append(steps, half)
		}
		s := testserver.New(t, nil, steps...)
		c := &ftpexec.Client{MaxIdle: -1}
		var got strings.Builder
		task := download.Task{URLs: []*urlparse.URL{parse(t, s.URL("/f"))}, Path: "-", Writer: &got}
		totals, err := download.Run(t.Context(), &scarce{c, 0, at}, slices.Values([]download.Task{task}), nil)
		if got.String() != want || (err == nil) != (want == "contents") {
			t.Errorf("request %d: %q, %v, %+v", at, got.String(), err, totals)
		}
	}
}

// TestWriterTriesOnce counts the connections to a server that closes each before its greeting. A file for a Writer costs as
// many as one that is saved.
func TestWriterTriesOnce(t *testing.T) {
	t.Parallel()
	var connections []int
	for _, w := range []*countingWriter{nil, new(countingWriter)} {
		s := testserver.New(t, nil, testserver.On("", testserver.EndControl(testserver.Closed)))
		root := must.Get(os.OpenRoot(t.TempDir()))(t)
		defer root.Close()
		task := download.Task{URLs: []*urlparse.URL{parse(t, s.URL("/f"))}, Path: "f"}
		if w != nil {
			task.Writer = w
		}
		o := &download.RunOptions{Each: download.Options{Root: root, Retries: 1}}
		_, err := download.Run(t.Context(), &ftpexec.Client{MaxIdle: -1}, slices.Values([]download.Task{task}), o)
		if err == nil {
			t.Error("no error")
		}
		connections = append(connections, s.Connections())
	}
	if connections[0] != connections[1] {
		t.Errorf("%d connections for a saved file, %d for a Writer", connections[0], connections[1])
	}
}

// countingWriter counts bytes.
type countingWriter int

func (w *countingWriter) Write(p []byte) (int, error) {
	*w += countingWriter(len(p))
	return len(p), nil
}

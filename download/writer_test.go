package download_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/timing"
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

// TestWriterGetsNoOtherTurn fetches a file for a Writer, with too few files open before its first byte or after half of
// it. What the Writer has must not be written again.
func TestWriterGetsNoOtherTurn(t *testing.T) {
	wait := timing.Wait
	timing.Wait = func(ctx context.Context, _ time.Duration) error { return context.Cause(ctx) }
	t.Cleanup(func() { timing.Wait = wait })
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

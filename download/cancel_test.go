package download

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/interop/ftptest"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// A cancelled download must not name its file, even if the server confirms the transfer early, reports no size, and
// ends the data when the client closes the control connection.
func TestCancelledNamesNoFile(t *testing.T) {
	const atOnce, each = 32, 20
	cancels := make(chan func(), atOnce)
	s := testserver.New(t, nil, testserver.Honest("").With("SIZE", testserver.Reply("500 what")).With("MLST", testserver.Reply("500 what")),
		testserver.On("RETR", testserver.Reply("226 x"), testserver.Data("half"), ftptest.Call(func() { (<-cancels)() }), testserver.Data("", testserver.Stalled)))
	u, dir := urlOf(t, s.URL("/a/f")), t.TempDir()
	var named atomic.Int32
	var running sync.WaitGroup
	for i := range atOnce {
		running.Go(func() {
			for j := range each {
				path := filepath.Join(dir, strconv.Itoa(i*each+j))
				if !cancelled(t, u, path, cancels) {
					named.Add(1)
				}
			}
		})
	}
	running.Wait()
	if n := named.Load(); n > 0 {
		t.Errorf("%d of %d cancelled downloads ended well", n, atOnce*each)
	}
}

// cancelled reports whether a download to path, which is cancelled as its data arrives, says so and leaves no file.
func cancelled(t *testing.T, u *urlparse.URL, path string, cancels chan<- func()) bool {
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	opened := make(chan struct{})
	cancels <- func() { <-opened; cancel() }
	src := opening{new(ftpexec.Client), opened}
	_, err := File(ctx, src, u, path, nil)
	_, absent := os.Stat(path)
	return errors.Is(err, context.Canceled) && errors.Is(absent, os.ErrNotExist)
}

// opening is a Client that reports when a file is open.
type opening struct {
	*ftpexec.Client
	opened chan<- struct{}
}

func (o opening) Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error) {
	r, err := o.Client.Do(ctx, req)
	if err == nil {
		close(o.opened)
	}
	return r, err
}

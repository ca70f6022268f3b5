package ftpexec_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// A file is complete if all its bytes and a positive final reply have come, even if the data connection stays open.
func TestDataConnectionStaysOpen(t *testing.T) {
	reply := testserver.Reply
	for _, tt := range []struct {
		name string
		size string
		data []testserver.Action
		want error
		took time.Duration
	}{
		{"226", "213 8", []testserver.Action{testserver.Data("contents"), reply("226 done")}, nil, 2 * time.Second},
		{"226 before the data", "213 8", []testserver.Action{reply("226 done"), testserver.Data("contents")}, nil, 2 * time.Second},
		{"226 later", "213 8", []testserver.Action{testserver.Data("contents"), after(10 * time.Second), reply("226 done")}, nil, 10 * time.Second},
		{"no 226", "213 8", []testserver.Action{testserver.Data("contents")}, ftpexec.ErrTimeout, limit + 2*time.Second},
		{"426", "213 8", []testserver.Action{testserver.Data("contents"), reply("426 broken")}, ftpexec.ErrTruncated, 2 * time.Second},
		{"an empty file", "213 0", []testserver.Action{ftptest.AcceptData(), reply("226 done")}, nil, 2 * time.Second},
		{"too few bytes", "213 9", []testserver.Action{testserver.Data("contents"), reply("226 done")}, ftpexec.ErrTimeout, limit},
		{"too many bytes, late", "213 8", []testserver.Action{testserver.Data("contents"), after(3 * time.Second), testserver.Data("!"), reply("226 done")}, ftpexec.ErrTruncated, 3 * time.Second},
		{"a slow end", "213 8", []testserver.Action{testserver.Data("contents"), after(time.Second), testserver.Data("", testserver.Closed), reply("226 done")}, nil, time.Second},
		{"an end after the final reply", "213 8", []testserver.Action{testserver.Data("contents"), reply("226 done"), after(5 * time.Second), testserver.Data("", testserver.Closed)}, nil, 2 * time.Second},
	} {
		for _, straight := range []bool{false, true} {
			runInMemory(t, fmt.Sprintf("%s/WriteTo=%v", tt.name, straight), func(t *testing.T, network *ftptest.Network) {
				s := network.NewScript(t, testserver.Honest("contents").With("SIZE", reply(tt.size)).
					With("RETR", append([]testserver.Action{reply("150 x")}, tt.data...)...))
				c := closing(t, &ftpexec.Client{Dial: network.Dial, Timeout: limit})
				start := time.Now()
				r, err := c.Get(t.Context(), s.URL("/a/f"))
				var got bytes.Buffer
				if err == nil {
					defer r.Body.Close()
					if straight {
						_, err = r.Body.(io.WriterTo).WriteTo(&got)
					} else {
						_, err = got.ReadFrom(r.Body)
					}
				}
				took := time.Since(start)
				if !errors.Is(err, tt.want) || err == nil && int64(got.Len()) != r.Size || took.Round(10*time.Millisecond) != tt.took {
					t.Errorf("got %q, %v after %v, want %v after %v", got.String(), err, took, tt.want, tt.took)
				}
			})
		}
	}
}

package fetch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/internal/rules/must"
)

// TestSplit cuts what is missing into pieces for several connections.
func TestSplit(t *testing.T) {
	mib := func(s ...int64) (out partfile.Spans) {
		for ; len(s) > 0; s = s[2:] {
			out = append(out, partfile.Span{Start: s[0] << 20, End: s[1] << 20})
		}
		return out
	}
	for _, tt := range []struct {
		s, want partfile.Spans
		n       int
	}{
		{mib(0, 100), mib(0, 100), 1},
		{mib(0, 99), mib(0, 33, 33, 66, 66, 99), 3},
		{mib(0, 2), mib(0, 1, 1, 2), 4},
		{mib(0, 1), mib(0, 1), 4},
		{mib(0, 100, 200, 220), mib(0, 50, 50, 100, 200, 220), 3},
		{mib(0, 1, 2, 3, 4, 5), mib(0, 1, 2, 3, 4, 5), 2},
		{nil, nil, 2},
	} {
		if got := split(tt.s, tt.n); !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%v in %d: got %v, want %v", tt.s, tt.n, got, tt.want)
		}
	}
}

// TestDigestEnds ends the context while the digest of a file on the disk is computed, which can take seconds.
func TestDigestEnds(t *testing.T) {
	f := must.Get(os.Create(filepath.Join(t.TempDir(), "large")))(t)
	defer f.Close()
	must.Do(t, f.Truncate(1<<40))
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(time.Millisecond, func() { cancel(cause) })
	if err := newCheck(must.Get(digest.Parse("crc32:00000000"))(t), "").reach(ctx, f, 1<<40); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

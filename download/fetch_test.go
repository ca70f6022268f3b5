package download

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"testing"
	"time"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/ftpexec/retry"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/urlparse"
)

// TestTake hands out the missing spans of a file to several connections that begin at once.
func TestTake(t *testing.T) {
	mib := func(s ...int64) (out partfile.Spans) {
		for ; len(s) > 0; s = s[2:] {
			out = append(out, partfile.Span{Start: s[0] << 20, End: s[1] << 20})
		}
		return out
	}
	for _, tt := range []struct {
		gaps, want partfile.Spans
		n          int
		digest     bool
		opening    time.Duration
	}{
		{mib(0, 100), mib(0, 100), 1, false, 0},
		{mib(0, 99), mib(0, 33, 33, 66, 66, 99), 3, false, 0},
		{mib(0, 2), mib(0, 1, 1, 2), 4, false, 0},
		{mib(0, 1), mib(0, 1), 4, false, 0},
		{mib(0, 100, 200, 220), mib(0, 40, 40, 80, 80, 100), 3, false, 0},
		{mib(0, 1, 2, 3, 4, 5), mib(0, 1, 2, 3), 2, false, 0},
		{nil, nil, 2, false, 0},
		{mib(0, 100), mib(0, 16, 16, 29, 29, 40, 40, 50), 4, true, 0},
		{mib(0, 10), mib(0, 2, 2, 5, 5, 7, 7, 10), 4, true, 20 * time.Millisecond},
		{mib(0, 10), mib(0, 1, 1, 2, 2, 4, 4, 5), 4, true, time.Millisecond}, // turns are worth their requests
	} {
		f := &fetch{}
		if tt.digest {
			f.check = &check{}
		}
		c := &connections{transfer: &transfer{fetch: f}, ctx: t.Context(), gaps: tt.gaps, size: 100 << 20}
		c.opened.Store(int64(tt.opening))
		for range tt.n {
			c.all = append(c.all, &connection{})
		}
		var got partfile.Spans
		for _, k := range c.all {
			if c.takeSpan(k) {
				got = append(got, partfile.Span{Start: k.span.Start >> 20 << 20, End: k.span.End >> 20 << 20})
			}
		}
		if !reflect.DeepEqual(got, tt.want) {
			t.Errorf("%v for %d: got %v, want %v", tt.gaps, tt.n, got, tt.want)
		}
	}
}

// TestDigestEnds ends the context while reach reads a file on the disk, which can take seconds.
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

// TestFinishTellsReading checks that the run tells the user before it reads a large part for the last time, because
// that takes seconds.
func TestFinishTellsReading(t *testing.T) {
	const size = 1 << 30
	place := must.Get(new(partfile.Group).Find(nil, filepath.Join(t.TempDir(), "f")))(t)
	defer place.Close(false)
	part := must.Get(place.Claim("ftp://h/f", nil))(t)
	defer part.Close()
	must.Do(t, part.File().Truncate(size))
	part.Describe(size, time.Time{})
	stream := must.Get(part.Write(partfile.Span{End: size}))(t)
	must.Get(part.File().Seek(size, io.SeekStart))(t) // as if size bytes had been written
	must.Get(part.End(stream, true))(t)
	var told []string
	o := Options{Events: func(e Event) { told = append(told, e.Text) }}
	j := newSingle(nil, must.Get(urlparse.Parse("ftp://h/f"))(t), o)
	f := &file{fetch: j, to: place, t: &transfer{fetch: j, part: part}}
	r, err := f.finish(t.Context(), false)
	if want := []string{part.Name() + ": reading 1073741824 bytes to check them"}; err != nil || r.Size != size || !slices.Equal(told, want) {
		t.Errorf("got %+v, %v, told %q, want %q", r, err, told, want)
	}
}

// TestUnlike checks that unlike tells the part's file from another file, and retries once if a server omits the size or
// time.
func TestUnlike(t *testing.T) {
	old := time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)
	var passes *retry.Judged
	for _, tt := range []struct {
		had, has         int64
		modified         time.Time
		waits, different bool
	}{
		{10, 10, old, false, false},
		{0, 0, old, false, false},
		{10, 0, old, false, true},
		{0, 10, old, false, true},
		{10, 10, old.Add(time.Second), false, true},
		{10, -1, old, true, true},
		{0, -1, old, true, true},
		{10, 10, time.Time{}, true, true},
		{-1, 10, old, false, false},
	} {
		x := &transfer{fetch: &fetch{}}
		s := partfile.State{Size: tt.had, ModTime: old}
		first := x.unlike(s, tt.has, tt.modified)
		second := x.unlike(s, tt.has, tt.modified)
		_, different := second.(*redo)
		if waits := errors.As(first, &passes); waits != tt.waits || different != tt.different || !waits && (first == nil) != (second == nil) {
			t.Errorf("%d bytes, then %d of %v: got %v, then %v", tt.had, tt.has, tt.modified, first, second)
		}
	}
}

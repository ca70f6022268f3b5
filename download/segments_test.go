package download

import (
	"context"
	"io"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// togetherSource is a Source of one file. In a synctest bubble its responses return no byte until all goroutines wait,
// so that all responses of a round are open at the same time.
type togetherSource struct {
	Source // nil: the tests call no other method
	size   int
	answer func(n int, offset int64) (io.Reader, error) // the body for the nth request

	mu   sync.Mutex
	n    int // requests so far
	open int // open responses
	most int // the most that were open at the same time
}

func (s *togetherSource) Do(_ context.Context, req *ftpexec.Request) (*ftpexec.Response, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.n++
	r, err := s.answer(s.n, req.Offset)
	if err != nil {
		return nil, err
	}
	s.open++
	s.most = max(s.most, s.open)
	body := &countedBody{Reader: r, close: sync.OnceFunc(s.closed)}
	return &ftpexec.Response{Body: body, Size: int64(s.size), ModTime: kitTime}, nil
}

func (s *togetherSource) Stat(context.Context, *urlparse.URL) (ftpexec.Entry, error) {
	return ftpexec.Entry{Size: int64(s.size), ModTime: kitTime}, nil
}

func (s *togetherSource) closed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.open--
}

// atOnce returns the most responses that were open at the same time since the last call.
func (s *togetherSource) atOnce() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	most := s.most
	s.most = 0
	return most
}

// countedBody is the Body of a response.
type countedBody struct {
	io.Reader
	close func()
}

// Read waits until all other goroutines in the bubble are blocked.
func (b *countedBody) Read(p []byte) (int, error) {
	<-time.After(time.Nanosecond)
	return b.Reader.Read(p)
}

func (b *countedBody) Close() error {
	b.close()
	return nil
}

// errGone is the error of a connection that is lost.
var errGone = &ftpexec.Error{Stage: "transfer", Op: "RETR f", Err: ftpexec.ErrLost}

// TestSegmentsAtMost counts the connections that are open at the same time. There must be as many as Segments says,
// however many gaps there are; and after the note that there are fewer, at most as many as brought bytes.
func TestSegmentsAtMost(t *testing.T) {
	const lost = 500_000 // bytes that come before the connection is lost
	among := func(from, to int) func(int) bool { return func(n int) bool { return from <= n && n <= to } }
	none := among(0, -1)
	for what, tt := range map[string]struct {
		size, segments int // of the file in MiB
		gaps           bool
		refused, cut   func(n int) bool // the requests that fail at once, and after some bytes
		empty          int              // the request whose response is lost before its first byte
		most, then     int              // connections, and those after the note that there will be fewer; 0: no note
	}{
		"as many as pieces":        {8, 4, false, none, none, 0, 4, 0},
		"more than pieces":         {2, 4, false, none, none, 0, 2, 0},
		"fewer than gaps":          {8, 2, true, none, none, 0, 2, 0},
		"two of four are refused":  {8, 4, false, among(3, 6), among(1, 1), 0, 2, 2},
		"each of two is once lost": {8, 2, false, among(3, 4), among(1, 2), 0, 2, 0},
		"no byte comes":            {8, 4, false, among(2, 4), none, 1, 1, 1},
	} {
		contents := large[:tt.size<<20]
		k := newKit(t, nil)
		u := k.url("/f")
		if tt.gaps {
			k.write(k.part, contents)
			k.write(k.json, k.journal("/f", int64(len(contents)), kitTime, span{1 << 20, 2 << 20}, span{4 << 20, 5 << 20}))
		}
		synctest.Test(t, func(t *testing.T) {
			s := &togetherSource{size: len(contents)}
			s.answer = func(n int, offset int64) (io.Reader, error) {
				rest := strings.NewReader(contents[offset:])
				switch {
				case tt.refused(n):
					return nil, errGone
				case n == tt.empty:
					return iotest.ErrReader(errGone), nil
				case tt.cut(n):
					return io.MultiReader(io.LimitReader(rest, lost), iotest.ErrReader(errGone)), nil
				}
				return rest, nil
			}
			first := 0
			o := Options{Segments: tt.segments, Events: func(e Event) {
				if strings.Contains(e.Text, "continuing with at most") {
					if want := "continuing with at most " + printable.Count(int64(tt.then), "connection", "connections"); e.Text != want {
						t.Errorf("%s: told %q, want %q", what, e.Text, want)
					}
					first = s.atOnce()
				}
			}}
			_, err := File(t.Context(), s, u, k.path("f"), &o)
			last := s.atOnce()
			if tt.then == 0 {
				first = last
				last = 0
			}
			if err != nil || first != tt.most || last > tt.then {
				t.Errorf("%s: %d connections, then %d, want %d, at most %d (%v)", what, first, last, tt.most, tt.then, err)
			}
		})
		k.want(map[string]string{"f": contents})
	}
}

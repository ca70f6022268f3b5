package download

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"testing"
	"time"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

var large = noise(8<<20, 4)

func TestSegments(t *testing.T) {
	tests := []struct {
		what  string
		n     int
		fault failure
		conns int // at least
		told  string
	}{
		{"two", 2, nil, 2, ""},
		{"eight", 8, nil, 8, ""},
		{"more than there are pieces", 20, nil, 8, ""},
		{"one allowed", 4, on("", 2, 4, testserver.Do(testserver.Reply("421 Too many connections"), testserver.End(testserver.Closed))), 5, ""},
		{"refused without a reason", 4, on("PASS", 2, 4, testserver.Do(testserver.Reply("430 Not now."), testserver.End(testserver.Closed))), 4, "continuing with at most "},
		{"too many users", 4, on("PASS", 3, 4, testserver.Reply("530 Too many users")), 3, ""},
		{"no REST", 4, replies("REST", "502 What?"), 2, ""}, // whether bytes are given up depends on who is first
		{"cut", 4, always("RETR", testserver.Cut(500_000, testserver.Reset)), 4, ""},
		{"another time on one", 4, on("MDTM", 3, 3, testserver.Reply("213 20000101000000")), 4, "modified"},
		{"another size on one", 4, on("SIZE", 3, 3, testserver.Final(testserver.Reply("213 9000000"))), 4, "now has 9000000 bytes"},
		{"no size", 4, replies("SIZE", "502 What?"), 1, ""},
	}
	for _, tt := range tests {
		t.Run(tt.what, func(t *testing.T) {
			k := newKit(t, map[string]string{"/f": large})
			k.faulty(tt.fault)
			r, err := k.get("/f", Options{Segments: tt.n})
			if err != nil || r.Size != int64(len(large)) {
				t.Errorf("got %+v, %v, events %v", r, err, k.events)
			}
			if got := k.Connections(); got < tt.conns {
				t.Errorf("%d connections, want %d", got, tt.conns)
			}
			if tt.told != "" && !k.told(Noted, tt.told) {
				t.Errorf("events %v, want %q", k.events, tt.told)
			}
			k.want(map[string]string{"f": large})
		})
	}
}

// TestSegmentsLyingSize checks that a wrong size never makes a bad file good.
func TestSegmentsLyingSize(t *testing.T) {
	for _, size := range []string{"3000000", "9000000"} {
		k := newKit(t, map[string]string{"/f": large})
		k.faulty(always("SIZE", testserver.Final(testserver.Reply("213 "+size))))
		if _, err := k.get("/f", Options{Segments: 3}); !errors.Is(err, ftpexec.ErrTruncated) || k.exists("f") {
			t.Errorf("%s: got %v", size, err)
		}
		k.faulty(nil)
		if _, err := k.get("/f", Options{Segments: 3}); err != nil {
			t.Errorf("%s: %v", size, err)
		}
		k.want(map[string]string{"f": large})
	}
}

// TestSegmentsResume resumes from ranges, over several connections and one.
func TestSegmentsResume(t *testing.T) {
	for _, segments := range []int{1, 3} {
		k := newKit(t, map[string]string{"/f": large})
		k.faulty(always("RETR", testserver.Cut(500_000, testserver.Closed)))
		waiting(t, func(context.Context, time.Duration) error { return errors.New("enough") })
		_, err := File(t.Context(), k.c, k.url("/f"), k.path("f"), &Options{Segments: 3, Retries: -1})
		if err == nil {
			t.Fatal("no error")
		}
		wantNames(t, k.dir, k.json, k.part)
		k.faulty(nil)
		if r, err := k.get("/f", Options{Segments: segments}); err != nil || r.Resumed != 1_500_000-2*lapSize {
			t.Errorf("got %+v, %v", r, err)
		}
		k.want(map[string]string{"f": large})
	}
}

// checkClaims compares the bytes that a journal claims with the file.
func (k *kit) checkClaims(done []span, text string) {
	k.Helper()
	got := read(k.T, k.path("f.ftpfetch.part"))
	for _, x := range done {
		if text[x.start:x.end] != got[x.start:x.end] {
			k.Errorf("bytes %d to %d are not the file's", x.start, x.end)
		}
	}
}

// TestSegmentsUnconfirmedEnd has the last piece arrive whole and its end not be confirmed: its last byte is fetched again,
// and nothing after the file's end.
func TestSegmentsUnconfirmedEnd(t *testing.T) {
	for _, verb := range []string{"REST", "RETR"} {
		k := newKit(t, map[string]string{"/f": large})
		end := strconv.Itoa(len(large))
		rest, cut := map[int]string{}, false
		k.faulty(func(p *testserver.Conn) testserver.Action {
			if p.Verb == "REST" {
				rest[p.Num] = p.Arg
			}
			switch {
			case p.Verb == verb && rest[p.Num] == end:
				t.Errorf("%s at the file's end", verb)
				return testserver.Reply("554 Restart offset reaches the end of the file")
			case p.Verb == "RETR" && rest[p.Num] == strconv.Itoa(len(large)/4*3) && !cut:
				cut = true
				return testserver.Final(testserver.Reply("426 cut after the last byte"))
			}
			return nil
		})
		if _, err := k.get("/f", Options{Segments: 4}); err != nil || k.told(Noted, "starting over") {
			t.Errorf("%s: got %v, events %v", verb, err, k.events)
		}
		k.want(map[string]string{"f": large})
	}
}

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

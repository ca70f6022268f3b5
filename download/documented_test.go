package download

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// The tests in this file check sentences of docs/download.md that no other test checks.

// TestAskedOnceMore checks that a run asks a server once more if it omits the size or time that it reported before. If
// the server omits it again, the file starts over; but if all bytes have arrived, they stay for a later run.
func TestAskedOnceMore(t *testing.T) {
	for _, tt := range []struct {
		verb, reply string
		from, to    int // the commands refused: one comes before the rest of the data, one after
		resumed     int64
		err         error
	}{
		{"MDTM", "450 busy", 1, 1, 100_000, nil},
		{"MDTM", "450 busy", 1, 2, 0, nil},
		{"SIZE", "550 no", 2, 2, 100_000, nil},
		{"MDTM", "450 busy", 2, 99, 0, ftpexec.ErrChanged},
		{"SIZE", "450 busy", 2, 99, 0, ftpexec.ErrChanged},
		{"SIZE", "550 no", 2, 99, 0, ftpexec.ErrChanged},
	} {
		k := newKit(t, map[string]string{"/f": body})
		k.leaves("/f", 100_000)
		asked := 0
		k.faulty(func(p *testserver.Conn) testserver.Action {
			if p.Verb == "MLST" {
				return testserver.Reply("500 What?")
			}
			if p.Verb == tt.verb {
				if asked++; asked >= tt.from && asked <= tt.to {
					return testserver.Reply(tt.reply)
				}
			}
			return nil
		})
		r, err := k.get("/f", Options{})
		if !errors.Is(err, tt.err) || r.Resumed != tt.resumed || err != nil && r.Kept != int64(len(body)) {
			t.Errorf("%+v: got %+v, %v", tt, r, err)
		}
		if err == nil {
			k.want(map[string]string{"f": body})
		}
	}
}

// TestReachedByAnEarlierRun checks that a run retries an unreachable server if an earlier run of the same file reached
// it.
func TestReachedByAnEarlierRun(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.leaves("/f", 100_000)
	dials := 0
	k.c.Dial = func(ctx context.Context, network, address string) (net.Conn, error) {
		if dials++; dials == 1 {
			return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	if r, err := k.get("/f", Options{}); err != nil || r.Resumed != 100_000 || len(k.waits) != 1 {
		t.Errorf("got %+v, %v after %d retries", r, err, len(k.waits))
	}
}

// TestTextKeepsNothing checks that a cut transfer in ASCII type starts over, and that a failed run leaves no part.
func TestTextKeepsNothing(t *testing.T) {
	text := strings.Repeat("a line\r\n", 10_000)
	broken := during(1, testserver.Sequence(testserver.EndDataAfter(20_000, testserver.Closed), testserver.ReplaceReply(testserver.Reply("426 Broken"))))
	k := newKit(t, map[string]string{"/f": text})
	k.faulty(broken)
	r, err := k.get("/f;type=a", Options{})
	if rests := k.rests(); err != nil || len(k.waits) != 1 || len(rests) > 0 {
		t.Errorf("got %+v, %v after %d retries and REST %q", r, err, len(k.waits), rests)
	}
	k = newKit(t, map[string]string{"/f": text})
	k.faulty(broken)
	if r, err := k.get("/f;type=a", Options{Retries: -1}); err == nil || r.Kept != 0 {
		t.Errorf("got %+v, %v", r, err)
	}
	k.want(map[string]string{})
}

// TestSkippedIsCompared checks that Skip compares the target with Sum or Size, without asking the server, or with
// Verify with the digest that the server offers.
func TestSkippedIsCompared(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.write("f", "another")
	for _, tt := range []struct {
		o    Options
		want error
	}{
		{Options{}, nil},
		{Options{Sum: sum(t, "sha256:"+sha256Of("another"))}, nil},
		{Options{Size: new(int64(7))}, nil},
		{Options{Sum: sum(t, "sha256:"+sha256Of(body))}, ErrDigest},
		{Options{Size: new(int64(8))}, ftpexec.ErrChanged},
		{Options{Size: new(int64(8)), Sum: sum(t, "sha256:"+sha256Of("another"))}, ftpexec.ErrChanged},
	} {
		tt.o.Existing = Skip
		r, err := k.get("/f", tt.o)
		if !errors.Is(err, tt.want) || (r.Verified != "") != (err == nil && tt.o.Sum.Algorithm != "") {
			t.Errorf("%+v: got %+v, %v", tt.o, r, err)
		}
	}
	if n := len(k.Commands()); n != 0 {
		t.Errorf("the server received %d commands", n)
	}
	for list, want := range map[string]error{
		"": ErrUnverified, sha256Of(body) + "  f\n": ErrDigest, sha256Of("another") + "  f\n": nil,
	} {
		k := newKit(t, map[string]string{"/f": body})
		if list != "" {
			k = newKit(t, map[string]string{"/f": body, "/SHA256SUMS": list})
		}
		k.write("f", "another")
		r, err := k.get("/f", Options{Existing: Skip, Verify: true})
		if !errors.Is(err, want) || (r.Verified != "") != (err == nil) {
			t.Errorf("%q: got %+v, %v", list, r, err)
		}
		k.want(map[string]string{"f": "another"})
	}
	k.want(map[string]string{"f": "another"})
}

// TestOptionsCheck checks that contradictory options are an error before the server is asked or a file is touched.
func TestOptionsCheck(t *testing.T) {
	k := newKit(t, map[string]string{"/f": "contents"})
	for _, tt := range []struct {
		o    Options
		want string
	}{
		{Options{Existing: Continue, NoResume: true}, "NoResume"},
		{Options{Existing: NewerOrContinue, NoResume: true}, "NoResume"},
		{Options{Existing: "Newer"}, "Existing"},
		{Options{Segments: 65}, "Segments"},
		{Options{Segments: -2}, "Segments"},
	} {
		_, err := k.get("/f", tt.o)
		if err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: error %v, want one of %s", tt.o, err, tt.want)
		}
		if _, again := To(t.Context(), k.c, k.url("/f"), io.Discard, &tt.o); again == nil || again.Error() != err.Error() {
			t.Errorf("To: %+v: error %v, want %v", tt.o, again, err)
		}
	}
	all := Options{Existing: Continue, NoResume: true, Segments: 65}
	for range 50 { // the error must always be the same one of several
		if _, err := To(t.Context(), k.c, k.url("/f"), io.Discard, &all); err == nil || !strings.HasPrefix(err.Error(), "the options contradict ") {
			t.Fatalf("%+v: error %v", all, err)
		}
	}
	if left, _ := os.ReadDir(k.dir); len(left) > 0 || k.Connections() > 0 {
		t.Errorf("%d files, %d connections", len(left), k.Connections())
	}
}

// TestURLWithoutPassword checks that the journal contains no password.
func TestURLWithoutPassword(t *testing.T) {
	u := urlOf(t, "ftp://me:secret@h/f")
	if got := u.Key(); got != "ftp://me@h/f" {
		t.Errorf("got %s", got)
	}
	if _, ok := u.User.Password(); !ok {
		t.Error("the URL itself was changed")
	}
	alice, bob := urlOf(t, "ftp://h:2121/alice@x/f").Key(), urlOf(t, "ftp://h:2121/bob@x/f").Key()
	if alice == bob {
		t.Errorf("a part of one URL belongs to another: %s", alice)
	}
}

// memorySource is a Source as another package might write it: its Responses have only exported fields, and Body is a
// plain io.ReadCloser.
type memorySource struct {
	Source   // nil: the tests call no other method
	contents string
	progress chan int64 // if not nil, the second half waits until Progress has reported the first
}

func (m memorySource) Do(_ context.Context, req *ftpexec.Request) (*ftpexec.Response, error) {
	half := len(m.contents) / 2
	var wait io.Reader = strings.NewReader("")
	if m.progress != nil {
		wait = untilTold{m.progress, int64(half)}
	}
	r := io.MultiReader(strings.NewReader(m.contents[req.Offset:half]), wait, strings.NewReader(m.contents[half:]))
	return &ftpexec.Response{
		Body: io.NopCloser(struct{ io.Reader }{r}), Size: int64(len(m.contents)), ModTime: kitTime,
	}, nil
}

// untilTold is an empty reader that returns io.EOF when progress has reported n.
type untilTold struct {
	progress <-chan int64
	n        int64
}

func (w untilTold) Read([]byte) (int, error) {
	for range 10 {
		if <-w.progress == w.n {
			return 0, io.EOF
		}
	}
	return 0, io.ErrNoProgress
}

// TestToFromAnotherSource checks that Progress counts the bytes written.
func TestToFromAnotherSource(t *testing.T) {
	file := must.Get(os.Create(t.TempDir() + "/f"))(t)
	defer file.Close()
	var buffer bytes.Buffer
	for _, w := range []io.Writer{&buffer, file} {
		synctest.Test(t, func(t *testing.T) {
			m := memorySource{contents: body, progress: make(chan int64, 100)}
			last := int64(-1)
			o := &Options{Events: onProgress(func(done, _ int64) {
				last = done
				m.progress <- done
			})}
			r, err := To(t.Context(), m, urlOf(t, "ftp://h/f"), w, o)
			if err != nil || r.Size != int64(len(body)) || last != r.Size {
				t.Errorf("%T: got %+v, %v, progress at the end %d", w, r, err, last)
			}
		})
	}
	if buffer.String() != body || read(t, file.Name()) != body {
		t.Error("the contents are not the source's")
	}
}

// To refuses the fields that only concern files, and all functions a digest that is none.
func TestToRefusesWhatItIgnores(t *testing.T) {
	k := newKit(t, map[string]string{"/f": "contents"})
	root := must.Get(os.OpenRoot(k.dir))(t)
	defer root.Close()
	for name, o := range map[string]Options{
		"Root": {Root: root}, "Existing": {Existing: Skip}, "Segments": {Segments: 2},
		"Commit": {Commit: func(Result) error { return nil }},
	} {
		if _, err := To(t.Context(), k.c, k.url("/f"), io.Discard, &o); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, sum := range []digest.Sum{
		{Algorithm: "SHA256"}, {Algorithm: "x", Digest: []byte{1}}, {Algorithm: "\x00"}, {Algorithm: "md5", Digest: []byte{1}}, {Algorithm: "sha256"}, {Digest: []byte{1}},
	} {
		o := Options{Sum: sum}
		_, to := To(t.Context(), k.c, k.url("/f"), io.Discard, &o)
		_, file := k.get("/f", o)
		for _, err := range []error{to, file} {
			if err == nil || !strings.Contains(err.Error(), "digest.Parse") {
				t.Errorf("%q: %v", sum.Algorithm, err)
			}
		}
	}
	if k.Connections() > 0 {
		t.Errorf("%d connections", k.Connections())
	}
}

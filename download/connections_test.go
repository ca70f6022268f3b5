package download

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"iter"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/download/digest"
	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/urlparse"
)

// link is a Source of one file whose connections take simulated time. A test runs it in a synctest bubble.
type link struct {
	contents []byte
	opening  time.Duration         // from a request to its first byte
	lane     func(n int) lane      // says how the nth response goes, from 0; nil: all alike
	total    float64               // bytes per second of all responses together; 0: no limit
	allowed  int                   // responses at a time; more are refused; 0: any number
	change   func(n int) time.Time // the file's time that the nth response reports; nil: always the same
	journal  time.Duration         // between two journals; 0: the default

	mu    sync.Mutex
	asked int   // requests
	open  int   // responses, also those whose first byte has yet to come
	sends int   // responses that have begun
	most  int   // responses at a time
	sent  int64 // bytes
}

// lane is how one response goes.
type lane struct {
	rate   float64 // bytes per second
	stalls int64   // no byte comes after so many; 0: all come
	cut    int64   // the connection is lost after so many; 0: it is not
	wrong  bool    // the response starts at the file's beginning, whatever was asked for
}

var linkTime = time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC)

func (l *link) Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error) {
	l.mu.Lock()
	n := l.asked
	l.asked++
	refused := l.allowed > 0 && l.open >= l.allowed
	if !refused {
		l.open++
		l.most = max(l.most, l.open)
	}
	l.mu.Unlock()
	if err := wait(ctx, l.opening); err != nil {
		if !refused {
			l.closed(0)
		}
		return nil, err
	}
	if refused {
		return nil, &ftpexec.Error{Stage: ftpexec.StageLogin, Op: "PASS", Code: 421, Err: ftpexec.ErrTooMany}
	}
	l.mu.Lock()
	l.sends++
	l.mu.Unlock()
	x := lane{rate: 1 << 20}
	if l.lane != nil {
		x = l.lane(n)
	}
	from := req.Offset
	if x.wrong {
		from = 0
	}
	ctx, cancel := context.WithCancel(ctx)
	b := &lanes{link: l, lane: x, ctx: ctx, cancel: sync.OnceFunc(func() { cancel(); l.closed(1) }), rest: l.contents[from:]}
	r := &ftpexec.Response{Body: b, Size: int64(len(l.contents)), ModTime: linkTime}
	if l.change != nil {
		r.ModTime = l.change(n)
	}
	return r, nil
}

// closed notes that a response is closed, which counts in sends or not.
func (l *link) closed(sends int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.open--
	l.sends -= sends
}

func (l *link) Stat(context.Context, *urlparse.URL) (ftpexec.Entry, error) {
	e := ftpexec.Entry{Size: int64(len(l.contents)), ModTime: linkTime}
	if l.change != nil {
		e.ModTime = l.change(l.asked)
	}
	return e, nil
}

func (l *link) Hash(context.Context, *urlparse.URL, string) ([]byte, error) { panic("not asked for") }

func (l *link) List(context.Context, *urlparse.URL) iter.Seq2[ftpexec.Entry, error] { return nil }

func (l *link) Entries(context.Context, *urlparse.URL) iter.Seq2[ftpexec.Entry, error] { return nil }

// wait waits for d, or returns an error if ctx ends before.
func wait(ctx context.Context, d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return &ftpexec.Error{Stage: ftpexec.StageTransfer, Op: "RETR f", Err: context.Cause(ctx)}
	}
}

// lanes is the Body of a response of a link.
type lanes struct {
	lane
	link   *link
	ctx    context.Context
	cancel func()
	rest   []byte
	n      int64
}

func (b *lanes) Read(p []byte) (int, error) {
	if b.stalls > 0 && b.n >= b.stalls {
		if err := wait(b.ctx, time.Minute); err != nil {
			return 0, err
		}
		return 0, &ftpexec.Error{Stage: ftpexec.StageTransfer, Op: "RETR f", Err: ftpexec.ErrTimeout}
	}
	if b.cut > 0 && b.n >= b.cut {
		return 0, &ftpexec.Error{Stage: ftpexec.StageTransfer, Op: "RETR f", Err: ftpexec.ErrLost}
	}
	if len(b.rest) == 0 {
		return 0, io.EOF
	}
	b.link.mu.Lock()
	rate := b.rate
	if b.link.total > 0 {
		rate = min(rate, b.link.total/float64(b.link.sends))
	}
	b.link.mu.Unlock()
	some := max(1<<10, min(int(rate/20), 64<<10)) // 50 ms
	n := copy(p, b.rest[:min(len(b.rest), some)])
	if err := wait(b.ctx, time.Duration(float64(n)/rate*float64(time.Second))); err != nil {
		return 0, err
	}
	b.rest = b.rest[n:]
	b.n += int64(n)
	b.link.mu.Lock()
	defer b.link.mu.Unlock()
	b.link.sent += int64(n)
	return n, nil
}

func (b *lanes) Close() error {
	b.cancel()
	return nil
}

// linkFile is the file of a link.
var linkFile = func() []byte {
	b := make([]byte, 32<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(b)
	return b
}()

// fetch fetches the file of a link in simulated time, and returns how long it took.
func (l *link) fetch(t *testing.T, path string, o Options) (took time.Duration, err error) {
	t.Helper()
	began := time.Now()
	err = l.fetchUntil(t.Context(), t, path, o)
	return time.Since(began), err
}

// fetchUntil is fetch until ctx ends.
func (l *link) fetchUntil(ctx context.Context, t *testing.T, path string, o Options) error {
	t.Helper()
	o.checkpoint = l.journal
	_, err := File(ctx, l, must.Get(urlparse.Parse("ftp://h/f"))(t), path, &o)
	return err
}

// rates returns lanes with these rates in KiB/s, the last one for all further responses.
func rates(kib ...float64) func(n int) lane {
	return func(n int) lane { return lane{rate: kib[min(n, len(kib)-1)] * 1024} }
}

// race is a file that comes over connections of different speed.
type race struct {
	what     string
	segments int
	link     *link
	ideal    float64       // bytes per second of all connections together
	factor   float64       // of the ideal time
	more     time.Duration // that may be added
	requests int           // at most
	most     int           // connections at a time
}

func races() []race {
	const kib = 1 << 10
	stalls := func(n int) lane {
		if n == 2 {
			return lane{rate: 512 * kib, stalls: 1 << 20}
		}
		return lane{rate: 512 * kib}
	}
	lost := func(n int) lane {
		if n%2 == 1 && n < 8 {
			return lane{rate: 512 * kib, cut: 700_000}
		}
		return lane{rate: 512 * kib}
	}
	return []race{
		{"equal, 4", 4, &link{lane: rates(512)}, 4 * 512 * kib, 1.03, 0, 4, 4},
		{"equal, 8", 8, &link{lane: rates(512)}, 8 * 512 * kib, 1.03, 0, 8, 8},
		{"equal, 16", 16, &link{lane: rates(512)}, 16 * 512 * kib, 1.05, 0, 16, 16},
		{"one of eight is slow", 8, &link{lane: rates(512, 512, 512, 512, 25, 512)}, 7 * 512 * kib, 1.05, 0, 20, 8},
		{"one of eight is always slow", 8, &link{lane: func(n int) lane {
			if n%8 == 4 {
				return lane{rate: 25 * kib}
			}
			return lane{rate: 512 * kib}
		}}, 7 * 512 * kib, 1.15, 0, 32, 8},
		{"half are at a quarter", 8, &link{lane: func(n int) lane { return lane{rate: float64(512-n%2*384) * kib} }}, 4 * 640 * kib, 1.3, 0, 32, 8},
		{"the first is slow", 4, &link{lane: rates(64, 512)}, 3 * 512 * kib, 1.05, 0, 12, 4},
		{"one stops without a word", 4, &link{lane: stalls}, 4 * 512 * kib, 1.03, paceTime, 9, 4},
		{"half are lost", 8, &link{lane: lost}, 8 * 512 * kib, 1.1, 2 * time.Second, 24, 8},
		{"three are allowed", 8, &link{lane: rates(512), allowed: 3}, 3 * 512 * kib, 1.03, 0, 24, 3},
		{"one is allowed", 8, &link{lane: rates(512), allowed: 1}, 512 * kib, 1.01, 0, 18, 1},
		{"opening takes long", 8, &link{lane: rates(512), opening: 800 * time.Millisecond}, 8 * 512 * kib, 1.05, 1600 * time.Millisecond, 10, 8},
		{"auto, capped by connection", AutoSegments, &link{lane: rates(256)}, 16 * 256 * kib, 1.2, 0, 24, 16},
		{"auto, a full link", AutoSegments, &link{lane: rates(4096), total: 4096 * kib}, 4096 * kib, 1.02, 0, 6, 2},
		{"auto, a first trial that says little", AutoSegments, &link{lane: func(n int) lane {
			if n == 1 {
				return lane{rate: 8 * kib}
			}
			return lane{rate: 512 * kib}
		}}, 16 * 512 * kib, 2, 0, 20, 16},
		{"auto, three are allowed", AutoSegments, &link{lane: rates(512), allowed: 3}, 3 * 512 * kib, 1.1, 0, 18, 3},
		{"auto, far away", AutoSegments, &link{lane: rates(256), opening: 800 * time.Millisecond}, 16 * 256 * kib, 1.4, 0, 20, 16},
		{"auto, a full link far away", AutoSegments, &link{lane: rates(4096), total: 4096 * kib, opening: 800 * time.Millisecond}, 4096 * kib, 1.2, 0, 12, 4},
	}
}

// TestShared fetches a file over connections of different speed. The file must come about as fast as the connections
// together can bring it, in few requests, and hardly a byte may come twice.
func TestShared(t *testing.T) {
	t.Parallel()
	for _, tt := range races() {
		t.Run(tt.what, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "f")
			synctest.Test(t, func(t *testing.T) {
				l := tt.link
				l.contents = linkFile
				l.journal = time.Hour // it takes the disk longer than all the rest; TestMovingFaults checks it
				took, err := l.fetch(t, path, Options{Segments: tt.segments})
				size := float64(len(linkFile))
				ideal := time.Duration(size / tt.ideal * float64(time.Second))
				t.Logf("%.3f of %v, %d requests, %.2f %% twice, %d at a time", took.Seconds()/ideal.Seconds(), ideal, l.asked, 100*(float64(l.sent)/size-1), l.most)
				if err != nil || took > time.Duration(float64(ideal)*tt.factor)+tt.more {
					t.Errorf("took %v, at best %v, %v", took, ideal, err)
				}
				if l.asked > tt.requests || l.most != tt.most || float64(l.sent) > 1.02*size {
					t.Errorf("%d requests, %d at a time, %d bytes of %d", l.asked, l.most, l.sent, len(linkFile))
				}
				if l.open != 0 {
					t.Errorf("%d responses are still open", l.open)
				}
			})
			if got := must.Get(os.ReadFile(path))(t); string(got) != string(linkFile) {
				t.Error("the file is another one")
			}
		})
	}
}

// arrival is a caller that calls a function when all bytes have arrived.
type arrival struct {
	caller
	call func()
}

func (a arrival) arrived() { a.call() }

// TestDigestFollows checks that, when the last byte has come, at most a tenth of the file is left to be read for the digest.
func TestDigestFollows(t *testing.T) {
	t.Parallel()
	for _, segments := range []int{2, 4, 8} {
		path := filepath.Join(t.TempDir(), fmt.Sprint(segments))
		sum := sha256.Sum256(linkFile)
		synctest.Test(t, func(t *testing.T) {
			l := &link{contents: linkFile, lane: rates(256)}
			place := must.Get(new(partfile.Group).Find(nil, path))(t)
			defer place.Close(true)
			left := int64(-1)
			o := Options{Segments: segments, Sum: digest.Sum{Algorithm: "sha256", Digest: sum[:]}}
			j := newSingle(l, must.Get(urlparse.Parse("ftp://h/f"))(t), o)
			j.caller = arrival{j.caller, func() { left = int64(len(linkFile)) - j.check.at }}
			f := &file{fetch: j, to: place}
			if r, err := f.run(t.Context()); err != nil || r.Verified == "" || left < 0 || left > int64(len(linkFile))/10 {
				t.Errorf("%d segments: %d bytes are left, %+v, %v", segments, left, r, err)
			}
			t.Logf("%d: %.1f %% left, %d requests", segments, 100*float64(left)/float64(len(linkFile)), l.asked)
		})
	}
}

// TestMovingFaults fetches a file over links with random faults, and is interrupted at random times, until it is complete:
// connections are slow, stop, are lost, are refused, start at the wrong byte, or report another time. The file must be right
// at the end, and what the journal claims from its start on at any time.
func TestMovingFaults(t *testing.T) {
	t.Parallel()
	contents := linkFile[:6<<20]
	sum := sha256.Sum256(contents)
	runs, interrupted, moved := 0, 0, 0
	for seed := range night.Or(15, 1_500) {
		rng := rand.New(rand.NewPCG(uint64(seed), 44))
		path := filepath.Join(t.TempDir(), "f")
		synctest.Test(t, func(t *testing.T) {
			for try := 0; ; try++ {
				runs++
				l := faultyLink(contents, rng, try)
				o := Options{Segments: []int{AutoSegments, 2, 4, 8, 16}[rng.IntN(5)]}
				if rng.IntN(2) == 0 {
					o.Sum = digest.Sum{Algorithm: "sha256", Digest: sum[:]}
				}
				ctx, cancel := context.WithCancel(t.Context())
				if try < 5 && rng.IntN(3) > 0 {
					stop := time.AfterFunc(time.Duration(rng.Int64N(int64(30*time.Second))), cancel)
					defer stop.Stop()
				}
				err := l.fetchUntil(ctx, t, path, o)
				cancel()
				if l.open != 0 {
					t.Fatalf("seed %d: %d responses are still open", seed, l.open)
				}
				if l.asked > 2*max(1, o.Segments) {
					moved++
				}
				if err == nil {
					break
				}
				interrupted++
				checkJournal(t, seed, path, contents)
				if try == 40 {
					t.Fatalf("seed %d: not complete after %d runs: %v", seed, try, err)
				}
			}
		})
		if got := must.Get(os.ReadFile(path))(t); string(got) != string(contents) {
			t.Fatalf("seed %d: the file is another one", seed)
		}
		must.Do(t, os.Remove(path))
	}
	t.Logf("%d runs, %d of them ended before the file was complete, %d with moving pieces", runs, interrupted, moved)
}

// faultyLink returns a link with faults, or one without if there were many tries.
func faultyLink(contents []byte, rng *rand.Rand, try int) *link {
	l := &link{contents: contents, opening: time.Duration(rng.Int64N(int64(time.Second)))}
	if try > 20 {
		return l
	}
	if rng.IntN(3) == 0 {
		l.allowed = 1 + rng.IntN(4)
	}
	if rng.IntN(8) == 0 {
		l.change = func(n int) time.Time {
			if n == 3 {
				return linkTime.Add(time.Hour)
			}
			return linkTime
		}
	}
	seed := rng.Uint64()
	ignoring := rng.IntN(6) == 0 // some servers of the name ignore REST
	l.lane = func(n int) lane {
		rng := rand.New(rand.NewPCG(seed, uint64(n)))
		x := lane{rate: float64(int(16<<10) << rng.IntN(8))}
		switch rng.IntN(8) {
		case 0:
			x.stalls = 1 + rng.Int64N(2<<20)
		case 1:
			x.cut = 1 + rng.Int64N(2<<20)
		case 2:
			x.wrong = ignoring
		}
		return x
	}
	return l
}

// checkJournal compares the bytes from the start of the file that the journal beside it claims with contents. Bytes behind
// a gap may be wrong, because nothing proves where they belong before the gap is filled; then the next run compares them.
func checkJournal(t *testing.T, seed int, path string, contents []byte) {
	t.Helper()
	data, err := os.ReadFile(path + ".ftpfetch.json")
	if err != nil {
		return
	}
	var journal struct{ Done [][3]int64 }
	must.Do(t, json.Unmarshal(data, &journal))
	part := must.Get(os.ReadFile(path + ".ftpfetch.part"))(t)
	for _, x := range journal.Done {
		if x[0] == 0 && !bytes.Equal(part[:x[1]], contents[:x[1]]) {
			t.Fatalf("seed %d: bytes %d to %d are not the file's", seed, x[0], x[1])
		}
	}
}

package download

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"golang.org/x/time/rate"

	"example.com/ftpfetch/download/internal/partfile"
	"example.com/ftpfetch/download/internal/sums"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

var killCount = flag.Int("kill.count", night.Or(8, 100), "kills of TestKill")
var killSeed = flag.Uint64("kill.seed", 1, "seed of TestKill")
var killSize = flag.Int("kill.size", night.Or(4<<20, 12<<20), "bytes of TestKill's file")

// killChild is the environment variable that makes the test binary act as a downloader. Its value is a killOrder.
const killChild = "FTPFETCH_TEST_DOWNLOAD"

// killOrder tells the downloader what to do.
type killOrder struct {
	URL, Path string
	Segments  int
	After     int64 // kill itself after so many bytes of data; 0 means never
	Call      int   // kill itself at this call on the disk; 0 means never
	Straight  bool  // let the kernel copy from socket to file, and be killed from outside
}

// beKilled runs the downloader, which writes its journal as often as possible.
func beKilled() int {
	var order killOrder
	if err := json.Unmarshal([]byte(os.Getenv(killChild)), &order); err != nil {
		panic(err)
	}
	u, err := urlparse.Parse(order.URL)
	if err != nil {
		panic(err)
	}
	if order.Call > 0 {
		var calls atomic.Int64
		disk.Fault = func(string, string) error {
			if calls.Add(1) == int64(order.Call) {
				die()
			}
			return nil
		}
	}
	c := new(ftpexec.Client)
	if !order.Straight {
		c.Dial = (&deadline{left: order.After}).dial
	}
	_, err = File(context.Background(), c, u, order.Path, &Options{Segments: order.Segments, checkpoint: time.Millisecond})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// deadline kills the process after a number of bytes over all connections.
type deadline struct {
	left int64
	seen atomic.Int64
}

func (d *deadline) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := new(net.Dialer).DialContext(ctx, network, address)
	return &deadlineConn{conn, d}, err
}

type deadlineConn struct {
	net.Conn
	d *deadline
}

func (c *deadlineConn) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if seen := c.d.seen.Add(int64(n)); c.d.left > 0 && seen >= c.d.left {
		die()
	}
	return n, err
}

// die kills the process.
func die() {
	self, _ := os.FindProcess(os.Getpid())
	_ = self.Kill()
	select {}
}

// TestKill kills a downloader at random points, counted in bytes or in calls on the disk, with one connection and
// several. After each kill, the journal may claim only bytes that the part has. At the end the file must be right and
// the only one.
func TestKill(t *testing.T) {
	rng := rand.New(rand.NewPCG(*killSeed, 0))
	text := noise(*killSize, *killSeed)
	want := sha256.Sum256([]byte(text))
	kills, files, kept := 0, 0, int64(0)
	for kills < *killCount {
		k := newKit(t, map[string]string{"/f": text})
		killed := true
		for killed && kills < *killCount {
			if killed = k.runAndKill(rng); killed {
				kills++
				killed = !k.exists("f")
				kept += k.checkLeft(text)
			}
		}
		k.finishAfterKills(rng)
		files++
		if got := sha256.Sum256([]byte(read(t, k.path("f")))); got != want {
			t.Fatalf("seed %d: after %d kills the file is wrong", *killSeed, kills)
		}
		wantNames(t, k.dir, "f")
	}
	t.Logf("seed %d: %d kills, %d files of %d bytes right, %d bytes kept over kills", *killSeed, kills, files, len(text), kept)
}

// runAndKill runs the downloader and reports whether it was killed before its end.
func (k *kit) runAndKill(rng *rand.Rand) bool {
	order := killOrder{
		URL: k.URL("/f"), Path: k.path("f"), Segments: []int{1, 4}[rng.IntN(2)],
		After: 1 + rng.Int64N(int64(*killSize)/3), Straight: rng.IntN(2) == 0,
	}
	if rng.IntN(3) == 0 {
		order.Call, order.After, order.Straight = 1+rng.IntN(60), 0, false
	}
	cmd := k.command(order)
	k.sent.Store(0)
	must.Do(k, cmd.Start())
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	for order.Straight {
		if k.sent.Load() >= order.After {
			_ = cmd.Process.Kill()
			break
		}
		select {
		case err := <-ended:
			ended <- err
			order.Straight = false
		default:
		}
	}
	err := <-ended
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		k.Fatal("the downloader failed")
	}
	return err != nil
}

func (k *kit) command(order killOrder) *exec.Cmd {
	self := must.Get(os.Executable())(k)
	b := must.Get(json.Marshal(order))(k)
	cmd := exec.CommandContext(k.Context(), self)
	cmd.Env = append(os.Environ(), killChild+"="+string(b), "GORACE=atexit_sleep_ms=0")
	cmd.Stderr = os.Stderr
	return cmd
}

// finishAfterKills lets the downloader complete the file.
func (k *kit) finishAfterKills(rng *rand.Rand) {
	if k.exists("f") && len(namesIn(k.T, k.dir)) == 1 {
		return
	}
	cmd := k.command(killOrder{URL: k.URL("/f"), Path: k.path("f"), Segments: 1 + 3*rng.IntN(2)})
	must.Do(k, cmd.Run())
}

// checkLeft compares what the journal claims with the part, and returns the bytes claimed.
func (k *kit) checkLeft(text string) int64 {
	k.Helper()
	if k.exists("f") {
		if read(k.T, k.path("f")) != text {
			k.Fatal("a killed run left a wrong file under the final name")
		}
		return int64(len(text))
	}
	if !k.exists(k.json) {
		return 0
	}
	done, octets := k.claims()
	k.checkClaims(done, text)
	if extra, _ := filepath.Glob(k.path("*.bad")); len(extra) > 0 {
		k.Errorf("there is %v", extra)
	}
	return octets
}

// renames is the call that gives a file its name.
var renames = map[bool]string{true: "renameat2", false: "link"}[runtime.GOOS == "linux"]

var fourKiB = noise(4<<10, 9)

// fileOfMany saves a file as Run does: the caller has called Look.
func fileOfMany(ctx context.Context, src Source, u *urlparse.URL, place *partfile.Place, o *Options) (Result, error) {
	one := o.orZero()
	r, err := save(ctx, place, func() *fetch { return newFetch(src, u, one, single{&one, u}, new(sums.Cache), true) })
	place.Close(err != nil)
	return r, err
}

// TestSmallFile counts the calls on the disk for one small file, because users retrieve many thousands: at any path,
// below a root whose directory exists, and as one of many.
func TestSmallFile(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.Mkdir(filepath.Join(dir, "d"), 0o777))
	root := must.Get(os.OpenRoot(dir))(t)
	defer root.Close()
	alone := memorySource{contents: fourKiB}
	for _, tt := range []struct {
		path, part, dir string
		o               *Options
		many            bool
	}{
		{filepath.Join(dir, "f"), "f.ftpfetch.part", filepath.Base(dir), nil, false},
		{"d/f", "f.ftpfetch.part", "d", &Options{Root: root}, false},
		{"d/g", "g.ftpfetch.part", "d", &Options{Root: root}, true},
	} {
		const most = 13
		var calls, flushed []string
		onCall(t, func(call, path string) error {
			path = filepath.Clean(path)
			calls = append(calls, call+" "+filepath.Base(path))
			if call == "fsync" || call == renames {
				flushed = append(flushed, call+" "+filepath.Base(path))
			}
			return nil
		})
		if u := urlOf(t, "ftp://h/f"); tt.many {
			group := new(partfile.Group)
			must.Get(fileOfMany(t.Context(), alone, u, must.Get(group.Find(root, tt.path))(t), tt.o))(t)
			must.Do(t, group.Dirs.Close())
		} else {
			must.Get(File(t.Context(), alone, u, tt.path, tt.o))(t)
		}
		if len(calls) > most {
			t.Errorf("%s: %d calls, want at most %d: %q", tt.path, len(calls), most, calls)
		}
		if want := []string{"fsync " + tt.part, renames + " " + tt.part, "fsync " + tt.dir}; !slices.Equal(flushed, want) {
			t.Errorf("%s: got %q, want %q", tt.path, flushed, want)
		}
	}
}

// BenchmarkSmall saves files of 4 KiB, one after another, without a network.
func BenchmarkSmall(b *testing.B) {
	dir := b.TempDir()
	root := must.Get(os.OpenRoot(dir))(b)
	defer root.Close()
	u := urlOf(b, "ftp://h/f")
	alone, of, i := memorySource{contents: fourKiB}, new(partfile.Group), 0
	for _, bb := range []struct {
		what, dir string
		many      bool
		o         *Options
	}{
		{"anywhere", dir, false, nil}, {"root", "d", false, &Options{Root: root}},
		{"of many", "e", true, &Options{Root: root, Events: func(Event) {}, Commit: func(Result) error { return nil }}},
	} {
		b.Run(bb.what, func(b *testing.B) {
			for i = 0; b.Loop(); i++ {
				path := filepath.Join(bb.dir, fmt.Sprint(i))
				if bb.many {
					must.Get(fileOfMany(b.Context(), alone, u, must.Get(of.Find(root, path))(b), bb.o))(b)
				} else {
					must.Get(File(b.Context(), alone, u, path, bb.o))(b)
				}
			}
		})
	}
}

// TestLimit checks that the transfers that share a limit keep to it, to the millisecond.
func TestLimit(t *testing.T) {
	const bytes, limit = 2 << 20, 8 << 20
	for transfers := range 3 {
		synctest.Test(t, func(t *testing.T) {
			network := ftptest.NewNetwork()
			srv := network.NewScript(t, testserver.Honest(strings.Repeat("x", bytes)))
			c := &ftpexec.Client{Dial: network.Dial}
			limiter := limitOf(limit)
			begun := time.Now()
			var group sync.WaitGroup
			for range transfers {
				group.Go(func() {
					if _, err := To(t.Context(), c, urlOf(t, srv.URL("/f")), io.Discard, &Options{Limit: limiter}); err != nil {
						t.Error(err)
					}
				})
			}
			group.Wait()
			want := time.Second * time.Duration(transfers*bytes) / limit
			if took := time.Since(begun); took.Round(time.Millisecond) != want.Round(time.Millisecond) {
				t.Errorf("%d transfers took %v, want %v", transfers, took, want)
			}
		})
	}
}

// TestLimitEnds checks that the wait for a limit ends when the context does.
func TestLimitEnds(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	ctx, cancel := context.WithCancel(t.Context())
	o := &Options{Limit: limitOf(1), Events: onProgress(func(int64, int64) { cancel() })}
	if _, err := To(ctx, k.c, k.url("/f"), io.Discard, o); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	ctx, cancel = context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o = &Options{Limit: limitOf(1)}
	if _, err := To(ctx, k.c, k.url("/f"), io.Discard, o); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("beyond its deadline: got %v", err)
	}
}

// slow is a Limit that counts bytes and returns an error in the end.
type slow struct {
	most, sum, until int
}

var errEnough = errors.New("enough")

func (s *slow) WaitN(_ context.Context, n int) error {
	s.most = max(s.most, n)
	s.sum += n
	if s.until > 0 && s.sum > s.until {
		return errEnough
	}
	return nil
}

// bursting is a Limit with a burst.
type bursting struct {
	slow
	burst int
}

func (b *bursting) Burst() int { return b.burst }

// TestOwnLimit tries Limits of other types. They must get every byte, in pieces of at most their burst or 32 KiB, and
// the download must return their errors.
func TestOwnLimit(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	var plain slow
	if _, err := k.get("/f", Options{Limit: &plain, Existing: Overwrite}); err != nil || plain.sum != len(body) || plain.most != 32<<10 {
		t.Errorf("got %+v, %v", plain, err)
	}
	for _, burst := range []int{0, 1, 1000} {
		b := bursting{burst: burst}
		if _, err := k.get("/f", Options{Limit: &b, Existing: Overwrite}); err != nil || b.sum != len(body) || b.most != max(1, burst) {
			t.Errorf("got %+v, %v", b, err)
		}
	}
	ends := slow{until: 100_000}
	if _, err := k.get("/f", Options{Limit: &ends, Existing: Overwrite}); !errors.Is(err, errEnough) {
		t.Errorf("got %v", err)
	}
}

// limitOf returns an empty limiter of n bytes per second.
func limitOf(n int64) *rate.Limiter {
	burst := int(max(n/8, 512))
	l := rate.NewLimiter(rate.Limit(n), burst)
	l.AllowN(time.Now(), burst)
	return l
}

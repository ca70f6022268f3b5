package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/afero"
	"golang.org/x/sys/unix"

	"example.com/ftpfetch/lab/interop"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

const (
	cappedPort = 2123 // each connection gets cappedRate
	threePort  = 2124 // allows three connections, each with threeRate
	corePort   = 2125 // TLS on the first processor

	cappedRate = 4_000_000 // bytes a second
	threeRate  = 8_000_000
	fastRate   = 2_000_000 // of a connection that is not slow
)

// scenes starts the servers, and returns the rows of both tables.
func (b *bench) scenes(ctx context.Context) (peers, autos []*scene, err error) {
	lossy := &link{name: "lossy", oneWay: 50 * time.Millisecond, loss: 0.01}
	plain := &server{kind: interop.Vsftpd, port: anonymousPort}
	capped := &server{kind: interop.Vsftpd, port: cappedPort, more: rated(cappedRate)}
	three := &server{kind: interop.Vsftpd, port: threePort, allowed: 3, more: rated(threeRate)}
	core := &server{kind: interop.Vsftpd, port: corePort, tls: true, ca: map[*link]string{}}
	far := &server{kind: interop.Vsftpd, port: anonymousPort}
	if err := b.start(ctx, []*link{loopback}, plain, capped, three); err != nil {
		return nil, nil, err
	}
	if err := onFirstProcessor(func() error { return core.start(ctx, b.tree, loopback) }); err != nil {
		return nil, nil, err
	}
	running := append(b.servers, core)
	err = b.start(ctx, []*link{lossy}, far)
	b.servers = append(b.servers, running...)
	if err != nil {
		return nil, nil, err
	}
	peers, err = b.peerScenes(capped, far, lossy)
	if err != nil {
		return nil, nil, err
	}
	for _, s := range []struct {
		title   string
		server  *server
		link    *link
		mib     int
		numbers []int
	}{
		{"4 MB/s a connection", capped, loopback, pick(b, 512, 32), []int{4, 8, 16}},
		{"loopback", plain, loopback, pick(b, 512, 32), []int{1, 2, 4}},
		{"100 ms, 1 % loss", far, lossy, pick(b, 16, 4), []int{8, 16}},
		{"three connections of 8 MB/s", three, loopback, pick(b, 256, 16), []int{2, 3, 8}},
		{"TLS on one core", core, loopback, pick(b, 512, 16), []int{1, 2, 4}},
	} {
		one, err := b.scene(s.title, s.mib, s.server, s.link)
		if err != nil {
			return nil, nil, err
		}
		if s.server == plain || s.server == core || s.link == lossy { // the machine sets the speed, or chance
			one.runs = pick(b, 3, 1)
		}
		one.addRows(auto[:1], 0)
		one.addRows(auto[1:], s.numbers...)
		autos = append(autos, one)
	}
	return peers, autos, nil
}

// peerScenes returns the rows of the table of programs.
func (b *bench) peerScenes(capped, far *server, lossy *link) (all []*scene, err error) {
	add := func(title string, mib, n int, rate float64, server *server, l *link, clients []client) *scene {
		s, failed := b.scene(title, mib, server, l)
		err = errors.Join(err, failed)
		s.n = n
		if rate > 0 {
			s.ideal = time.Duration(float64(mib<<20) / rate * float64(time.Second))
		}
		s.addRows(clients, n)
		all = append(all, s)
		return s
	}
	size, several := pick(b, 256, 64), pullers[:4]
	add("4 MB/s a connection", pick(b, 64, 16), 1, cappedRate, capped, loopback, pullers)
	for _, n := range []int{4, 8, 16} {
		add("4 MB/s a connection", size, n, float64(n*cappedRate), capped, loopback, several)
	}
	size = pick(b, 64, 16)
	s := add("7 connections of 2 MB/s, one of 100 kB/s", size, 8, 7*fastRate+fastRate/20, &server{}, loopback, several)
	s.serve = b.feed(s.server, slowEighth)
	s = add("4 of 2 MB/s, 4 of 500 kB/s", size, 8, 4*fastRate+fastRate, &server{}, loopback, several)
	s.serve = b.feed(s.server, slowHalf)
	stop := size * 10 / 64
	s = add(fmt.Sprintf("4 of 2 MB/s, one stops after %d MiB", stop), size, 4, 4*fastRate, &server{}, loopback, hasty)
	s.serve = b.feed(s.server, stopsSecond(int64(stop)<<20))
	add("100 ms, 1 % loss", pick(b, 16, 4), 8, 0, far, lossy, several)
	return all, err
}

// slowEighth makes the eighth data connection slow.
func slowEighth(n int, _ ftptest.Retrieval) ftptest.Pace {
	if n == 8 {
		return ftptest.Pace{Rate: fastRate / 20}
	}
	return ftptest.Pace{Rate: fastRate}
}

// slowHalf makes every second control connection slow.
func slowHalf(_ int, r ftptest.Retrieval) ftptest.Pace {
	if r.Conn%2 == 0 {
		return ftptest.Pace{Rate: fastRate / 4}
	}
	return ftptest.Pace{Rate: fastRate}
}

// stopsSecond makes the second data connection silent for ever after some bytes.
func stopsSecond(after int64) func(int, ftptest.Retrieval) ftptest.Pace {
	return func(n int, _ ftptest.Retrieval) ftptest.Pace {
		if n == 2 {
			return ftptest.Pace{Rate: fastRate, End: testserver.Stalled, After: after}
		}
		return ftptest.Pace{Rate: fastRate}
	}
}

// scene returns a scene for a file of some MiB.
func (b *bench) scene(title string, mib int, server *server, l *link) (*scene, error) {
	name, err := b.file(fmt.Sprintf("large%d", mib), mib<<20)
	return &scene{job: job{
		title: fmt.Sprintf("%s, %d MiB", title, mib), server: server, files: []string{name}, links: []*link{l}, runs: 1, limit: 4 * time.Minute,
	}}, err
}

// feed returns a function that starts a server with a pace for each data connection, and changes the port of server to
// its port.
func (b *bench) feed(server *server, plan func(n int, r ftptest.Retrieval) ftptest.Pace) func(context.Context) (func(), error) {
	return func(context.Context) (func(), error) {
		stop, _, err := b.startFeed(server, plan)
		return stop, err
	}
}

func (b *bench) startFeed(server *server, plan func(n int, r ftptest.Retrieval) ftptest.Pace) (stop func(), feed *ftptest.Feed, err error) {
	files := afero.NewReadOnlyFs(afero.NewBasePathFs(afero.NewOsFs(), b.tree.Public))
	feed = ftptest.PlanFeed(files, plan)
	running, err := testserver.Start(&testserver.Options{FS: afero.NewIOFS(files), Fault: feed.Fault})
	if err != nil {
		return nil, nil, err
	}
	_, port, _ := net.SplitHostPort(running.Addr())
	server.port, err = strconv.Atoi(port)
	return func() { _ = running.Close() }, feed, err
}

// onFirstProcessor calls start, whose children then stay on the first processor.
func onFirstProcessor(start func() error) error {
	failed := make(chan error)
	go func() {
		runtime.LockOSThread() // the thread ends with the goroutine
		var first unix.CPUSet
		first.Set(0)
		err := unix.SchedSetaffinity(0, &first)
		if err == nil {
			err = start()
		}
		failed <- err
	}()
	return <-failed
}

// digests measures what is left to do after the last byte of a file whose digest is checked.
func (b *bench) digests(ctx context.Context, out io.Writer) error {
	const n, rate = 4, 25_000_000
	size := pick(b, 1<<30, 64<<20)
	name, err := b.file("digest", size)
	if err != nil {
		return err
	}
	sum, hashing, err := hash(filepath.Join(b.tree.Public, name))
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "\n### A digest of %d MiB, which arrive at %d MB/s over %d connections\n\n"+
		"Hashing the file takes %.2f s.\n\n| program | from the last byte to the exit, s | share of hashing |\n|---|--:|--:|\n", size>>20, n*rate/1_000_000, n, hashing.Seconds())
	var failed error
	for _, c := range []struct{ name, line string }{
		{"ftpfetch -s 4 --checksum", "ftpfetch, -q, -s, 4, --checksum, sha256:{sum}, {url}"},
		{"ftpfetch -s 4", "ftpfetch, -q, -s, 4, {url}"},
		{"aria2 -x 4 -s 4 -k 1M --checksum", "aria2c, -q, -x, 4, -s, 4, -k, 1M, --checksum=sha-256={sum}, {url}"},
		{"lftp pget -n 4", "lftp, -c, pget -n 4 {url}"},
	} {
		var tails []float64
		for range pick(b, 3, 1) {
			tail, err := b.tail(ctx, c.line, name, sum, rate)
			if err != nil {
				failed = errors.Join(failed, fmt.Errorf("%s: %w", c.name, err))
				break
			}
			tails = append(tails, tail.Seconds())
		}
		if tails != nil {
			median := spreadOf(tails).median
			fmt.Fprintf(out, "| %s | %.2f | %.2f |\n", c.name, median, median/hashing.Seconds())
		}
	}
	return failed
}

// hash returns the SHA-256 digest of a file and how long it took, from the page cache.
func hash(path string) (sum string, took time.Duration, err error) {
	for range 2 {
		f, err := os.Open(path)
		if err != nil {
			return "", 0, err
		}
		start, h := time.Now(), sha256.New()
		_, err = io.Copy(h, f)
		took = time.Since(start)
		f.Close()
		if err != nil {
			return "", 0, err
		}
		sum = fmt.Sprintf("%x", h.Sum(nil))
	}
	return sum, took, nil
}

// tail runs a command line and returns the time from the last byte that the server sent to its exit.
func (b *bench) tail(ctx context.Context, line, name, sum string, rate int64) (time.Duration, error) {
	home, err := os.MkdirTemp(b.dir, "run-")
	if err != nil {
		return 0, err
	}
	defer os.RemoveAll(home)
	j := &job{server: &server{}}
	stop, feed, err := b.startFeed(j.server, func(int, ftptest.Retrieval) ftptest.Pace { return ftptest.Pace{Rate: rate} })
	if err != nil {
		return 0, err
	}
	defer stop()
	unix.Sync()
	words := strings.Split(strings.NewReplacer("{url}", j.at("ftp", loopback)+name, "{sum}", sum).Replace(line), ", ")
	_, err = execute(ctx, words, home, home, 4*time.Minute)
	return time.Since(feed.LastSent()), err
}

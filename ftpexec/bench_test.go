//go:build unix

package ftpexec_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/afero"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// BenchmarkStraight retrieves the same file in turn straight from the socket into a file, and through a buffer.
// It compares the bytes per second of processor time of this process; the server is another process. The ratio is
// the median of the pairs, which load on the machine changes least.
func BenchmarkStraight(b *testing.B) {
	url := serverProcess(b)
	var straight, buffered, ratios []float64
	for b.Loop() {
		s := bytesPerSecond(b, url, func(f *os.File) io.Writer { return f })
		t := bytesPerSecond(b, url, func(f *os.File) io.Writer { return struct{ io.Writer }{f} })
		straight, buffered, ratios = append(straight, s), append(buffered, t), append(ratios, s/t)
	}
	b.ReportMetric(median(straight)/1e6, "straight-MB/cpu-s")
	b.ReportMetric(median(buffered)/1e6, "buffered-MB/cpu-s")
	b.ReportMetric(median(ratios), "ratio")
}

const benchSize = 256 << 20

func bytesPerSecond(b *testing.B, url string, target func(*os.File) io.Writer) float64 {
	f, err := os.Create(filepath.Join(b.TempDir(), "f"))
	if err != nil {
		b.Fatal(err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	before := processorTime(b)
	r, err := (&ftpexec.Client{}).Do(b.Context(), &ftpexec.Request{URL: parse(b, url)})
	if err != nil {
		b.Fatal(err)
	}
	if n, err := io.Copy(target(f), r.Body); err != nil || n != benchSize {
		b.Fatal(n, err)
	}
	return benchSize / (processorTime(b) - before).Seconds()
}

func median(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// serveVariable is an environment variable that makes the test binary serve the directory it names; see TestMain.
const serveVariable = "FTPEXEC_BENCH_SERVE"

// serverProcess serves a file from another process and returns the file's URL.
func serverProcess(b *testing.B) string {
	dir := b.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "f"), nil, 0o666); err != nil {
		b.Fatal(err)
	}
	if err := os.Truncate(filepath.Join(dir, "f"), benchSize); err != nil {
		b.Fatal(err)
	}
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), serveVariable+"="+dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() {
		in.Close()
		cmd.Wait()
	})
	url, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(url)
}

// serve serves dir until standard input ends.
func serve(dir string) {
	s, err := testserver.Start(&testserver.Options{FS: afero.NewBasePathFs(afero.NewOsFs(), dir)})
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(s.URL("/f"))
	io.Copy(io.Discard, os.Stdin)
	s.Close()
}

func init() {
	if dir := os.Getenv(serveVariable); dir != "" {
		serve(dir)
		os.Exit(0)
	}
}

// BenchmarkManyFiles retrieves 200 files of 1 MiB with Client.Do, one after another, on a connection for each and on
// those that the Client keeps by default. The ratio is the median of the pairs.
func BenchmarkManyFiles(b *testing.B) {
	s := testserver.New(b, &testserver.Options{Tree: map[string]string{"/f": strings.Repeat("x", 1<<20)}})
	var ratios []float64
	for b.Loop() {
		ratios = append(ratios, float64(manyFiles(b, s.URL("/f"), -1))/float64(manyFiles(b, s.URL("/f"), 0)))
	}
	b.ReportMetric(median(ratios), "times-as-long-without-pool")
}

func manyFiles(b *testing.B, url string, idle int) time.Duration {
	c := &ftpexec.Client{MaxIdle: idle}
	defer c.CloseIdleConnections()
	start := time.Now()
	for range 200 {
		if text, err := read(b.Context(), c, parse(b, url)); err != nil || len(text) != 1<<20 {
			b.Fatal(len(text), err)
		}
	}
	return time.Since(start)
}

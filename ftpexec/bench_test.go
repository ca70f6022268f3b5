//go:build unix

package ftpexec_test

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/afero"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
)

// BenchmarkStraight and BenchmarkBuffered retrieve the same file into a file: straight from the socket, and
// through a buffer. Compare B/cpu-s, octets for each second of processor time of this process; the server is
// another one.
func BenchmarkStraight(b *testing.B) { benchmarkBody(b, func(w io.Writer) io.Writer { return w }) }

func BenchmarkBuffered(b *testing.B) {
	benchmarkBody(b, func(w io.Writer) io.Writer { return struct{ io.Writer }{w} })
}

const benchSize = 256 << 20

func benchmarkBody(b *testing.B, target func(io.Writer) io.Writer) {
	url := serverProcess(b)
	f, err := os.Create(filepath.Join(b.TempDir(), "f"))
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	b.SetBytes(benchSize)
	before := processorTime(b)
	for b.Loop() {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			b.Fatal(err)
		}
		r, err := (&ftpexec.Client{}).OpenURL(b.Context(), parse(b, url))
		if err != nil {
			b.Fatal(err)
		}
		if n, err := io.Copy(target(f), r.Body); err != nil || n != benchSize {
			b.Fatal(n, err)
		}
	}
	used := processorTime(b) - before
	b.ReportMetric(float64(b.N)*benchSize/used.Seconds(), "B/cpu-s")
}

func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// serveVariable makes the test binary a server of the directory that it names; see TestMain.
const serveVariable = "FTPEXEC_BENCH_SERVE"

// serverProcess starts a server of a file in a process of its own, and returns the file's URL.
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

// Command demo shows ftpfetch without a network. It starts a server in its own process and runs the command ftpfetch
// against it.
//
//	go run ./cmd/demo
//
// It ends by itself, with exit code 0 only if every step had the expected result.
package main

import (
	"bytes"
	"context"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"example.com/ftpfetch/cmd/internal/cli"
	"example.com/ftpfetch/testserver"
)

// asCommand is the environment variable that makes this program act as the command ftpfetch.
const asCommand = "FTPFETCH_DEMO"

func main() {
	ctx, stop := cli.NotifyContext(context.Background())
	if os.Getenv(asCommand) != "" {
		code := cli.Run(ctx, os.Args[1:], cli.Standard())
		stop()
		os.Exit(code)
	}
	err := run(ctx, os.Stdout, &testserver.Options{Tree: tree()})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// tree returns the files of the server: a file of 4 MiB, two files for a list, and a directory.
func tree() map[string]string {
	genome := make([]byte, 4<<20)
	_, _ = rand.NewChaCha8([32]byte{}).Read(genome)
	return map[string]string{
		"/pub/genome.fa.gz": string(genome), "/pub/reads_1.fq": "ACGT\n", "/pub/reads_2.fq": "TTGA\n",
		"/pub/project/README": "Results\n", "/pub/project/data/a.csv": "1,2\n", "/pub/project/data/b.csv": "3,4\n",
	}
}

// run starts a server with o, shows the steps on w, and cleans up. It stops at the first step without the expected
// result.
func run(ctx context.Context, w io.Writer, o *testserver.Options) (err error) {
	server, err := testserver.Start(o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	dir, err := os.MkdirTemp("", "ftpfetch-demo-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	list := fmt.Sprintf("url\tmd5\n%s\t%x\n%s\t%x\n", server.URL("/pub/reads_1.fq"), md5.Sum([]byte("ACGT\n")),
		server.URL("/pub/reads_2.fq"), md5.Sum([]byte("another file")))
	if err := os.WriteFile(filepath.Join(dir, "reads.tsv"), []byte(list), 0o666); err != nil {
		return err
	}
	for _, s := range steps(server) {
		if err := s.run(ctx, w, dir); err != nil {
			return fmt.Errorf("ftpfetch %s: %w", strings.Join(s.args, " "), err)
		}
	}
	fmt.Fprintln(w, "\nAll of it worked. Next: ftpfetch -h")
	return nil
}

// step is a command line and its expected result.
type step struct {
	headline string // headline of this step and of the following ones without a headline
	args     []string
	killed   bool // kill the command in the middle
	code     int
	says     string // text expected in the output
	then     string // what the exit code means, for the reader
	file     string // expected file, with these contents
	contents string
}

func steps(server *testserver.Server) []step {
	genome, project := server.URL("/pub/genome.fa.gz"), server.URL("/pub/project/")
	return []step{{
		headline: "A download is killed, and the same command goes on where it was",
		args:     []string{"--limit-rate", "2M", genome}, killed: true,
	}, {
		args: []string{genome}, says: "resuming", then: "every byte is the server's",
		file: "genome.fa.gz", contents: tree()["/pub/genome.fa.gz"],
	}, {
		headline: "A list with a wrong digest: that file does not get its name",
		args:     []string{"--manifest", "reads.tsv", "-d", "data"},
		code:     100, says: "1 of 2 complete", then: "a digest differs",
		file: "data/reads_1.fq", contents: "ACGT\n",
	}, {
		headline: "A directory with everything in it; later only what has changed",
		args:     []string{"-r", "-N", project}, says: "3 of 3 complete", file: "project/data/b.csv", contents: "3,4\n",
	}, {
		args: []string{"-r", "-N", project}, says: "3 of 3 complete", then: "nothing was fetched",
	}}
}

// run runs the command in dir, shows its output on w, and compares the result with the expected one.
func (s step) run(ctx context.Context, w io.Writer, dir string) error {
	if s.headline != "" {
		fmt.Fprintf(w, "\n%s\n\n", s.headline)
	}
	fmt.Fprintln(w, "   $ ftpfetch", strings.Join(s.args, " "))
	code, out, err := s.command(ctx, dir)
	if err != nil {
		return err
	}
	for line := range strings.Lines(out) {
		fmt.Fprint(w, "   ", line)
	}
	switch {
	case s.killed && code != 0:
		fmt.Fprintln(w, "   Killed")
		return nil
	case s.then != "":
		fmt.Fprintf(w, "   (exit code %d: %s)\n", code, s.then)
	}
	if s.killed || code != s.code || !strings.Contains(out, s.says) {
		return fmt.Errorf("exit code %d, want %d and %q", code, s.code, s.says)
	}
	if s.file == "" {
		return nil
	}
	got, err := os.ReadFile(filepath.Join(dir, s.file))
	if err != nil || string(got) != s.contents {
		return fmt.Errorf("%s is not as on the server (%v)", s.file, err)
	}
	return nil
}

// command runs the command in dir, and kills it in the middle if s says so. It returns the exit code and the output.
func (s step) command(ctx context.Context, dir string) (code int, output string, err error) {
	self, err := os.Executable()
	if err != nil {
		return 0, "", err
	}
	ctx, kill := context.WithCancel(ctx)
	defer kill()
	var out bytes.Buffer
	command := exec.CommandContext(ctx, self, s.args...)
	command.Dir, command.Env = dir, append(os.Environ(), asCommand+"=1")
	command.Stdout, command.Stderr = &out, &out
	go func() {
		for s.killed && ctx.Err() == nil {
			time.Sleep(10 * time.Millisecond)
			if claimed(dir) {
				kill()
			}
		}
	}()
	err = command.Run()
	if command.ProcessState == nil {
		return 0, "", err
	}
	return command.ProcessState.ExitCode(), out.String(), nil
}

// claimed reports whether a journal in dir claims any bytes.
func claimed(dir string) bool {
	journals, _ := filepath.Glob(filepath.Join(dir, "*.json"))
	for _, name := range journals {
		text, _ := os.ReadFile(name)
		if bytes.Contains(text, []byte(`"done":[[`)) {
			return true
		}
	}
	return false
}

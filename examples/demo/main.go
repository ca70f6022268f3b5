// Command demo shows what ftpfetch does, end to end and without a network: it starts the embedded server with a small tree
// and runs the real command on it.
//
//	go run ./examples/demo
//
// It ends by itself, with exit code 0 only if every step did what it shows.
package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"example.com/ftpfetch/internal/cli"
	"example.com/ftpfetch/testserver"
)

// readme is the downloaded file.
const readme = "An ftp URL names a file by the way to it:\none CWD for each segment, then RETR.\n"

// tree is what the server serves.
func tree() map[string]string {
	return map[string]string{
		"/pub/docs/readme.txt":  readme,
		"/pub/docs/why?.txt":    "A question mark is a part of the name.\n",
		"/pub/images/bytes.bin": "\x00\xff\r\n",
	}
}

func main() {
	ctx, stop := cli.NotifyContext(context.Background())
	err := run(ctx, os.Stdout, &testserver.Options{Tree: tree()})
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run starts a server with o, shows all steps on w, and cleans up. The error says which steps did not do what they should.
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

	var failed []error
	for i, s := range steps(server.URL("/pub/docs"), server.Addr(), dir) {
		fmt.Fprintf(w, "%d. %s\n\n   $ %s\n", i+1, s.headline, typed(s.args))
		if err := s.run(ctx, w); err != nil {
			failed = append(failed, fmt.Errorf("step %d (%s): %w", i+1, s.headline, err))
		}
		fmt.Fprintln(w)
	}
	if len(failed) == 0 {
		fmt.Fprintln(w, "All of it worked.")
	}
	return errors.Join(failed...)
}

// step is one command line and its expected result.
type step struct {
	headline string
	args     []string
	code     int
	check    func(output string) error
}

// steps returns the four things to know, shown on the directory docs (a URL without its last "/") of the server at addr;
// files go to dir.
func steps(docs, addr, dir string) []step {
	return []step{{
		headline: "What a URL means: the plan, with nothing sent",
		args:     []string{"--dry-run", docs + "/readme.txt"},
		check: func(output string) error {
			return contains(output, "CONNECT "+addr+"\nUSER anonymous\nPASS <anonymous>\nCWD pub\nCWD docs\nTYPE I\nRETR readme.txt\n")
		},
	}, {
		headline: "The plan at work: a download, with the dialogue",
		args:     []string{"-v", "-d", dir, docs + "/readme.txt"},
		check: func(output string) error {
			return errors.Join(contains(output, "> CWD docs\n", "> RETR readme.txt\n"),
				fileIs(filepath.Join(dir, "readme.txt"), readme))
		},
	}, {
		headline: "A directory: the names in it",
		args:     []string{docs + "/"},
		check:    func(output string) error { return contains(output, "readme.txt\n", "why?.txt\n") },
	}, {
		headline: "A malformed URL: refused, with the spelling that works",
		args:     []string{docs + "/read me.txt"},
		code:     3,
		check:    func(output string) error { return contains(output, "column ", "%20") },
	}}
}

// run runs the command, shows its output on w and compares.
func (s step) run(ctx context.Context, w io.Writer) error {
	var out output
	code := cli.Run(ctx, s.args, cli.IO{In: strings.NewReader(""), Out: &out, Err: &out})
	for line := range strings.Lines(out.String()) {
		fmt.Fprint(w, "   "+line)
	}
	fmt.Fprintf(w, "   (exit code %d)\n", code)
	if code != s.code {
		return fmt.Errorf("exit code %d, want %d", code, s.code)
	}
	return s.check(out.String())
}

// output is what a command writes, on both streams.
type output struct {
	mu sync.Mutex
	bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.Buffer.Write(p)
}

// typed returns the command line as a user would type it in a shell.
func typed(args []string) string {
	line := "ftpfetch"
	for _, a := range args {
		if strings.ContainsAny(a, " ;?&'\"\\*$") {
			a = "'" + strings.ReplaceAll(a, "'", `'\''`) + "'"
		}
		line += " " + a
	}
	return line
}

func contains(text string, want ...string) error {
	for _, s := range want {
		if !strings.Contains(text, s) {
			return fmt.Errorf("no %q in %q", s, text)
		}
	}
	return nil
}

func fileIs(path, want string) error {
	got, err := os.ReadFile(path)
	if err == nil && string(got) != want {
		err = fmt.Errorf("%s holds %q, want %q", path, got, want)
	}
	return err
}

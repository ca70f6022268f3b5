//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"example.com/ftpfetch/internal/bench/exact"
	"example.com/ftpfetch/internal/bench/lab"
	"example.com/ftpfetch/internal/bench/large"
	"example.com/ftpfetch/internal/bench/latency"
	"example.com/ftpfetch/internal/bench/many"
)

// benchmark measures, and writes a report as Markdown to stdout. It returns an exit code.
type benchmark func(ctx context.Context, args []string, stdout, stderr io.Writer) int

var benchmarks = map[string]benchmark{
	"exact": exact.Run, "latency": latency.Run, "many": many.Run, "large": large.Run, "straight": straight,
}

// table is a part of a document that a benchmark makes.
type table struct {
	key, document string
	full, short   string // the command lines: the benchmark and its flags
	needs         needs
}

// needs says what the system must let a benchmark do.
type needs int

const (
	nothing    needs = iota
	namespaces       // and the servers
	links            // and the servers
)

const (
	exactness   = "docs/exactness.md"
	performance = "docs/performance.md"
)

var tables = []table{
	{"exact", exactness, "exact", "exact -clients ftpfetch,curl,wget", nothing},
	{"latency", performance, "latency -n 5", "latency -n 1 -rtt 4ms -files 2 -case 1,3,5 -clients ftpfetch,curl", links},
	{"many", performance, "many -case 1,4,5 -n 1 -files 100", "many -n 1 -rtt 4ms -files 2 -size 1 -clients ftpfetch,curl", links},
	{"cpu", performance, "large -case 1,2", "large -case 1,2 -n 1 -size 4 -huge 16", namespaces},
	{"start", performance, "large -case 3,4", "large -case 3,4 -n 1 -huge 16", namespaces},
	{"huge", performance, "large -case 5,6 -clients ftpfetch,curl", "large -case 5,6 -n 1 -huge 16", namespaces},
	{"straight", performance, "straight 15x", "straight 1x", nothing},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	if len(args) > 0 && benchmarks[args[0]] != nil {
		return benchmarks[args[0]](ctx, args[1:], stdout, stderr)
	}
	f := flag.NewFlagSet("bench", flag.ContinueOnError)
	f.SetOutput(stderr)
	only := f.String("only", "", "tables to make, comma separated (default all): "+keys())
	short := f.Bool("short", false, "run everything small, and write nothing")
	switch err := f.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	}
	chosen, err := choose(*only)
	if err == nil && f.NArg() > 0 {
		err = fmt.Errorf("no benchmark %q", f.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 2
	}
	if err := makeTables(ctx, chosen, *short, stderr); err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	return 0
}

func keys() string {
	var all []string
	for _, t := range tables {
		all = append(all, t.key)
	}
	return strings.Join(all, ",")
}

// choose returns the tables that only names; all if it is empty.
func choose(only string) (chosen []table, err error) {
	for _, t := range tables {
		if lab.Wanted(only, t.key) {
			chosen = append(chosen, t)
		}
	}
	for key := range strings.SplitSeq(only, ",") {
		if only != "" && !slices.ContainsFunc(tables, func(t table) bool { return t.key == strings.TrimSpace(key) }) {
			return nil, fmt.Errorf("no table %q: there are %s", key, keys())
		}
	}
	return chosen, nil
}

// makeTables makes each table and, unless short, writes it to its document at once.
func makeTables(ctx context.Context, chosen []table, short bool, stderr io.Writer) error {
	root, err := install(ctx, stderr)
	if err != nil {
		return err
	}
	for _, t := range chosen {
		if err := t.needs.missing(); err != nil && short {
			fmt.Fprintf(stderr, "%s: left out: %v\n", t.key, err)
			continue
		}
		if err := t.make(ctx, root, short, stderr); err != nil {
			return fmt.Errorf("%s: %w", t.key, err)
		}
	}
	return nil
}

func (t table) make(ctx context.Context, root string, short bool, stderr io.Writer) error {
	line := t.full
	if short {
		line = t.short
	}
	words, start := strings.Fields(line), time.Now()
	var report, progress bytes.Buffer
	fmt.Fprintf(stderr, "%s: %s\n", t.key, line)
	if code := benchmarks[words[0]](ctx, words[1:], &report, io.MultiWriter(&progress, unless(short, stderr))); code != 0 {
		return fmt.Errorf("exit code %d\n%s", code, progress.Bytes())
	}
	fmt.Fprintf(stderr, "%s: ok (%.0f s)\n", t.key, time.Since(start).Seconds())
	if short {
		return nil
	}
	path := filepath.Join(root, t.document)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err = insert(text, t.key, fmt.Sprintf("    go run ./internal/bench %s\n\n%s", line, bytes.TrimSpace(report.Bytes())))
	if err != nil {
		return fmt.Errorf("%s: %w", t.document, err)
	}
	return os.WriteFile(path, text, 0o644)
}

func unless(not bool, w io.Writer) io.Writer {
	if not {
		return io.Discard
	}
	return w
}

// missing returns an error if the system does not let a benchmark do what it needs.
func (n needs) missing() error {
	if n == links {
		f, err := os.OpenFile("/dev/net/tun", os.O_RDWR, 0)
		if err != nil {
			return err
		}
		f.Close()
	}
	if n == nothing {
		return nil
	}
	return lab.Allowed()
}

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"example.com/ftpfetch/lab/interop"
)

// listed is a directory of many files, and the command lines that list it. {url} is its URL without the final slash.
type listed struct {
	names int
	runs  int
	lines []string // the first is the one to compare with; a comma and a space end a word
}

// listings has one large directory on a real server, listed whole, and a smaller one of which only the names are asked
// for.
func listings(ctx context.Context, b *bench, w io.Writer) error {
	if _, err := tuneTCP(); err != nil { // for the loopback interface
		return err
	}
	if err := errors.Join(b.newDisk(ctx, b.tree.Public, "tmpfs", ""), os.Chmod(b.tree.Public, 0o755)); err != nil {
		return err
	}
	s, err := interop.Start(ctx, interop.Vsftpd, b.tree, interop.Options{Port: anonymousPort})
	if err != nil {
		return err
	}
	defer s.Close()
	for _, d := range []listed{
		{pick(b, 1_000_000, 1000), pick(b, 5, 1), []string{
			"curl, -sS, {url}/", "ftpfetch, -l, {url}/", "ftpfetch, -r, --dry-run, {url}/",
		}},
		{pick(b, 10_000, 100), pick(b, 41, 1), []string{"curl, -sS, -l, {url}/", "ftpfetch, {url};type=d"}},
	} {
		if err := b.list(ctx, d, "ftp://"+plainHost, w); err != nil {
			return err
		}
	}
	version, _ := interop.Version(string(interop.Vsftpd)) // without a version, the name stands alone
	fmt.Fprintf(w, "\nMachine: %s. vsftpd %s. %s.\n", machine(), version, versions(ctx, []string{"curl"}))
	return nil
}

// list runs the command lines for a directory in turn, and writes its table.
func (b *bench) list(ctx context.Context, d listed, server string, w io.Writer) error {
	name := fmt.Sprintf("names%d", d.names)
	if err := os.Mkdir(filepath.Join(b.tree.Public, name), 0o755); err != nil {
		return err
	}
	for i := range d.names {
		if err := os.WriteFile(filepath.Join(b.tree.Public, name, fmt.Sprintf("name%07d", i)), nil, 0o644); err != nil {
			return err
		}
	}
	samples := make([][]sample, len(d.lines))
	for range d.runs {
		for i, line := range d.lines {
			words := strings.Split(strings.ReplaceAll(line, "{url}", server+"/"+name), ", ")
			s, err := b.listOnce(ctx, words)
			if err != nil {
				return fmt.Errorf("%q: %w", words, err)
			}
			samples[i] = append(samples[i], s)
		}
	}
	fmt.Fprintf(w, "\n### A directory of %d files\n\n| command | time: ratio | processor time: ratio | processor time a file, µs | peak memory, MiB |\n|---|--:|--:|--:|--:|\n", d.names)
	for i, line := range d.lines {
		var times, processors, each, peaks []float64
		for n, s := range samples[i] {
			times = append(times, s.elapsed.Seconds()/samples[0][n].elapsed.Seconds())
			processors = append(processors, s.processor.Seconds()/samples[0][n].processor.Seconds())
			each = append(each, s.processor.Seconds()*1e6/float64(d.names))
			peaks = append(peaks, s.memory/(1<<10))
		}
		fmt.Fprintf(w, "| `%s` | %.2f | %.2f | %.2f | %.0f |\n", strings.NewReplacer(", ", " ", "{url}", "URL").Replace(line),
			spreadOf(times).median, spreadOf(processors).median, spreadOf(each).median, spreadOf(peaks).median)
	}
	return nil
}

// listOnce runs a command in a new directory.
func (b *bench) listOnce(ctx context.Context, words []string) (s sample, err error) {
	home, err := os.MkdirTemp(b.dir, "list-")
	if err != nil {
		return s, err
	}
	defer os.RemoveAll(home)
	work := filepath.Join(home, "work")
	if err := os.Mkdir(work, 0o755); err != nil {
		return s, err
	}
	peak := filepath.Join(home, "peak")
	s, err = execute(ctx, append([]string{"time", "-q", "-f", "%M", "-o", peak}, words...), home, work, 10*time.Minute)
	if err == nil {
		s.memory, err = readNumber(peak)
	}
	return s, err
}

// Command bench compares ftpfetch with other FTP clients. It makes the tables of docs/side-by-side.md, docs/clients.md,
// docs/performance.md and docs/fleet.md, and writes them there:
//
//	go -C lab/bench run .                    # everything: some fifty minutes on an idle machine
//	go -C lab/bench run . -only exact,large  # only these tables
//	go -C lab/bench run . -only chart        # draw docs/chart.svg from the tables once more
//	go -C lab/bench run . -short             # everything small; nothing is written
//
// It needs Linux and root. On Debian it installs the clients and servers that are missing.
//
// The everyday tasks are in everyday.go, and tasks.go does them. One large file over several connections is in segments.go,
// and its links in segments_scenes.go. Every other table is jobs x clients: clients.go has the
// command lines, jobs.go says what is fetched from which server, run.go runs and verifies the commands, and report.go
// writes the columns.
package main

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// table is a part of a document. make writes it; b is in its own network namespace.
type table struct {
	key, document string
	make          func(ctx context.Context, b *bench, w io.Writer) error
}

var tables = []table{
	{"exact", "docs/clients.md", exact},
	{"clients", "docs/clients.md", sent},
	{"tasks", "docs/side-by-side.md", everyday},
	{"latency", "docs/performance.md", measured((*bench).latency, roundTrips)},
	{"many", "docs/performance.md", measured((*bench).many, lists)},
	{"small", "docs/performance.md", measured((*bench).small, costs)},
	{"large", "docs/performance.md", measured((*bench).large, ratios)},
	{"segments", "docs/performance.md", segments},
	{"defaults", "docs/performance.md", defaults},
	{"library", "docs/performance.md", library},
	{"sessions", "docs/performance.md", sessions},
	{"listings", "docs/performance.md", listings},
	{"fleet", "docs/fleet.md", fleet},
}

func keys() (all []string) {
	for _, t := range tables {
		all = append(all, t.key)
	}
	return all
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	err := run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	f := flag.NewFlagSet("bench", flag.ExitOnError)
	only := f.String("only", strings.Join(keys(), ","), "tables to make, comma separated")
	short := f.Bool("short", false, "make everything small, and write nothing")
	dir := f.String("inside", "", "internal: the directory to work in, set when bench starts itself in new namespaces")
	root := f.String("root", "", "internal: the top of the repository")
	task := f.String("library", "", "internal: the task to do with one package, set when bench starts itself to measure it")
	link := f.String("retrieve", "", "internal: the URL to retrieve with jlaffaye/ftp, set when bench starts itself as a client")
	if err := f.Parse(args); err != nil {
		return err
	}
	if *link != "" {
		return retrieve(*link)
	}
	if *task != "" {
		return inLibrary(ctx, *task, os.Stdout)
	}
	if *only == "chart" {
		return draw("../..")
	}
	chosen := strings.Split(*only, ",")
	for _, key := range chosen {
		if !slices.Contains(keys(), key) || f.NArg() > 0 {
			return fmt.Errorf("no table %q, there are %s", key+f.Arg(0), strings.Join(keys(), ","))
		}
	}
	if *dir == "" {
		return outside(ctx, chosen, *short)
	}
	t := tables[slices.Index(keys(), *only)]
	if err := t.write(ctx, *root, *dir, *short); err != nil {
		return fmt.Errorf("%s: %w", t.key, err)
	}
	return nil
}

// write makes the table and inserts it into its document.
func (t table) write(ctx context.Context, root, dir string, short bool) error {
	start := time.Now()
	b, err := newBench(dir, short)
	if err != nil {
		return err
	}
	defer b.close()
	var report bytes.Buffer
	if err := t.make(ctx, b, &report); err != nil {
		return err
	}
	fmt.Fprintf(os.Stderr, "%s: ok (%.0f s)\n", t.key, time.Since(start).Seconds())
	if short {
		return nil
	}
	path := filepath.Join(root, t.document)
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err = insert(text, t.key, strings.TrimSpace(report.String()))
	if err != nil {
		return fmt.Errorf("%s: %w", t.document, err)
	}
	return errors.Join(os.WriteFile(path, text, 0o644), draw(root))
}

// draw writes the chart of the existing tables.
func draw(root string) error {
	text, err := os.ReadFile(filepath.Join(root, "docs/performance.md"))
	if err != nil {
		return err
	}
	picture, err := chart(string(text))
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "docs/chart.svg"), []byte(picture), 0o644)
}

// insert replaces the text between the markers of key.
func insert(text []byte, key, report string) ([]byte, error) {
	begin := fmt.Sprintf("<!-- made by: go -C lab/bench run . -only %s -->\n", key)
	end := fmt.Sprintf("<!-- end of %s -->\n", key)
	before, rest, found := bytes.Cut(text, []byte(begin))
	_, after, closed := bytes.Cut(rest, []byte(end))
	if !found || !closed {
		return nil, fmt.Errorf("no lines %q and %q", begin, end)
	}
	return []byte(string(before) + begin + "\n" + report + "\n\n" + end + string(after)), nil
}

// outside does what needs the machine's own network: it installs what is missing and builds ftpfetch. Then it starts
// this program again for each table, in new namespaces, which end every server and client when they end.
func outside(ctx context.Context, chosen []string, short bool) error {
	if err := install(ctx); err != nil {
		return err
	}
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "example.com/ftpfetch").Output()
	if err != nil {
		return fmt.Errorf("go list: %w (run it in lab/bench)", err)
	}
	top := strings.TrimSpace(string(root))
	dir, err := os.MkdirTemp("", "ftpfetch-bench-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	if err := os.Chmod(dir, 0o755); err != nil { // so that the servers' unprivileged processes can read it
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	steps := [][]string{
		{filepath.Join(top, "lab/interop/install.sh")},
		{"go", "-C", top, "build", "-buildvcs=false", "-o", filepath.Join(dir, "bin/ftpfetch"), "./cmd/ftpfetch"},
	}
	if slices.Contains(chosen, "clients") && !short {
		steps = append(steps, []string{filepath.Join(top, "lab/bench/install.sh")})
	}
	if slices.Contains(chosen, "fleet") {
		steps = append(steps, []string{"go", "-C", filepath.Join(top, "cmd/ftpfetch-fleet"), "build", "-buildvcs=false", "-o",
			filepath.Join(dir, "bin/ftpfetch-fleet"), "."})
	}
	for _, key := range chosen {
		steps = append(steps, []string{"unshare", "--net", "--uts", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc",
			self, "-inside", dir, "-root", top, "-only", key, fmt.Sprintf("-short=%v", short)})
	}
	for _, words := range steps {
		if err := command(ctx, words...); err != nil {
			return err
		}
	}
	return nil
}

// install installs the clients that are missing, if it can, and GNU time, which measures memory.
func install(ctx context.Context) error {
	words := []string{"apt-get", "-o", "DPkg::Lock::Timeout=600", "install", "-q", "-y", "--no-install-recommends"}
	options := len(words)
	for program, name := range map[string]string{
		"curl": "curl", "wget": "wget", "lftp": "lftp", "aria2c": "aria2", "ncftpget": "ncftp", "tnftp": "tnftp", "rclone": "rclone", "time": "time",
		"tc": "iproute2",
	} {
		if _, err := exec.LookPath(program); err != nil {
			words = append(words, name)
		}
	}
	if len(words) == options {
		return nil
	}
	if err := command(ctx, "apt-get", "update", "-q"); err != nil {
		return err
	}
	return command(ctx, words...)
}

func command(ctx context.Context, words ...string) error {
	cmd := exec.CommandContext(ctx, words[0], words[1:]...)
	cmd.Env = append(os.Environ(), "DEBIAN_FRONTEND=noninteractive", "CGO_ENABLED=0")
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%s: %w", words[0], err)
	}
	return nil
}

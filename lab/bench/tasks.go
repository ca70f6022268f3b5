package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"example.com/ftpfetch/lab/interop"
)

// task is something that people do with an FTP server every day: a row of docs/side-by-side.md.
type task struct {
	title string
	goal  string // what must exist at the end
	// tree has the files of the server, below the task's directory: path -> contents.
	tree map[string]string
	// lines are the shortest command lines that the programs' manuals offer, in shell syntax and in the order of
	// rivals; "" if there is none. host is the server, tls the same server with TLS, and ca.pem has the authority of
	// its certificate.
	lines [6]string
	// before prepares the run that is measured; nil if nothing is to be done.
	before func(ctx context.Context, d *desk) error
	// wrong checks what a run left, and says what is wrong with it; "" if the goal is met.
	wrong func(d *desk) string
}

// rivals are the programs of the table, in the order of the columns.
var rivals = [6]string{ours, "curl", "wget", "lftp", "aria2c", "rclone"}

// desk is where one program does one task.
type desk struct {
	task   *task
	line   string
	home   string // HOME, with ca.pem
	work   string // where the program runs
	served string // the task's directory on the server
	said   string // what the program printed
	code   int
	took   time.Duration
	bytes  int64 // bytes over the network
	flaw   string
}

// The addresses that stand for host and tls in the command lines.
const (
	plainHost = "127.0.0.1"
	tlsHost   = "127.0.0.2"
)

// everyday does each task with each program and writes the tables of docs/side-by-side.md.
func everyday(ctx context.Context, b *bench, w io.Writer) error {
	if _, err := tuneTCP(); err != nil { // for the loopback interface
		return err
	}
	if err := os.MkdirAll(b.tree.Public, 0o755); err != nil {
		return err
	}
	// The rate of a 160 Mbit/s line, so that transfers last long enough to be interrupted.
	plain, err := interop.Start(ctx, interop.Vsftpd, b.tree, interop.Options{Host: plainHost, Port: 21, More: rated(20_000_000)})
	if err != nil {
		return err
	}
	defer plain.Close()
	secure, err := interop.Start(ctx, interop.Vsftpd, b.tree, interop.Options{Host: tlsHost, Port: 21, TLS: true, More: []string{"require_ssl_reuse=NO"}})
	if err != nil {
		return err
	}
	defer secure.Close()
	done := make([][]*desk, len(tasks))
	for i := range tasks {
		for n, program := range rivals {
			if b.short && n > 1 {
				break
			}
			d, err := b.try(ctx, &tasks[i], program, tasks[i].lines[n], secure.CAFile())
			if err != nil {
				return fmt.Errorf("%s: %s: %w", tasks[i].title, program, err)
			}
			fmt.Fprintf(os.Stderr, "%s: %s: %.2f s, exit %d, %d bytes, %s\n", tasks[i].title, program, d.took.Seconds(), d.code, d.bytes, d.flaw)
			if d.flaw != "" {
				fmt.Fprintln(os.Stderr, d.said)
			}
			if n == 0 && d.flaw != "" {
				return fmt.Errorf("%s: %s: %s: %s", tasks[i].title, program, d.flaw, d.said)
			}
			done[i] = append(done[i], d)
		}
	}
	writeTasks(w, done)
	version, _ := interop.Version(string(interop.Vsftpd)) // without a version, the name stands alone
	fmt.Fprintf(w, "\nMachine: %s. vsftpd %s. %s.\n", machine(), version, versions(ctx, rivals[1:]))
	return nil
}

// try does a task with one program, in new directories on both sides.
func (b *bench) try(ctx context.Context, t *task, program, line, ca string) (*desk, error) {
	d := &desk{task: t, line: line}
	if line == "" {
		d.flaw = "no way"
		return d, nil
	}
	if _, err := exec.LookPath(program); err != nil {
		d.flaw = "not installed"
		return d, nil
	}
	var err error
	if d.home, err = os.MkdirTemp(b.dir, "task-"); err != nil {
		return nil, err
	}
	defer os.RemoveAll(d.home)
	d.work, d.served = filepath.Join(d.home, "work"), filepath.Join(b.tree.Public, "pub")
	certificate, err := os.ReadFile(ca)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(os.Mkdir(d.work, 0o755), os.RemoveAll(d.served), write(d.served, t.tree)); err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(d.work, "ca.pem"), certificate, 0o644); err != nil {
		return nil, err
	}
	if t.before != nil {
		if err := t.before(ctx, d); err != nil {
			return nil, err
		}
	}
	from := arrived()
	if err := d.run(ctx, nil); err != nil {
		d.flaw = err.Error()
		return d, nil
	}
	d.bytes = arrived() - from
	d.flaw = t.wrong(d)
	return d, nil
}

// write writes files below top and removes others. Their time is two days ago, or now if their names begin with "new".
func write(top string, files map[string]string, gone ...string) error {
	for _, name := range gone {
		if err := os.Remove(filepath.Join(top, name)); err != nil {
			return err
		}
	}
	for name, text := range files {
		path := filepath.Join(top, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(text), 0o644)); err != nil {
			return err
		}
		if strings.HasPrefix(filepath.Base(name), "new") {
			continue
		}
		old := time.Now().Add(-48 * time.Hour)
		if err := os.Chtimes(path, old, old); err != nil {
			return err
		}
	}
	return nil
}

// run runs the command line until it ends or stop returns true.
func (d *desk) run(ctx context.Context, stop func() bool) error {
	const limit = 2 * time.Minute
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", strings.NewReplacer("//host", "//"+plainHost, " host/", " "+plainHost+"/", "host=host", "host="+plainHost,
		"//tls", "//"+tlsHost, "host=tls", "host="+tlsHost).Replace(d.line))
	var said bytes.Buffer
	cmd.Dir, cmd.Stdout, cmd.Stderr = d.work, &said, &said
	cmd.Env = []string{"HOME=" + d.home, "LC_ALL=C.UTF-8", "PATH=" + os.Getenv("PATH")}
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = time.Second
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return err
	}
	if stop != nil {
		for tick := time.NewTicker(5 * time.Millisecond); !stop() && ctx.Err() == nil; <-tick.C {
		}
		cancel()
	}
	err := cmd.Wait()
	d.took, d.said, d.code = time.Since(start), said.String(), cmd.ProcessState.ExitCode()
	if ended := new(exec.ExitError); err != nil && !errors.As(err, &ended) {
		return err
	}
	if stop == nil && ctx.Err() != nil {
		return fmt.Errorf("not done after %s", limit)
	}
	return nil
}

// arrived returns the bytes that the loopback interface has received.
func arrived() int64 {
	text, _ := os.ReadFile("/proc/net/dev") // on failure every run takes 0 bytes, which a task notices
	_, line, _ := strings.Cut(string(text), "lo:")
	n, _ := strconv.ParseInt(strings.Fields(line + " 0")[0], 10, 64)
	return n
}

// typed returns the length of the command line, and words the number of its words.
func (d *desk) typed() int { return len(d.line) }
func (d *desk) words() int { return len(strings.Fields(d.line)) }

// winners returns the programs that did the task in the fewest words, and took at most twice the time of the fastest
// program, or half a second longer.
func winners(row []*desk) (names []string) {
	right := func(d *desk) bool { return d.flaw == "" }
	fastest, fewest := time.Duration(1<<62), 1<<30
	for _, d := range row {
		if right(d) {
			fastest = min(fastest, d.took)
		}
	}
	good := func(d *desk) bool { return right(d) && d.took <= max(2*fastest, fastest+time.Second/2) }
	for _, d := range row {
		if good(d) {
			fewest = min(fewest, d.words())
		}
	}
	for i, d := range row {
		if good(d) && d.words() == fewest {
			names = append(names, rivals[i])
		}
	}
	return names
}

// writeTasks writes the table of the tasks, and then the command lines for each.
func writeTasks(w io.Writer, done [][]*desk) {
	fmt.Fprintf(w, "| task | %s |\n|---|%s\n", strings.Join(rivals[:], " | "), strings.Repeat("---|", len(rivals)))
	count := map[string]int{}
	for i, row := range done {
		best := winners(row)
		fmt.Fprintf(w, "| %s |", tasks[i].title)
		for n, d := range row {
			cell := fmt.Sprintf("%d words, %.1f s", d.words(), d.took.Seconds())
			switch {
			case d.flaw != "":
				cell = d.flaw
			case slices.Contains(best, rivals[n]):
				cell = "**" + cell + "**"
				count[rivals[n]]++
			}
			fmt.Fprintf(w, " %s |", cell)
		}
		fmt.Fprintln(w)
	}
	fmt.Fprint(w, "| best at |")
	for _, program := range rivals {
		fmt.Fprintf(w, " %d of %d |", count[program], len(done))
	}
	fmt.Fprintln(w)
	for i, row := range done {
		fmt.Fprintf(w, "\n### %s\n\n%s\n\n| typed | characters | seconds | exit code | result |\n|---|--:|--:|--:|---|\n", tasks[i].title, tasks[i].goal)
		for n, d := range row {
			if d.line == "" {
				fmt.Fprintf(w, "| %s: nothing in its manual | | | | |\n", rivals[n])
				continue
			}
			result := d.flaw
			if result == "" {
				result = "as asked"
			}
			fmt.Fprintf(w, "| %s | %d | %.2f | %d | %s |\n", code(d.line), d.typed(), d.took.Seconds(), d.code, result)
		}
	}
}

// code formats a command line as a cell of a table.
func code(line string) string { return "`" + strings.ReplaceAll(line, "|", `\|`) + "`" }

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/jlaffaye/ftp"
	"golang.org/x/sys/unix"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/testserver"
	"example.com/ftpfetch/urlparse"
)

// libraryRow compares package ftpexec with jlaffaye/ftp at one task: a row of the table "library".
type libraryRow struct {
	title string
	times int // how often a process does the task
	// serve starts the server.
	serve func(ctx context.Context, b *bench) (librarySite, error)
	// Each of the two returns a function that does the task once, on one connection. addr is the server's.
	ours, theirs func(ctx context.Context, addr string) (once func() error, err error)
}

// librarySite is the server of a row.
type librarySite struct {
	addr, name string
	close      func() error
}

// libraryRows are the rows.
var libraryRows = []libraryRow{
	{
		title: fmt.Sprintf("Entries, %d lines of LIST as vsftpd writes them", listedNames), times: 50,
		serve: serveLines("LIST", "-rw-r--r--    1 ftp      ftp          %7d Jan 02  2003 name%07[1]d\r\n"),
		ours:  ourEntries, theirs: theirEntries,
	},
	{
		title: fmt.Sprintf("Entries, %d lines of MLSD as proftpd writes them", listedNames), times: 50,
		serve: serveLines("MLSD", "modify=20260102030405;perm=adfr;size=%d;type=file;unique=FE00U%07[1]d;"+
			"UNIX.group=0;UNIX.groupname=root;UNIX.mode=0644;UNIX.owner=0;UNIX.ownername=root; name%07[1]d\r\n"),
		ours: ourEntries, theirs: theirEntries,
	},
	{
		title: "2,000 files of 4 KiB on one connection", times: 1,
		serve: func(ctx context.Context, b *bench) (librarySite, error) {
			addr, name, end, err := serveSmall(ctx, b)
			return librarySite{addr, name, end}, err
		},
		ours: ourSmall, theirs: theirSmall,
	},
}

// listedNames is how many names the directory of the listings has.
const listedNames = 10_000

// cost is what a task took.
type cost struct {
	Processor   time.Duration
	Allocations uint64
	Bytes       uint64
}

// library measures each row and writes the table. Each measurement has a process of its own, and the two packages take
// turns.
func library(ctx context.Context, b *bench, w io.Writer) error {
	if _, err := tuneTCP(); err != nil { // for the loopback interface
		return err
	}
	fmt.Fprint(w, "| task | processor time: ratio | allocations: ratio | bytes allocated: ratio | processor time, ms |\n|---|--:|--:|--:|--:|\n")
	var servers []string
	for i, row := range libraryRows {
		ours, theirs, name, err := b.compare(ctx, i)
		if err != nil {
			return fmt.Errorf("%s: %w", row.title, err)
		}
		ratio := func(of func(cost) float64) float64 {
			var all []float64
			for n := range ours {
				all = append(all, of(ours[n])/of(theirs[n]))
			}
			return spreadOf(all).median
		}
		var each []float64
		for _, c := range ours {
			each = append(each, c.Processor.Seconds()*1e3)
		}
		fmt.Fprintf(w, "| %s | %.2f | %.2f | %.2f | %.3g |\n", row.title,
			ratio(func(c cost) float64 { return float64(c.Processor) }),
			ratio(func(c cost) float64 { return float64(c.Allocations) }),
			ratio(func(c cost) float64 { return float64(c.Bytes) }), spreadOf(each).median)
		if !slices.Contains(servers, name) {
			servers = append(servers, name)
		}
	}
	fmt.Fprintf(w, "\nMachine: %s. %s. %s.\n", machine(), strings.Join(servers, ", "), peer())
	return nil
}

// peer names the version of jlaffaye/ftp, which go.mod of the top module decides.
func peer() string {
	out, _ := exec.Command("go", "list", "-m", "github.com/jlaffaye/ftp").Output()
	return strings.TrimSpace(string(out))
}

// compare measures both packages at a row, in several passes.
func (b *bench) compare(ctx context.Context, row int) (ours, theirs []cost, server string, err error) {
	s, err := libraryRows[row].serve(ctx, b)
	if err != nil {
		return nil, nil, "", err
	}
	defer s.close()
	for range pick(b, 9, 1) {
		for _, side := range []string{"ours", "theirs"} {
			c, err := measureSide(ctx, row, side, s.addr)
			if err != nil {
				return nil, nil, "", fmt.Errorf("%s: %w", side, err)
			}
			if side == "ours" {
				ours = append(ours, c)
			} else {
				theirs = append(theirs, c)
			}
		}
	}
	return ours, theirs, s.name, nil
}

// measureSide starts this program again to do a row's task with one of the packages.
func measureSide(ctx context.Context, row int, side, addr string) (c cost, err error) {
	self, err := os.Executable()
	if err != nil {
		return c, err
	}
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	out, err := exec.CommandContext(ctx, self, "-library", fmt.Sprint(row, " ", side, " ", addr)).CombinedOutput()
	if err != nil {
		return c, fmt.Errorf("%w: %s", err, out)
	}
	_, err = fmt.Sscan(string(out), &c.Processor, &c.Allocations, &c.Bytes)
	return c, err
}

// inLibrary does the task that measureSide asks for, and prints what one time took.
func inLibrary(ctx context.Context, task string, out io.Writer) error {
	var row int
	var side, addr string
	if _, err := fmt.Sscan(task, &row, &side, &addr); err != nil {
		return err
	}
	r := libraryRows[row]
	begin := r.ours
	if side == "theirs" {
		begin = r.theirs
	}
	once, err := begin(ctx, addr)
	if err == nil {
		err = once()
	}
	if err != nil {
		return err
	}
	before := spent()
	for range r.times {
		if err := once(); err != nil {
			return err
		}
	}
	after := spent()
	_, err = fmt.Fprintln(out, int64(after.Processor-before.Processor)/int64(r.times),
		(after.Allocations-before.Allocations)/uint64(r.times), (after.Bytes-before.Bytes)/uint64(r.times))
	return err
}

// spent returns what this process has taken so far.
func spent() cost {
	var used unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &used) // does not fail
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return cost{time.Duration(used.Utime.Nano() + used.Stime.Nano()), m.Mallocs, m.TotalAlloc}
}

// serveLines returns a function that starts a server in this process. A command lists lines of this form, with the
// number of each.
func serveLines(command, form string) func(context.Context, *bench) (librarySite, error) {
	return func(context.Context, *bench) (librarySite, error) {
		var lines strings.Builder
		for i := range listedNames {
			fmt.Fprintf(&lines, form, i)
		}
		answers := testserver.Honest("").With("FEAT", testserver.Reply("211 None.")).With("MLSD", testserver.Reply("500 No."))
		if command == "MLSD" {
			answers = answers.With("FEAT", testserver.Reply("211-Features:\r\n MLST type*;size*;modify*;\r\n211 End."))
		}
		s, err := testserver.Start(nil, answers.With(command, testserver.Transfer(lines.String())))
		if err != nil {
			return librarySite{}, err
		}
		return librarySite{s.Addr(), "testserver", s.Close}, nil
	}
}

func ourEntries(ctx context.Context, addr string) (func() error, error) {
	c := &ftpexec.Client{}
	u, err := urlparse.Parse("ftp://" + addr + "/names/")
	return func() error {
		n := 0
		for _, err := range c.Entries(ctx, u) {
			if err != nil {
				return err
			}
			n++
		}
		return allListed(n)
	}, err
}

func theirEntries(ctx context.Context, addr string) (func() error, error) {
	c, err := ftp.Dial(addr, ftp.DialWithContext(ctx))
	if err == nil {
		err = c.Login("anonymous", "anonymous@")
	}
	return func() error {
		all, err := c.List("/names")
		if err != nil {
			return err
		}
		n := 0
		for _, e := range all {
			if e.Name != "." && e.Name != ".." {
				n++
			}
		}
		return allListed(n)
	}, err
}

func allListed(n int) error {
	if n != listedNames {
		return fmt.Errorf("%d entries, want %d", n, listedNames)
	}
	return nil
}

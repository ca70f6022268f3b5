package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"example.com/ftpfetch/lab/interop"
)

// usual is something to fetch without flags that make it faster: a row of the table "defaults".
type usual struct {
	title string
	files []string  // of the server
	lines [6]string // the shortest command lines, in the order of rivals; "" if there is none
	speed int       // of the network, in Mbit/s; 0 for that of the loopback interface
	cut   int64     // how many bytes a killed run has fetched before; 0 if there was none
}

// usuals makes what the servers of the table "defaults" have, and returns the rows.
func (b *bench) usuals() (rows []usual, err error) {
	make := func(n int, size int, name func(i int) string) (names []string) {
		for i := range n {
			made, failed := b.file(name(i), size)
			names = append(names, made)
			err = errors.Join(err, failed)
		}
		return names
	}
	n := pick(b, 3000, 30)
	list := make(n, small, func(i int) string { return fmt.Sprintf("pub/f%04d", i) })
	tree := make(n, small, func(i int) string { return fmt.Sprintf("tree/d%02d/t%04d", i%30, i) })
	middle := make(1, pick(b, 20<<20, 1<<20), func(int) string { return "middle" })
	large := make(1, pick(b, 1<<30, 2<<20), func(int) string { return "large" })
	cut := make(1, pick(b, 320<<20, 4<<20), func(int) string { return "cut" })
	one := func(name string) [6]string {
		url := "ftp://host/" + name
		return [6]string{"ftpfetch " + url, "curl -O " + url, "wget " + url, "lftp -c 'get " + url + "'", "aria2c " + url,
			"rclone copy" + rcloneAs + ":ftp:" + name + " ."}
	}
	all := func(dir string) [6]string {
		url := "ftp://host/" + dir + "/"
		return [6]string{"ftpfetch -r " + url, "", "wget -r " + url, "lftp -c 'mirror " + url + "'", "", "rclone copy" + rcloneAs + ":ftp:" + dir + " " + dir}
	}
	again := one("cut")
	again[1], again[2], again[3], again[4] = strings.Replace(again[1], "curl", "curl -C -", 1), strings.Replace(again[2], "wget", "wget -c", 1),
		strings.Replace(again[3], "get ", "get -c ", 1), strings.Replace(again[4], "aria2c", "aria2c -c", 1)
	flat := all("pub")
	flat[1] = `curl -sl ftp://host/pub/ | sed 's|.*|url="ftp://host/pub/&"|' | curl -sZ --remote-name-all -K -`
	return []usual{
		{fmt.Sprintf("%d files of %d bytes", n, small), list, flat, 0, 0},
		{"a tree of them", tree, all("tree"), 0, 0},
		{"a file of 20 MiB, 160 Mbit/s", middle, one("middle"), 160, 0},
		{"a file of 1 GiB, 800 Mbit/s", large, one("large"), 800, 0},
		{"a file of 320 MiB, 160 Mbit/s, cut after a half", cut, again, 160, int64(pick(b, 160<<20, 2<<20))},
	}, err
}

// defaults measures each row with each program, in several passes, and writes the table.
func defaults(ctx context.Context, b *bench, w io.Writer) error {
	if _, err := tuneTCP(); err != nil { // for the loopback interface
		return err
	}
	rows, err := b.usuals()
	if err != nil {
		return err
	}
	s, err := interop.Start(ctx, interop.Vsftpd, b.tree, interop.Options{Host: plainHost, Port: 21})
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Fprintf(w, "| | %s | ftpfetch to the best other: time |\n|---|%s--:|\n", strings.Join(rivals[:], " | "), strings.Repeat("--:|", len(rivals)))
	for _, u := range rows {
		if err := setSpeed(ctx, u.speed); err != nil {
			return err
		}
		seconds, ratio, err := b.passes(ctx, &u)
		if err != nil {
			return fmt.Errorf("%s: %w", u.title, err)
		}
		fmt.Fprintf(w, "| %s |", u.title)
		for n := range rivals {
			cell := ""
			if len(seconds[n]) > 0 {
				cell = fmt.Sprintf(" %.2f s", spreadOf(seconds[n]).median)
			}
			fmt.Fprintf(w, "%s |", cell)
		}
		fmt.Fprintf(w, " %.2f |\n", ratio)
	}
	version, _ := interop.Version(string(interop.Vsftpd)) // without a version, the name stands alone
	fmt.Fprintf(w, "\nMachine: %s. vsftpd %s. %s.\n", machine(), version, versions(ctx, rivals[1:]))
	return nil
}

// passes returns the seconds of each program in each pass, and the median over the passes of the ratio of ftpfetch's
// time to the shortest one of the others. A program that did not do it has no seconds.
func (b *bench) passes(ctx context.Context, u *usual) (seconds [6][]float64, ratio float64, err error) {
	var ratios []float64
	for range pick(b, 3, 1) {
		best, mine := math.Inf(1), 0.0
		for n, program := range rivals {
			if _, missing := exec.LookPath(program); u.lines[n] == "" || missing != nil || b.short && n > 1 {
				continue
			}
			took, flaw := b.usually(ctx, u, u.lines[n])
			fmt.Fprintf(os.Stderr, "%s: %s: %.2f s %s\n", u.title, program, took.Seconds(), flaw)
			switch {
			case flaw != "" && n == 0:
				return seconds, 0, errors.New(flaw)
			case flaw != "":
				continue
			case n == 0:
				mine = took.Seconds()
			default:
				best = min(best, took.Seconds())
			}
			seconds[n] = append(seconds[n], took.Seconds())
		}
		ratios = append(ratios, mine/best)
	}
	return seconds, spreadOf(ratios).median, nil
}

// usually runs one command line in a new directory and says what is wrong with the outcome, or "".
func (b *bench) usually(ctx context.Context, u *usual, line string) (took time.Duration, flaw string) {
	home, err := os.MkdirTemp(b.dir, "usual-")
	if err != nil {
		return 0, err.Error()
	}
	if len(u.files) == 1 {
		defer os.RemoveAll(home)
	} // else later: ext4 without a journal looks for minutes through all files that were removed, for each that is created
	d := &desk{line: line, home: home, work: filepath.Join(home, "work")}
	err = os.Mkdir(d.work, 0o755)
	if err == nil && u.cut > 0 {
		from := arrived()
		err = d.run(ctx, func() bool { return arrived()-from > u.cut })
	}
	unix.Sync() // write what the previous program has left in the cache
	from := arrived()
	if err == nil {
		err = d.run(ctx, nil)
	}
	switch {
	case err != nil:
		return d.took, err.Error()
	case d.code != 0:
		return d.took, fmt.Sprintf("exit code %d: %s", d.code, d.said)
	case u.cut > 0 && arrived()-from > u.cut*3/2 && !b.short: // a short run ends before its first journal
		return d.took, "fetched all of it again"
	}
	if lost := b.missing(u.files, d.work); lost > 0 {
		return d.took, fmt.Sprintf("lost %d", lost)
	}
	return d.took, ""
}

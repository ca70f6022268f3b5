package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/afero"
	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"example.com/ftpfetch/testserver"
)

// cell is where the programs of docs/clients.md run: a root of their own, in which the benchmark's directory is.
type cell struct {
	root    string // "" for the machine's own
	dir     string // of the benchmark
	scripts string
}

// newCell mounts what programs need below the root of install.sh. The mounts end with the benchmark's namespace.
func (b *bench) newCell() (*cell, error) {
	c := &cell{dir: b.dir, scripts: filepath.Join(b.dir, "scripts")}
	self, err := os.ReadFile("/proc/self/exe")
	if err != nil {
		return nil, err
	}
	err = errors.Join(os.WriteFile(filepath.Join(b.dir, "bin/bench"), self, 0o755), os.CopyFS(c.scripts, senderFiles))
	if err != nil || b.short {
		return c, err
	}
	c.root = filepath.Join(senderDir(), "root")
	for _, m := range []struct {
		from, to, kind string
		flags          uintptr
	}{
		{"/dev", "/dev", "", unix.MS_BIND | unix.MS_REC},
		{"proc", "/proc", "proc", 0},
		{"tmpfs", "/tmp", "tmpfs", 0},
		{b.dir, b.dir, "", unix.MS_BIND},
	} {
		if err := os.MkdirAll(c.root+m.to, 0o755); err != nil {
			return nil, err
		}
		if err := unix.Mount(m.from, c.root+m.to, m.kind, m.flags, ""); err != nil {
			return nil, fmt.Errorf("mount %s: %w", m.to, err)
		}
	}
	return c, unix.Sethostname([]byte("client"))
}

// atOnce is how many programs run at once.
const atOnce = 3

// runAll runs all trials: those over IPv4 at once, each with a loopback address of its own, and then the others.
func (c *cell) runAll(ctx context.Context, all []*trial) error {
	var group errgroup.Group
	group.SetLimit(atOnce)
	for i, t := range all {
		if t.url != addressURL {
			group.Go(func() error { return c.run(ctx, t, fmt.Sprintf("127.0.%d.%d", 1+i/200, 1+i%200)) })
		}
	}
	if err := group.Wait(); err != nil {
		return err
	}
	for _, t := range all {
		if t.url == addressURL {
			if err := c.run(ctx, t, "::1"); err != nil {
				return err
			}
		}
	}
	return nil
}

// run runs the program on the URL, and keeps what a server at host receives.
func (c *cell) run(ctx context.Context, t *trial, host string) error {
	port := "21"
	if strings.Contains(t.url, ":2121/") {
		port = "2121"
	}
	s, err := serveAt(host, port, t.fault)
	if err != nil {
		return err
	}
	defer s.Close()
	home, err := os.MkdirTemp(c.dir, "sent-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(home)
	words := append(c.enter(home), "sh", "-c", `exec "$0" "$@" >stdout`)
	words = append(words, t.sender.words(strings.Replace(t.url, "HOST", host, 1), c)...)
	ran, _ := execute(ctx, words, home, home, time.Minute)
	t.code, t.whole = ran.code, holds(home, strings.TrimSpace(sentText))
	for i := range s.Connections() {
		t.said = append(t.said, s.Commands(i+1))
		for n, line := range t.said[i] {
			t.said[i][n] = strings.ReplaceAll(line, host, "host")
		}
	}
	return ctx.Err()
}

// serveAt starts a server whose control connections come to the port of host.
func serveAt(host, port string, fault func(*testserver.Conn) testserver.Action) (*testserver.Server, error) {
	return testserver.Start(&testserver.Options{
		FS: afero.NewIOFS(unhurried{afero.NewMemMapFs()}), Tree: sentTree(),
		ModTime: time.Date(2020, 1, 2, 3, 4, 5, 0, time.UTC), Fault: fault,
		Users: map[string]string{"me": ""},
		Home:  map[string]string{"anonymous": "/home", "ftp": "/home", "me": "/home"},
		Listen: func() (net.Listener, error) {
			l, err := net.Listen("tcp", net.JoinHostPort(host, port))
			port = "0"
			return l, err
		},
	})
}

// enter returns the words before those of a program: it ends in time, together with what it has started, has no
// terminal, and sees only its own root.
func (c *cell) enter(home string) []string {
	words := []string{"setsid", "-w", "timeout", "-k", "1", "20"}
	if c.root == "" {
		return words
	}
	libraries := "/usr/lib/x86_64-linux-gnu"
	return append(words, "chroot", c.root, "/usr/bin/env", "-C", home, "PATH=/usr/sbin:/usr/bin:/usr/lib/erlang/bin:"+filepath.Join(c.dir, "bin"),
		"LD_LIBRARY_PATH="+libraries+"/blas:"+libraries+"/lapack:"+libraries+"/pulseaudio",
		"TERM=xterm", "USER=root", "SHELL=/bin/bash", "GIO_USE_VOLUME_MONITOR=unix", "EDITOR=vi")
}

// words returns the words of the program's command line.
func (s *sender) words(url string, c *cell) (words []string) {
	fill := strings.NewReplacer("\t", " ", "URL", url, "DIR", filepath.Join(c.scripts, "senders"), "SELF", filepath.Join(c.dir, "bin/bench"))
	for word := range strings.FieldsFuncSeq(s.line, func(r rune) bool { return r == ' ' }) {
		words = append(words, fill.Replace(word))
	}
	return words
}

// holds reports whether text is in a file below dir.
func holds(dir, text string) (found bool) {
	_ = filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			got, _ := os.ReadFile(name)
			found = found || bytes.Contains(got, []byte(text))
		}
		return nil
	})
	return found
}

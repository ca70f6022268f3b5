package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"example.com/ftpfetch/lab/interop"
)

// job is something to fetch, with one invocation of a client. Each job has its own table.
type job struct {
	title  string
	server *server
	login  bool          // with the name and the password of the user; otherwise anonymous
	files  []string      // paths
	caps   []int         // numbers of connections; nil for one file
	runs   int           // of each command, after one that is not counted if the job compares links
	links  []*link       // each run uses these in turn; the delayed link comes last
	limit  time.Duration // after this time a client counts as hanging
	top    string        // the directory of all files, if not that of the first
	disk   string        // where to save, and to leave the files: removing them slows some file systems down
	only   []string      // the clients; nil for all
	base   string        // the client to compare with, if not the table's
}

// server is one of the servers. It runs on each link of its jobs.
type server struct {
	kind    interop.Kind
	port    int
	tls     bool
	allowed int      // number of connections; 0 for no limit
	more    []string // further lines of its configuration
	ca      map[*link]string
	running []*interop.Server
}

// bench is the environment in which the jobs of a table run.
type bench struct {
	dir        string
	short      bool
	tree       *interop.Tree
	congestion string
	servers    []*server
	devices    []string // devices of compressed memory with a file system
}

const (
	anonymousPort = 21
	tlsPort       = 2021
	vsftpdPort    = 2121 // allows three connections
	pureFTPdPort  = 2122 // allows three connections
)

// small is the smallest file size. It fits into the first TCP window, so that throughput does not matter.
const small = 4096

func newBench(dir string, short bool) (*bench, error) {
	top := filepath.Join(dir, "tree")
	b := &bench{dir: dir, short: short, tree: &interop.Tree{Public: top, Home: top}}
	if err := os.RemoveAll(top); err != nil {
		return nil, err
	}
	return b, os.Setenv("PATH", filepath.Join(dir, "bin")+":"+os.Getenv("PATH"))
}

func (b *bench) close() {
	for _, s := range b.servers {
		for _, running := range s.running {
			running.Close()
		}
	}
	for _, device := range b.devices {
		_ = errors.Join(command(context.Background(), "umount", device), command(context.Background(), "zramctl", "--reset", device))
	}
}

// pick returns n, or few if everything is to be small.
func pick[T any](b *bench, n, few T) T {
	if b.short {
		return few
	}
	return n
}

// file writes a served file. Its contents look random but are the same in every run.
func (b *bench) file(name string, size int) (string, error) {
	path := filepath.Join(b.tree.Public, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return "", err
	}
	text := make([]byte, size)
	_, _ = rand.NewChaCha8([32]byte{byte(len(name)), name[len(name)-1], name[max(0, len(name)-2)]}).Read(text) // never fails
	return name, os.WriteFile(path, text, 0o644)
}

// start starts the servers, each on all links. The loopback link, which has no devices, is in the clients' namespace.
func (b *bench) start(ctx context.Context, links []*link, servers ...*server) error {
	b.servers = servers
	for _, l := range links {
		l.control = []int{anonymousPort, tlsPort, vsftpdPort, pureFTPdPort}
	}
	serve := func() error {
		for _, s := range servers {
			for _, l := range links {
				if err := s.start(ctx, b.tree, l); err != nil {
					return err
				}
			}
		}
		return nil
	}
	if links[0] == loopback {
		if _, err := tuneTCP(); err != nil {
			return err
		}
		return serve()
	}
	n, err := newNetwork(links, serve)
	if err == nil {
		b.congestion = n.congestion
	}
	return err
}

func (s *server) start(ctx context.Context, tree *interop.Tree, l *link) error {
	o := interop.Options{Host: l.host(), Port: s.port, TLS: s.tls, MaxClients: s.allowed, More: s.more}
	if s.tls { // wget cannot resume a TLS 1.3 session on the data connection
		o.More = append(o.More, "require_ssl_reuse=NO")
	}
	running, err := interop.Start(ctx, s.kind, tree, o)
	if err != nil {
		return err
	}
	s.running = append(s.running, running)
	if s.tls {
		s.ca[l] = running.CAFile()
	}
	return nil
}

func (b *bench) latency(ctx context.Context) ([]*job, error) {
	links := []*link{{name: "near"}, {name: "far", oneWay: pick(b, 25*time.Millisecond, 2*time.Millisecond)}}
	deep, err := b.file("a/b/c/file", small)
	if err != nil {
		return nil, err
	}
	// Two servers: a client may use TLS unasked if the server offers it.
	plain, secure := &server{kind: interop.Vsftpd, port: anonymousPort}, &server{kind: interop.Vsftpd, port: tlsPort, tls: true, ca: map[*link]string{}}
	j := job{files: []string{deep}, links: links, runs: pick(b, 5, 1), limit: 30 * time.Second}
	var jobs []*job
	for _, one := range []struct {
		title  string
		server *server
		login  bool
	}{
		{"One file three directories deep, anonymous", plain, false},
		{"The same with user name and password, unencrypted", plain, true},
		{"The same over explicit TLS 1.3", secure, true},
	} {
		j := j
		j.title, j.server, j.login = one.title, one.server, one.login
		jobs = append(jobs, &j)
	}
	return jobs, b.start(ctx, links, plain, secure)
}

func (b *bench) many(ctx context.Context) ([]*job, error) {
	far := &link{name: "far", oneWay: pick(b, 25*time.Millisecond, 2*time.Millisecond)}
	var files []string
	for i := range pick(b, 100, 2) {
		name, err := b.file(fmt.Sprintf("list/f%03d", i), small)
		if err != nil {
			return nil, err
		}
		files = append(files, name)
	}
	free := &server{kind: interop.Vsftpd, port: anonymousPort}
	limited := []*server{{kind: interop.Vsftpd, port: vsftpdPort, allowed: 3}, {kind: interop.PureFTPd, port: pureFTPdPort, allowed: 3}}
	title := fmt.Sprintf("%d files of %d bytes", len(files), small)
	j := job{files: files, links: []*link{far}, runs: 1, limit: 2 * time.Minute}
	first := j
	first.title, first.server, first.caps = fmt.Sprintf("%s over a round trip of %s", title, 2*far.oneWay), free, []int{1, 6}
	jobs := []*job{&first}
	for _, s := range limited {
		j := j
		j.title, j.server, j.caps = fmt.Sprintf("%s from %s, which allows 3 connections", title, s.kind), s, []int{3, 8}
		jobs = append(jobs, &j)
	}
	return jobs, b.start(ctx, j.links, free, limited[0], limited[1])
}

func (b *bench) large(ctx context.Context) ([]*job, error) {
	size := pick(b, 256, 4)
	name, err := b.file("large", size<<20)
	if err != nil {
		return nil, err
	}
	plain, secure := &server{kind: interop.Vsftpd, port: anonymousPort}, &server{kind: interop.Vsftpd, port: tlsPort, tls: true, ca: map[*link]string{}}
	j := job{files: []string{name}, links: []*link{loopback}, runs: pick(b, 5, 1), limit: time.Minute}
	first, second := j, j
	first.title, first.server = fmt.Sprintf("A file of %d MiB, unencrypted", size), plain
	second.title, second.server = "The same over TLS 1.3", secure
	return []*job{&first, &second}, b.start(ctx, j.links, plain, secure)
}

// small has many small files, on new file systems.
func (b *bench) small(ctx context.Context) ([]*job, error) {
	plain := &server{kind: interop.Vsftpd, port: anonymousPort}
	j := job{server: plain, links: []*link{loopback}, runs: pick(b, 9, 1), limit: 5 * time.Minute, caps: []int{6}}
	j.only = []string{ours, "curl -Z", "lftp mirror"}
	for i := range pick(b, 3000, 30) {
		name, err := b.file(fmt.Sprintf("small/f%04d", i), small)
		if err != nil {
			return nil, err
		}
		j.files = append(j.files, name)
	}
	tree := job{server: plain, links: j.links, runs: pick(b, 3, 1), limit: j.limit, caps: j.caps, top: "tree", only: []string{"ftpfetch -r", "lftp mirror"}, base: "lftp mirror"}
	for i := range pick(b, 50_000, 50) {
		name, err := b.file(fmt.Sprintf("tree/d%02d/t%05d", i%50, i), small)
		if err != nil {
			return nil, err
		}
		tree.files = append(tree.files, name)
	}
	var jobs []*job
	for _, d := range []struct{ title, kind, make string }{
		{"a disk", "", ""},
		{"ext4 in memory", "ext4", "mkfs.ext4 -q -F"},
		{"ext4 in memory, without a journal", "ext4", "mkfs.ext4 -q -F -O ^has_journal"},
		{"tmpfs", "tmpfs", ""},
	} {
		j := j
		j.title, j.disk = fmt.Sprintf("%d files of %d bytes to %s", len(j.files), small, d.title), filepath.Join(b.dir, d.title)
		if err := b.newDisk(ctx, j.disk, d.kind, d.make); err != nil {
			return nil, err
		}
		jobs = append(jobs, &j)
		tree.disk = j.disk
	}
	tree.title = fmt.Sprintf("A tree of %d such files to tmpfs", len(tree.files))
	return append(jobs, &tree), b.start(ctx, j.links, plain)
}

// newDisk mounts a new file system at dir: one that the command line creates on a device in memory, a tmpfs, or none. A
// file in place of the device would add a second file system below.
func (b *bench) newDisk(ctx context.Context, dir, kind, line string) error {
	if err := os.Mkdir(dir, 0o755); err != nil || kind == "" {
		return err
	}
	if line == "" {
		return command(ctx, "mount", "-t", kind, "-o", "size=6g,nr_inodes=0", kind, dir)
	}
	found, err := exec.CommandContext(ctx, "zramctl", "--find", "--size", "4G").Output()
	if err != nil {
		return fmt.Errorf("zramctl: %w", err)
	}
	device := strings.TrimSpace(string(found))
	b.devices = append(b.devices, device)
	if err := command(ctx, append(strings.Fields(line), device)...); err != nil {
		return err
	}
	return command(ctx, "mount", "-t", kind, device, dir)
}

// at returns the URL of the top of the tree, with its final slash.
func (j *job) at(scheme string, l *link) string {
	host := l.host()
	if j.login {
		host = interop.UserName + ":" + interop.Escape(interop.UserPassword) + "@" + host
	}
	if j.server.port != anonymousPort {
		host = fmt.Sprintf("%s:%d", host, j.server.port)
	}
	return scheme + "://" + host + "/"
}

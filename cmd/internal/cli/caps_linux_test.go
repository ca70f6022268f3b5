package cli_test

import (
	"bytes"
	"crypto/md5"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"example.com/ftpfetch/cmd/internal/cli"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// gate counts the connections to a server that are open at the same time, by their state in the kernel. A new
// connection above the cap waits for a moment for another one to end. Meanwhile no command is handled, so that
// connections in use stay open.
type gate struct {
	net.Listener
	cap int

	mu    sync.Mutex
	conns []*net.TCPConn
	over  int // the most connections that were open above the cap

	calm sync.RWMutex // a command holds it shared, and a new connection alone
}

func (g *gate) Accept() (net.Conn, error) {
	conn, err := g.Listener.Accept()
	if err == nil {
		g.mu.Lock()
		g.conns = append(g.conns, conn.(*net.TCPConn))
		g.mu.Unlock()
	}
	return conn, err
}

// see implements testserver.Options.Fault.
func (g *gate) see(c *testserver.Conn, fault func(*testserver.Conn) testserver.Action) testserver.Action {
	if c.Verb == "" {
		g.enter()
	} else {
		g.calm.RLock()
		defer g.calm.RUnlock()
	}
	if fault == nil {
		return nil
	}
	return fault(c)
}

func (g *gate) enter() {
	g.calm.Lock()
	defer g.calm.Unlock()
	for end := time.Now().Add(200 * time.Millisecond); g.count() > g.cap; <-time.After(time.Millisecond) {
		if time.Now().After(end) {
			g.over = max(g.over, g.count()-g.cap)
			return
		}
	}
}

// count returns how many connections the client has not closed.
func (g *gate) count() (n int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, conn := range g.conns {
		raw, err := conn.SyscallConn()
		if err != nil {
			continue
		}
		_ = raw.Control(func(fd uintptr) {
			if info, err := unix.GetsockoptTCPInfo(int(fd), unix.IPPROTO_TCP, unix.TCP_INFO); err == nil && info.State == 1 { // established
				n++
			}
		})
	}
	return n
}

// counted returns a server whose connections are counted. It serves a tree of four files in two directories, and
// everything else that a run may ask for.
func counted(t *testing.T, most int, fault func(*testserver.Conn) testserver.Action) (*testserver.Server, *gate) {
	g := &gate{cap: most}
	tree, sums := map[string]string{}, ""
	for _, name := range []string{"aaaa", "b", "sub/c", "sub/d"} {
		text := strings.Repeat(name, 20_000)
		if name == "aaaa" {
			text = strings.Repeat(name, 768<<10) // enough for three segments
		}
		tree["/t/"+name] = text
		sums += fmt.Sprintf("%x  %s\n", md5.Sum([]byte(text)), name)
	}
	tree["/t/md5sum.txt"] = sums
	listen := func() (net.Listener, error) {
		l, err := net.Listen("tcp4", "127.0.0.1:0")
		if g.Listener == nil { // the others are for data
			g.Listener, l = l, g
		}
		return l, err
	}
	s := testserver.New(t, &testserver.Options{Tree: tree, Listen: listen, Fault: func(c *testserver.Conn) testserver.Action { return g.see(c, fault) }})
	return s, g
}

// faulted returns the faults of the first server, by the names that opening uses.
func faulted() map[string]func(*testserver.Conn) testserver.Action {
	lose := func(c *testserver.Conn) testserver.Action { // every third transfer
		if c.Transfer%3 == 1 && c.Verb == "RETR" {
			return testserver.Sequence(testserver.EndDataAfter(10, testserver.Closed), testserver.ReplaceReply(testserver.Reply("426 broken")))
		}
		return nil
	}
	drop := func(c *testserver.Conn) testserver.Action {
		if c.Transfer%3 == 1 && c.Verb == "RETR" {
			return testserver.EndControl(testserver.Closed)
		}
		return nil
	}
	none := func(c *testserver.Conn) testserver.Action {
		if c.Verb == "RETR" && strings.HasSuffix(c.Arg, "a") {
			return testserver.Reply("550 None")
		}
		return nil
	}
	stall := func(c *testserver.Conn) testserver.Action {
		if c.Verb == "RETR" && strings.HasSuffix(c.Arg, "a") {
			return testserver.EndControl(testserver.Stalled)
		}
		return nil
	}
	unordered := func(c *testserver.Conn) testserver.Action { // without MLSD and MLST, the client asks about each file
		if c.Verb == "MLSD" || c.Verb == "MLST" {
			return testserver.Reply("500 What?")
		}
		return nil
	}
	unlisted := func(c *testserver.Conn) testserver.Action { // without digest lists, the client asks with HASH
		switch {
		case c.Verb == "RETR" && strings.Contains(c.Arg, "sum"):
			return testserver.Reply("550 None")
		case c.Verb == "FEAT":
			return testserver.Reply("211-Features:\r\n HASH SHA-256*;MD5\r\n MLST size*;\r\n211 End")
		case c.Verb == "HASH":
			return testserver.Reply("213 SHA-256 0-1 " + strings.Repeat("0", 64) + " f")
		}
		return nil
	}
	return map[string]func(*testserver.Conn) testserver.Action{"": nil, "lose": lose, "drop": drop, "none": none, "stall": stall, "unordered": unordered, "unlisted": unlisted}
}

// opening has commands that open connections. fault names what the first of the two servers does wrong.
var opening = []struct{ fault, args string }{
	{"", "-r TREE"}, {"", "-r -s 4 TREE"}, {"", "-r -N --verify TREE"}, {"", "-r --verify -s 2 TREE"}, {"", "-r -N --delete TREE"}, {"", "-I -r TREE"},
	{"", "-i LIST"}, {"", "-i LIST --verify"}, {"", "-i LIST -s 4 --verify"}, {"", "--manifest SUMS"}, {"", "--manifest SUMS -s 4"}, {"", "-I -i LIST"}, {"", "--manifest PLACES"}, {"", "--manifest PLACES --verify"},
	{"", "--glob TREE*"}, {"", "--glob TREE*/*"}, {"", "-I --glob TREE*"}, {"unordered", "-r TREE"}, {"unordered", "-r -N TREE"}, {"unordered", "-r -N --delete TREE"}, {"unordered", "-I -r TREE"}, {"unordered", "-I -i LIST"},
	{"none", "--manifest PLACES"}, {"none", "--manifest PLACES --verify -s 2"}, {"none", "-r --verify TREE"}, {"lose", "--manifest PLACES"}, {"lose", "-r -s 4 TREE"}, {"drop", "-r -s 4 --verify TREE"},
	{"drop", "-i LIST -s 2"}, {"lose", "-i LIST --verify"}, {"stall", "-i LIST --max-time 200ms"}, {"stall", "--manifest PLACES --max-time 200ms"}, {"stall", "-r --max-time 200ms TREE"},
	{"stall", "-i LIST --timeout 200ms --retries 1"}, {"stall", "--manifest PLACES --timeout 200ms --retries 1"}, {"", "FILE FILE2"}, {"", "--verify FILE FILE2"}, {"", "-s 4 FILE"}, {"", "-s 4 --verify FILE"}, {"drop", "-s 4 FILE"},
	{"", "-o - --verify FILE"}, {"drop", "-o - --verify FILE"}, {"", "-I FILE FILE2"}, {"", "-l TREE"}, {"stall", "--max-time 200ms FILE FILE2"}, {"stall", "--timeout 200ms --retries 2 FILE"}, {"unordered", "-l TREE"},
	{"unlisted", "-r --verify TREE"}, {"unlisted", "-s 4 --verify FILE"}, {"unlisted", "--manifest PLACES --verify"}, {"unlisted", "-i LIST --verify -s 2"}, {"unlisted", "--verify FILE FILE2"},
}

// TestCaps counts the simultaneous connections to two servers, for everything that a run opens connections for and for
// every way to give a cap. The cap is never exceeded.
func TestCaps(t *testing.T) {
	t.Parallel()
	faults := faulted()
	caps := []string{"--shared --per-host N", "--per-host N", "-j N", "--per-host N -j 8", "--shared --per-host N -j 8", "--per-host N -j auto"}
	cases, nth := 0, 0
	var all sync.WaitGroup
	defer all.Wait()
	at := make(chan struct{}, 16)
	for _, way := range opening {
		for _, limit := range caps {
			for most := 1; most <= 2; most++ {
				// -j alone limits files, and -s the connections of a file.
				segments := strings.Contains(way.args, "-s ") || strings.HasSuffix(way.args, " FILE")
				if nth++; nth%night.Or(11, 1) != 0 || limit == "-j N" && segments {
					continue
				}
				cases++
				at <- struct{}{}
				all.Go(func() {
					defer func() { <-at }()
					name := fmt.Sprintf("%s %s %s, cap %d", way.fault, way.args, limit, most)
					// a test of its own, whose end frees the memory of its servers
					t.Run(name, func(t *testing.T) { checkCap(t, way.args+" "+limit, most, faults[way.fault]) })
				})
			}
		}
	}
	t.Logf("%d cases", cases)
}

// checkCap runs a command whose cap of connections to each of two servers is most. The first server has a fault, unless
// it is nil.
func checkCap(t *testing.T, line string, most int, fault func(*testserver.Conn) testserver.Action) {
	first, one := counted(t, most, fault)
	second, two := counted(t, most, nil)
	list := written(t, strings.ReplaceAll("Baaaa\nBsub/c\nBb\nBsub/d\n", "B", first.URL("/t/")))
	line = strings.NewReplacer(
		"TREE", first.URL("/t/"), "LIST", list, "SUMS", first.URL("/t/md5sum.txt"), "PLACES", written(t, metalink(first, second)),
		"FILE2", first.URL("/t/b"), "FILE", first.URL("/t/aaaa"), " N", fmt.Sprint(" ", most),
	).Replace(line)
	if !strings.Contains(line, "-I") && !strings.Contains(line, "-o") && !strings.Contains(line, "-l") {
		line += " -d " + t.TempDir()
	}
	var stderr bytes.Buffer
	code := cli.Run(t.Context(), strings.Fields(line), cli.IO{Out: io.Discard, Err: &stderr})
	for _, g := range []*gate{one, two} {
		if g.over > 0 {
			t.Errorf("%d connections too many of %d", g.over, len(g.conns))
		}
	}
	if fault == nil && (code != 0 || len(one.conns) == 0) {
		t.Errorf("exit %d, %d connections, %s", code, len(one.conns), stderr.String())
	}
}

func metalink(first, second *testserver.Server) string {
	var b strings.Builder
	b.WriteString(`<?xml version="1.0"?><metalink xmlns="urn:ietf:params:xml:ns:metalink">`)
	for _, name := range []string{"aaaa", "b", "sub/c", "sub/d"} {
		fmt.Fprintf(&b, `<file name="%s"><url>%s</url><url>%s</url></file>`, name, first.URL("/t/"+name), second.URL("/t/"+name))
	}
	b.WriteString("</metalink>")
	return b.String()
}

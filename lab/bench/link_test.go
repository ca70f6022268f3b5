package main

import (
	"encoding/binary"
	"errors"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/internal/testkit/must"
)

// newTestLink returns a link whose devices are pipes, and the pipes' other ends.
func newTestLink(t *testing.T, oneWay time.Duration) (l *link, client, server net.Conn) {
	t.Helper()
	client, clientEnd := net.Pipe()
	server, serverEnd := net.Pipe()
	l = &link{oneWay: oneWay, client: clientEnd, server: serverEnd}
	l.start()
	t.Cleanup(func() {
		l.close()
		client.Close()
		server.Close()
	})
	return l, client, server
}

func TestLinkDelaysInOrder(t *testing.T) {
	const oneWay = 30 * time.Millisecond
	_, client, server := newTestLink(t, oneWay)
	for _, way := range []struct {
		name     string
		from, to net.Conn
	}{{"to the server", client, server}, {"to the client", server, client}} {
		start := time.Now()
		for i := range byte(3) {
			must.Get(way.from.Write([]byte{i}))(t)
		}
		for i := range byte(3) {
			buf := make([]byte, mtu)
			n, err := way.to.Read(buf)
			if err != nil || n != 1 || buf[0] != i {
				t.Fatalf("%s: got %d bytes %v, %v; want packet %d", way.name, n, buf[:n], err, i)
			}
		}
		if took := time.Since(start); took < oneWay {
			t.Errorf("%s: packets took %v, want %v or more", way.name, took, oneWay)
		}
	}
}

// tcpPacket returns an IPv4 packet with one TCP segment.
func tcpPacket(from, to int, flags byte, payload string) []byte {
	p := make([]byte, 40, mtu)
	p[0], p[9] = 0x45, protocolTCP
	binary.BigEndian.PutUint16(p[2:], uint16(40+len(payload)))
	binary.BigEndian.PutUint16(p[20:], uint16(from))
	binary.BigEndian.PutUint16(p[22:], uint16(to))
	p[32], p[33] = 5<<4, flags
	return append(p, payload...)
}

func TestLinkNotes(t *testing.T) {
	l := link{control: []int{anonymousPort, tlsPort}}
	l.seenByServer(tcpPacket(40000, anonymousPort, synFlag, ""))
	l.seenByServer(tcpPacket(40000, anonymousPort, ackFlag, ""))
	l.seenByServer(tcpPacket(40001, 50000, synFlag, ""))
	l.seenByServer(tcpPacket(40002, tlsPort, synFlag, ""))
	if got := l.controls.Load(); got != 2 {
		t.Errorf("got %d control connections, want 2", got)
	}
	l.seenByClient(tcpPacket(anonymousPort, 40000, ackFlag, "220 ready\r\n"))
	l.seenByClient(tcpPacket(50000, 40001, synFlag|ackFlag, ""))
	if got := l.lastData.Load(); got != 0 {
		t.Errorf("replies and empty segments were taken for data at %d", got)
	}
	l.seenByClient(tcpPacket(50000, 40001, ackFlag, "x"))
	if l.lastData.Load() == 0 {
		t.Error("bytes of a data connection were not noted")
	}
	l.reset()
	if l.lastData.Load() != 0 || l.controls.Load() != 0 {
		t.Error("Reset left something behind")
	}
}

func TestParseSegment(t *testing.T) {
	whole := tcpPacket(1, 2, synFlag, "abc")
	udp := tcpPacket(1, 2, 0, "")
	udp[9] = 17
	ipv6 := tcpPacket(1, 2, 0, "")
	ipv6[0] = 0x60
	badOffset := tcpPacket(1, 2, 0, "")
	badOffset[32] = 15 << 4
	for _, c := range []struct {
		name string
		in   []byte
		want segment
		ok   bool
	}{
		{"SYN with payload", whole, segment{from: 1, to: 2, payload: 3, opens: true}, true},
		{"with bytes after the packet", append(whole[:len(whole):len(whole)], 0, 0), segment{from: 1, to: 2, payload: 3, opens: true}, true},
		{"empty", nil, segment{}, false},
		{"cut off", whole[:39], segment{}, false},
		{"UDP", udp, segment{}, false},
		{"IPv6", ipv6, segment{}, false},
		{"data offset beyond the end", badOffset, segment{}, false},
	} {
		if got, ok := parseSegment(c.in); got != c.want || ok != c.ok {
			t.Errorf("%s: got %+v, %v; want %+v, %v", c.name, got, ok, c.want, c.ok)
		}
	}
}

func TestInsert(t *testing.T) {
	const text = "before\n<!-- made by: go -C lab/bench run . -only a -->\nold\n<!-- end of a -->\nafter\n"
	got, err := insert([]byte(text), "a", "new")
	want := "before\n<!-- made by: go -C lab/bench run . -only a -->\n\nnew\n\n<!-- end of a -->\nafter\n"
	if string(got) != want || err != nil {
		t.Errorf("got %q, %v; want %q", got, err, want)
	}
	for _, wrong := range []string{"", strings.Replace(text, "end of a", "end of b", 1), strings.Replace(text, "only a ", "only b ", 1)} {
		if got, err := insert([]byte(wrong), "a", "new"); err == nil {
			t.Errorf("%q became %q", wrong, got)
		}
	}
	for _, table := range tables { // each table has a place in its document
		document, err := os.ReadFile(filepath.Join("../..", table.document))
		if err == nil {
			_, err = insert(document, table.key, "")
		}
		if err != nil {
			t.Errorf("%s: %v", table.document, err)
		}
	}
}

// TestChart checks that docs/chart.svg agrees with the tables.
func TestChart(t *testing.T) {
	tables, _ := os.ReadFile("../../docs/performance.md")
	want, err := chart(string(tables))
	if got, rerr := os.ReadFile("../../docs/chart.svg"); err != nil || rerr != nil || string(got) != want {
		t.Errorf("%v, %v: go -C lab/bench run . -only chart", err, rerr)
	}
}

func TestSpreadOf(t *testing.T) {
	got := []spread{spreadOf([]float64{2}), spreadOf([]float64{3, 1, 2}), spreadOf([]float64{4, 1, 3, 2})}
	if want := []spread{{2, 2, 2}, {1, 2, 3}, {1, 2.5, 4}}; !slices.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}

// TestMissing checks that a file that is left out or changed counts as missing, and that directories do not matter.
func TestMissing(t *testing.T) {
	b := must.Get(newBench(t.TempDir(), true))(t)
	var files []string
	for _, name := range []string{"list/a", "list/b", "list/c"} {
		must.Get(b.file(name, small))(t)
		files = append(files, name)
	}
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join(b.tree.Public, "list/a"))
	if err == nil {
		err = errors.Join(os.Mkdir(filepath.Join(dir, "sub"), 0o777), os.WriteFile(filepath.Join(dir, "sub/a"), text, 0o666),
			os.WriteFile(filepath.Join(dir, "b"), text, 0o666))
	}
	must.Do(t, err)
	if got := b.missing(files, dir); got != 2 {
		t.Errorf("%d files are missing, want b and c", got)
	}
}

// TestEveryJobHasRows checks that each command line of a table can be written, and that each job has lines for ftpfetch
// and for another program.
func TestEveryJobHasRows(t *testing.T) {
	far := &link{serverAddr: netip.MustParsePrefix("198.18.0.2/30")}
	b := &bench{}
	for _, j := range []*job{
		{files: []string{"f"}, server: &server{port: anonymousPort}},
		{files: []string{"f"}, server: &server{port: tlsPort, tls: true}, login: true},
		{files: []string{"list/f", "list/g"}, server: &server{port: vsftpdPort}, caps: []int{1, 6}},
	} {
		programs := map[string]bool{}
		for _, w := range b.rows("latency", []*job{j}) {
			programs[w.client.program] = true
			if line := strings.Join(w.words(far, "h"), " "); strings.ContainsAny(line, "{}") || !strings.Contains(line, "198.18.0.2") && !strings.Contains(line, "h/") {
				t.Errorf("%s: %s", w.client.name, line)
			}
		}
		if !programs[ours] || len(programs) < 4 {
			t.Errorf("%+v has only %v", j, programs)
		}
	}
}

func TestSaid(t *testing.T) {
	for _, tt := range []struct{ url, sent, want string }{
		{"ftp://h/a", "USER x|CWD a|TYPE I|RETR b", "CWD a, TYPE I, RETR b"},
		{"ftp://h/a", "TYPE I|CWD a|TYPE A|RETR b", "CWD a, TYPE A, RETR b"},
		{"ftp://h/a/", "CWD a|LIST", "CWD a, TYPE A, NLST"},
		{"ftp://h/a", "DELE \xff|LIST", "DELE \\x, TYPE A, LIST"},
	} {
		if got := said(tt.url, strings.Split(tt.sent, "|")); got != tt.want {
			t.Errorf("%s: got %q, want %q", tt.sent, got, tt.want)
		}
	}
}

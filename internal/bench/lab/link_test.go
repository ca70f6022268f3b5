//go:build linux

package lab

import (
	"encoding/binary"
	"net"
	"testing"
	"time"
)

// The servers' ports.
const clearPort, tlsPort = 21, 2021

// newTestLink returns a link whose devices are pipes, and the pipes' other ends.
func newTestLink(t *testing.T, oneWay time.Duration) (l *Link, client, server net.Conn) {
	t.Helper()
	client, clientEnd := net.Pipe()
	server, serverEnd := net.Pipe()
	l = &Link{OneWay: oneWay, client: clientEnd, server: serverEnd}
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
			if _, err := way.from.Write([]byte{i}); err != nil {
				t.Fatal(err)
			}
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

func TestLinkKeepsItsRate(t *testing.T) {
	const packets, size, rate = 5, 100, 10_000 // 10 ms a packet
	l, client, server := newTestLink(t, 0)
	l.Rate = rate
	start := time.Now()
	for range packets {
		if _, err := client.Write(make([]byte, size)); err != nil {
			t.Fatal(err)
		}
	}
	for range packets {
		if _, err := server.Read(make([]byte, mtu)); err != nil {
			t.Fatal(err)
		}
	}
	if took, want := time.Since(start), time.Duration(packets*size)*time.Second/rate; took < want {
		t.Errorf("%d bytes took %v, want %v or more", packets*size, took, want)
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
	l := Link{Control: []int{clearPort, tlsPort}}
	l.seenByServer(tcpPacket(40000, clearPort, synFlag, ""))
	l.seenByServer(tcpPacket(40000, clearPort, ackFlag, ""))
	l.seenByServer(tcpPacket(40001, 50000, synFlag, ""))
	l.seenByServer(tcpPacket(40002, tlsPort, synFlag, ""))
	if got := l.Controls(); got != 2 {
		t.Errorf("got %d control connections, want 2", got)
	}
	l.seenByClient(tcpPacket(clearPort, 40000, ackFlag, "220 ready\r\n"))
	l.seenByClient(tcpPacket(50000, 40001, synFlag|ackFlag, ""))
	if got := l.lastData.Load(); got != 0 {
		t.Errorf("replies and empty segments were taken for data at %d", got)
	}
	l.seenByClient(tcpPacket(50000, 40001, ackFlag, "x"))
	if l.lastData.Load() == 0 {
		t.Error("bytes of a data connection were not noted")
	}
	l.Reset()
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

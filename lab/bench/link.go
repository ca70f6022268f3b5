package main

import (
	"io"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// link carries packets between a client's and a server's TUN device, in order. Set name, oneWay, loss and control first.
type link struct {
	name    string        // of the TUN devices
	oneWay  time.Duration // delay, from the moment when the link received a packet
	loss    float64       // share of the packets that are lost, each way
	control []int         // ports of the servers' control connections

	client, server         io.ReadWriteCloser // each Read and Write is one packet
	clientAddr, serverAddr netip.Prefix

	lastData atomic.Int64 // when the client last received data of a data connection, in Unix nanoseconds; 0: never
	controls atomic.Int64 // number of control connections opened
}

// host returns the server's address on the link.
func (l *link) host() string { return l.serverAddr.Addr().String() }

// reset clears the records before the next command.
func (l *link) reset() {
	l.lastData.Store(0)
	l.controls.Store(0)
}

// packet is the result of one Read, and its time.
type packet struct {
	bytes []byte
	read  time.Time
}

// mtu is the size of the largest packet; TUN devices start with Ethernet's.
const mtu = 1500

// queued is how many packets may be in transit in one direction.
const queued = 4096

// start carries packets until the devices are closed.
func (l *link) start() {
	l.direction(l.client, l.server, l.seenByServer)
	l.direction(l.server, l.client, l.seenByClient)
}

func (l *link) direction(from io.Reader, to io.Writer, seen func([]byte)) {
	queue := make(chan packet, queued)
	go receive(from, queue)
	go l.deliver(to, queue, seen)
}

func receive(from io.Reader, queue chan<- packet) {
	defer close(queue)
	for {
		buf := make([]byte, mtu)
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		queue <- packet{buf[:n], time.Now()}
	}
}

func (l *link) deliver(to io.Writer, queue <-chan packet, seen func([]byte)) {
	urgent()
	dice := rand.New(rand.NewPCG(1, 2)) // the same in every run
	for p := range queue {
		if dice.Float64() < l.loss {
			continue
		}
		waitUntil(p.read.Add(l.oneWay))
		seen(p.bytes)
		// If the write fails (the interface is down), the packet is lost.
		_, _ = to.Write(p.bytes)
	}
}

// urgent keeps the goroutine on its own thread, which wakes up on time as far as the kernel allows.
func urgent() {
	runtime.LockOSThread()
	_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
	_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), -20)
}

// waitUntil sleeps in the kernel: Go's own timers may be a millisecond late.
func waitUntil(due time.Time) {
	for left := time.Until(due); left > 0; left = time.Until(due) {
		t := unix.NsecToTimespec(left.Nanoseconds())
		_ = unix.Nanosleep(&t, nil)
	}
}

// seenByServer counts the control connections that the client opens.
func (l *link) seenByServer(b []byte) {
	if s, ok := parseSegment(b); ok && s.opens && l.isControl(s.to) {
		l.controls.Add(1)
	}
}

// seenByClient records when data of a data connection arrives.
func (l *link) seenByClient(b []byte) {
	if s, ok := parseSegment(b); ok && s.payload > 0 && !l.isControl(s.from) {
		l.lastData.Store(time.Now().UnixNano())
	}
}

func (l *link) isControl(port int) bool { return slices.Contains(l.control, port) }

func (l *link) close() {
	l.client.Close()
	l.server.Close()
}

// loopback stands for a link without devices: its server is in the clients' namespace.
var loopback = &link{name: "lo", serverAddr: netip.MustParsePrefix("127.0.0.1/8")}

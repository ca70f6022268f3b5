package testserver

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
)

// Ports below those that systems give out themselves. A test leaves thousands of closed connections in TIME-WAIT
// behind. Where the system has to choose a port, it looks through all of them for each listener, which took half of the
// processor time of tests with many transfers. None of them is one that [urlparse.URL.BadPort] refuses, such as 10080.
const firstPort, freePorts = 10100, 19900

// lastPort counts the ports that were tried. It begins anywhere, because several processes test at once.
var lastPort atomic.Uint32

func init() { lastPort.Store(rand.Uint32N(freePorts)) }

// listenAnywhere listens on a free port of 127.0.0.1.
func listenAnywhere() (net.Listener, error) {
	for range 100 {
		port := firstPort + lastPort.Add(1)%freePorts
		if l, err := net.Listen("tcp4", "127.0.0.1:"+strconv.Itoa(int(port))); err == nil {
			return l, nil
		}
	}
	return net.Listen("tcp4", "127.0.0.1:0")
}

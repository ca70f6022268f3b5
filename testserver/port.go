package testserver

import (
	"math/rand/v2"
	"net"
	"strconv"
	"sync/atomic"
)

// The server chooses its ports itself, below the range from which systems choose. A test leaves thousands of closed
// connections in TIME-WAIT, and a system that chooses a port looks through all of them for each listener. That took
// half of the processor time of tests with many transfers. [urlparse.URL.BadPort] refuses some ports, such as 10080,
// but none here.
const firstPort, freePorts = 10100, 19900

// lastPort counts the ports that were tried. It begins at random, because several test processes may run at once.
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

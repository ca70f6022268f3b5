//go:build linux

package latency

import (
	"time"

	"example.com/ftpfetch/internal/bench/lab"
)

// network is two network namespaces, joined by a link without delay and one with
// delay.
type network struct {
	*lab.Network
	near, far *lab.Link
}

// Addresses of the server on the links.
const (
	nearServer = "198.18.0.2"
	farServer  = "198.18.1.2"
)

// makeNetwork makes the namespaces and links, and starts srv in its own.
func makeNetwork(rtt time.Duration, srv *servers) (*network, error) {
	ports := []int{clearPort, tlsPort}
	n := &network{near: &lab.Link{Name: "near", Control: ports}, far: &lab.Link{Name: "far", OneWay: rtt / 2, Control: ports}}
	var err error
	n.Network, err = lab.NewNetwork([]*lab.Link{n.near, n.far}, srv.start)
	return n, err
}

//go:build linux

package many

import (
	"context"
	"io"

	"example.com/ftpfetch/internal/bench/lab"
)

// The ports of the servers. All but the one on loopback are in a namespace of
// their own.
const (
	freePort     = 21
	loopbackPort = 2120
	vsftpdPort   = 2121 // allows three connections
	pureFTPdPort = 2122 // allows three connections
)

// world is what the commands run in: the links, the servers and what they serve.
type world struct {
	site             *lab.Site
	far, mid, narrow *lab.Link
	served           served
}

// The link of case 4 carries rate bytes per second. A connection's receive buffer
// of window bytes lets it have a fraction of that.
const (
	rate   = 12.5e6
	window = 256 << 10
)

// inside runs in the new namespaces: it makes the network, starts the servers,
// measures and writes the report.
func inside(ctx context.Context, s *settings, stdout, stderr io.Writer) error {
	if err := lab.Enter(s.Dir); err != nil {
		return err
	}
	site, err := lab.NewSite(s.Dir)
	if err != nil {
		return err
	}
	w := newWorld(site, s)
	if err := w.served.write(site.Tree("")); err != nil {
		return err
	}
	n, err := w.start(ctx)
	if err != nil {
		return err
	}
	defer n.Close()
	b := &bench{settings: s, world: w, progress: stderr}
	r, err := b.run(ctx)
	if err != nil {
		return err
	}
	r.congestion = n.Congestion
	if err := r.write(stdout); err != nil {
		return err
	}
	return r.failure()
}

func newWorld(site *lab.Site, s *settings) *world {
	ports := []int{freePort, vsftpdPort, pureFTPdPort}
	return &world{
		site:   site,
		far:    &lab.Link{Name: "far", OneWay: s.rtt / 2, Control: ports},
		mid:    &lab.Link{Name: "mid", OneWay: s.rtt / 20, Control: ports},
		narrow: &lab.Link{Name: "narrow", OneWay: s.rtt / 2, Rate: rate, Control: ports},
		served: newServed(s.files, s.size<<20),
	}
}

// start starts the servers and the network.
func (w *world) start(ctx context.Context) (*lab.Network, error) {
	free, err := w.site.Vsftpd(freePort)
	if err != nil {
		return nil, err
	}
	limited, err := w.site.Vsftpd(vsftpdPort, "max_per_ip=3")
	if err != nil {
		return nil, err
	}
	pure, err := w.site.PureFTPd(pureFTPdPort, "-C", "3")
	if err != nil {
		return nil, err
	}
	loopback, err := w.site.Vsftpd(loopbackPort)
	if err != nil {
		return nil, err
	}
	n, err := lab.NewNetwork([]*lab.Link{w.far, w.mid, w.narrow}, func() error { return w.site.Serve(free, limited, pure) })
	if err != nil {
		return nil, err
	}
	if err := lab.BesideClient(func() error { return w.site.Serve(loopback) }); err != nil {
		return n, err
	}
	if err := w.site.AwaitReady(ctx, "127.0.0.1", loopback); err != nil {
		return n, err
	}
	return n, w.site.AwaitReady(ctx, w.mid.Host(), free, limited, pure)
}

//go:build linux

package latency

import (
	"context"
	"io"

	"example.com/ftpfetch/internal/bench/lab"
)

// inside runs in the new namespaces: it makes the network, starts the servers,
// measures and writes the report.
func inside(ctx context.Context, s *settings, stdout, stderr io.Writer) error {
	if err := lab.Enter(s.Dir); err != nil {
		return err
	}
	t := newTree(s.files)
	srv, err := prepareServers(s.Dir, t)
	if err != nil {
		return err
	}
	n, err := makeNetwork(s.rtt, srv)
	if err != nil {
		return err
	}
	defer n.Close()
	if err := srv.AwaitReady(ctx, n.near.Host(), srv.clear, srv.tls); err != nil {
		return err
	}
	b := &bench{settings: s, net: n, server: srv, tree: t, progress: stderr}
	r, err := b.run(ctx)
	if err != nil {
		return err
	}
	if err := r.write(stdout); err != nil {
		return err
	}
	return r.failure()
}

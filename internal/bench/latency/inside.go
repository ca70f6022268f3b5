//go:build linux

package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
)

// inside runs in the new namespaces: it makes the network, starts the servers,
// measures and writes the report.
func inside(ctx context.Context, s *settings, stdout, stderr io.Writer) error {
	if err := privateMounts(); err != nil {
		return err
	}
	if err := os.Setenv("PATH", filepath.Join(s.inside, "bin")+":"+os.Getenv("PATH")); err != nil {
		return err
	}
	t := newTree(s.files)
	srv, err := prepareServer(s.inside, t)
	if err != nil {
		return err
	}
	n, err := makeNetwork(s.rtt, srv)
	if err != nil {
		return err
	}
	defer n.close()
	if err := srv.awaitReady(ctx, n.near.host()); err != nil {
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

// calibrationRuns is how many TCP handshakes measure the links themselves.
const calibrationRuns = 20

// calibrate measures the round trips of the links with TCP handshakes.
func (n *network) calibrate(ctx context.Context) (near, far spread, err error) {
	if near, err = handshakes(ctx, n.near); err != nil {
		return near, far, err
	}
	far, err = handshakes(ctx, n.far)
	return near, far, err
}

func handshakes(ctx context.Context, l *link) (spread, error) {
	var got []float64
	for range calibrationRuns {
		took, err := handshake(ctx, l.host(), clearPort)
		if err != nil {
			return spread{}, fmt.Errorf("measuring the %s link: %w", l.name, err)
		}
		got = append(got, float64(took.Microseconds())/1000)
	}
	return spreadOf(got), nil
}

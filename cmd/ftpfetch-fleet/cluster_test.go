package main

import (
	"context"
	"fmt"
	"net/url"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"

	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/internal/testkit/night"
	"example.com/ftpfetch/testserver"
)

// cluster is a NATS cluster of three nodes.
type cluster struct {
	*testing.T
	nodes         [3]*server.Server
	dirs, listens [3]string
	routes        []*url.URL
}

func newCluster(t *testing.T) *cluster {
	c := &cluster{T: t}
	for i := range c.nodes {
		c.routes = append(c.routes, must.Get(url.Parse("nats://"+listenAgain(t)))(t))
		c.dirs[i] = t.TempDir()
		c.listens[i] = listenAgain(t)
	}
	for i := range c.nodes {
		c.start(i)
	}
	t.Cleanup(func() {
		for i := range c.nodes {
			c.stop(i)
		}
	})
	return c
}

// start starts a node with routes to the others.
func (c *cluster) start(i int) {
	o := &server.Options{
		ServerName: fmt.Sprint("n", i), Host: "127.0.0.1", JetStream: true, StoreDir: c.dirs[i], NoSigs: true,
		Cluster: server.ClusterOpts{Name: "c", Host: "127.0.0.1", PoolSize: -1},
		Routes:  slices.Delete(slices.Clone(c.routes), i, i+1),
	}
	must.Get(fmt.Sscan(c.routes[i].Port(), &o.Cluster.Port))(c.T)
	must.Get(fmt.Sscanf(c.listens[i], "127.0.0.1:%d", &o.Port))(c.T)
	c.nodes[i] = must.Get(server.NewServer(o))(c.T)
	c.nodes[i].Start()
}

func (c *cluster) stop(i int) {
	c.nodes[i].Shutdown()
	c.nodes[i].WaitForShutdown()
}

// TestCluster has a NATS cluster of three nodes, each of which dies once while a list is fetched. Everything is stored
// three times.
func TestCluster(t *testing.T) {
	t.Parallel()
	if night.Or(0, 1) == 0 {
		t.Log("by day no cluster is started")
		return
	}
	const files = 6000
	c := newCluster(t)
	s := &stand{T: t, file: filepath.Join(t.TempDir(), "join")}
	must.Do(t, (&join{Address: strings.Join(c.listens[:], ",")}).write(s.file))
	eventually(t, "a leader", func() bool { _, _, code := s.do("status"); return code == 0 })
	kinds := 0
	for info := range s.admin().js.ListStreams(t.Context()).Info() {
		if kinds++; info.Config.Replicas != 3 {
			t.Errorf("%s has %d replicas", info.Config.Name, info.Config.Replicas)
		}
	}
	if kinds != 10 {
		t.Errorf("%d streams", kinds)
	}
	srv := newFTP(t, files, 8, testserver.Options{Fault: slow(10 * time.Millisecond)})
	eventually(t, "the list", func() bool { _, _, code := s.do("add", "--per-host", "8", srv.list(t, files)); return code == 0 })
	ctx, stop := context.WithCancel(t.Context())
	dir := t.TempDir()
	var all sync.WaitGroup
	for i := range 3 {
		all.Go(func() {
			execute(ctx, []string{"work", "--join", s.file, "-d", dir, "--shared", "-j", "4", "--egress", "e", "--name", fmt.Sprint("w", i)}, &command{err: t.Output()})
		})
	}
	for i := range c.nodes {
		before := srv.files.Load()
		more := func() bool { return srv.files.Load() > before+files/20 || srv.files.Load() >= files }
		eventually(t, "files", more)
		t.Logf("node %d dies after %d files", i, srv.files.Load())
		c.stop(i)
		s.want(0, "status") // at once: it waits for the election
		before = srv.files.Load()
		eventually(t, "files without a node", more)
		c.start(i)
		eventually(t, "the node is there again", c.nodes[i].JetStreamIsCurrent)
	}
	if got := facts(s.want(0, "wait", "--json")); got != fmt.Sprintf("done %d %d 0 0", files, files) {
		t.Error(got)
	}
	stop()
	all.Wait()
	t.Logf("%d transfers of %d files, %d connections at once, %d refused", srv.files.Load(), files, srv.peak.Load(), srv.refused.Load())
	if srv.refused.Load() > 0 {
		t.Errorf("%d connections were refused", srv.refused.Load())
	}
	compare(t, dir, files)
}

// TestReplicas asks for more copies than the cluster has nodes.
func TestReplicas(t *testing.T) {
	t.Parallel()
	n := must.Get(server.NewServer(&server.Options{Host: "127.0.0.1", Port: -1, JetStream: true, StoreDir: t.TempDir(), NoSigs: true}))(t)
	n.Start()
	defer func() { n.Shutdown(); n.WaitForShutdown() }()
	s := &stand{T: t, file: filepath.Join(t.TempDir(), "join")}
	must.Do(t, (&join{Address: n.ClientURL()}).write(s.file))
	_, errs, code := s.do("status", "--replicas", "3")
	if code == 0 || strings.Count(errs, "\n") != 1 || !strings.Contains(errs, "--replicas") {
		t.Errorf("exit code %d: %s", code, errs)
	}
	s.want(0, "status")
}

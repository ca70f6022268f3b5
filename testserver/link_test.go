package testserver_test

import (
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/lab/interop/ftptest"
	"example.com/ftpfetch/testserver"
)

// TestLink measures, with the clock of a bubble, how long retrievals over a slow link take.
func TestLink(t *testing.T) {
	const second = time.Second
	for _, tt := range []struct {
		name       string
		o          testserver.Options
		size, both int // bytes of the file; retrievals at once
		want, most time.Duration
	}{
		{"as it is", testserver.Options{}, 1000, 1, 0, 0},
		// the greeting, the login, the commands of the plan, the data connection
		{"latency", testserver.Options{Latency: second}, 1000, 1, 4 * second, 8 * second},
		{"rate", testserver.Options{Rate: 100}, 1000, 1, 10 * second, 10 * second},
		{"rate of each", testserver.Options{Rate: 100}, 1000, 2, 10 * second, 10 * second},
		{"bandwidth of all", testserver.Options{Bandwidth: 100}, 1000, 2, 20 * second, 20 * second},
		{"the lower one", testserver.Options{Rate: 50, Bandwidth: 1000}, 1000, 1, 20 * second, 20 * second},
		{"one byte at once", testserver.Options{Rate: 1}, 5, 1, 5 * second, 5 * second},
	} {
		synctest.Test(t, func(t *testing.T) {
			network := ftptest.NewNetwork()
			o := tt.o
			o.Tree = map[string]string{"/d/f": strings.Repeat("x", tt.size)}
			o.Listen = network.Listen
			s := testserver.New(t, &o)
			c := ftpexec.Client{Dial: network.Dial, MinRate: -1}
			defer c.CloseIdleConnections()
			begun := time.Now()
			var all sync.WaitGroup
			for range tt.both {
				all.Go(func() {
					r, err := c.Get(t.Context(), s.URL("/d/f"))
					if err != nil {
						t.Error(err)
						return
					}
					defer r.Body.Close()
					if text, err := io.ReadAll(r.Body); len(text) != tt.size || err != nil {
						t.Errorf("%s: %d bytes, %v", tt.name, len(text), err)
					}
				})
			}
			all.Wait()
			if took := time.Since(begun); took < tt.want || took > tt.most {
				t.Errorf("%s: took %v, want %v to %v", tt.name, took, tt.want, tt.most)
			}
		})
	}
}

// TestLinkCloses closes a server in the middle of each kind of wait.
func TestLinkCloses(t *testing.T) {
	for _, o := range []testserver.Options{{Latency: time.Hour}, {Rate: 1}, {Bandwidth: 1}} {
		synctest.Test(t, func(t *testing.T) {
			network := ftptest.NewNetwork()
			o.Tree = map[string]string{"/f": strings.Repeat("x", 10_000)}
			o.Listen = network.Listen
			s := must.Get(testserver.Start(&o))(t)
			c := ftpexec.Client{Dial: network.Dial, MinRate: -1, ConnectTimeout: 2 * time.Hour, Timeout: 2 * time.Hour}
			defer c.CloseIdleConnections()
			over := make(chan error)
			go func() {
				r, err := c.Get(t.Context(), s.URL("/f"))
				if err == nil {
					_, err = io.Copy(io.Discard, r.Body)
					r.Body.Close()
				}
				over <- err
			}()
			synctest.Wait()
			must.Do(t, s.Close())
			if err := <-over; err == nil {
				t.Error("the file came")
			}
		})
	}
	for _, o := range []testserver.Options{{Latency: -1}, {Rate: -1}, {Bandwidth: -1}} {
		if s, err := testserver.Start(&o); err == nil {
			s.Close()
			t.Errorf("%+v: no error", o)
		}
	}
}

// TestWhatWasSent checks the methods that say what a client has done.
func TestWhatWasSent(t *testing.T) {
	s := testserver.New(t, &testserver.Options{Tree: map[string]string{"/a b/c/f": "hello"}})
	var c ftpexec.Client
	r := must.Get(c.Get(t.Context(), s.URL("/a%20b//c/f")))(t)
	if n := s.OpenConnections(); n != 1 {
		t.Errorf("%d connections are open during the transfer", n)
	}
	must.Get(io.ReadAll(r.Body))(t)
	r.Body.Close()
	c.CloseIdleConnections()
	must.Do(t, s.WaitCommand(t.Context(), "QUIT"))
	if got, want := s.Args("cwd"), []string{"a b", "", "c"}; !slices.Equal(got, want) {
		t.Errorf("CWD %q, want %q", got, want)
	}
	if got := s.Args("RETR", 1); !slices.Equal(got, []string{"f"}) || s.Args("RETR", 2) != nil {
		t.Errorf("RETR %q", got)
	}
	if late := s.AfterQuit(); late != nil {
		t.Errorf("after QUIT: %q", late)
	}
}

// TestAfterQuit sends commands after QUIT on one of two connections.
func TestAfterQuit(t *testing.T) {
	network := ftptest.NewNetwork()
	s := testserver.New(t, &testserver.Options{Listen: network.Listen})
	for _, text := range []string{"QUIT\r\nNOOP\r\nCWD x\r\n", "NOOP\r\nSYST\r\n"} {
		conn := must.Get(network.Dial(t.Context(), "tcp", s.Addr()))(t)
		defer conn.Close()
		must.Get(io.WriteString(conn, text))(t)
	}
	must.Do(t, s.WaitCommand(t.Context(), "CWD x"))
	must.Do(t, s.WaitCommand(t.Context(), "SYST"))
	if late := s.AfterQuit(); !slices.Equal(late, []string{"NOOP", "CWD x"}) {
		t.Errorf("after QUIT: %q", late)
	}
}

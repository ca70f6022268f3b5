package main

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"time"

	"example.com/ftpfetch/lab/interop/ftptest"
)

// TestPullersLines checks that each command line can be written, with the number of connections.
func TestPullersLines(t *testing.T) {
	for _, clients := range [][]client{pullers, hasty, auto} {
		for _, tls := range []bool{false, true} {
			s := scene{job: job{files: []string{"large"}, server: &server{port: 7777, tls: tls, ca: map[*link]string{loopback: "ca.pem"}}}}
			s.addRows(clients, 13)
			for _, w := range s.rows {
				line := strings.Join(w.words(loopback, "h"), " ")
				if line == "" {
					continue
				}
				one := w.client.name == "curl" || w.client.name == "wget" || w.client.name == "-s auto"
				if strings.ContainsAny(line, "{}") || !strings.Contains(line, "://127.0.0.1:7777/large") || strings.Contains(line, "13") == one {
					t.Errorf("%s: %s", w.client.name, line)
				}
			}
		}
	}
}

// ran returns a scene in which the clients took these seconds, one value for each pass; none means that it failed.
func ran(clients []client, numbers []int, took ...[]float64) *scene {
	s := &scene{job: job{title: "a link", links: []*link{loopback}}, n: 4, ideal: 2 * time.Second}
	s.addRows(clients, numbers...)
	for i, w := range s.rows {
		for _, seconds := range took[i] {
			w.samples = append(w.samples, []sample{{elapsed: time.Duration(seconds * float64(time.Second))}})
		}
		if took[i] == nil {
			w.err = errors.New("it | failed")
		}
	}
	return s
}

// TestWritePeers checks that ftpfetch is compared with the fastest program that did not fail, pass by pass.
func TestWritePeers(t *testing.T) {
	var out strings.Builder
	writePeers(&out, []*scene{
		ran(pullers[:4], []int{4}, []float64{2, 4, 9}, nil, []float64{4, 4, 4}, []float64{9, 9, 9}),
		ran(pullers[:4], []int{4}, nil, []float64{1}, []float64{1}, []float64{1}),
	})
	for _, want := range []string{
		"\n| a link | 4 | 2.0 | 4.0 | **it \\| failed** | 4.0 | 9.0 |  |  | 2.00 | 1.00 |\n",
		"\n| a link | 4 | 2.0 | **it \\| failed** | 1.0 | 1.0 | 1.0 |  |  |  |  |\n",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no row %q in:\n%s", want, out.String())
		}
	}
}

// TestWriteAuto checks that -s auto is compared with the best fixed number.
func TestWriteAuto(t *testing.T) {
	s := ran(auto[:1], []int{0}, []float64{6})
	fixed := ran(auto[1:], []int{2, 8}, []float64{9}, []float64{5})
	s.rows = append(s.rows, fixed.rows...)
	var out strings.Builder
	writeAuto(&out, []*scene{s})
	if want := "\n| a link | 6.0 | 2: 9.0; 8: 5.0 | 1.20 |\n"; !strings.HasSuffix(out.String(), want) {
		t.Errorf("got %q, want %q", out.String(), want)
	}
}

// TestRaceGoesOn checks that a program that fails is not run again, and that ftpfetch's failure is told.
func TestRaceGoesOn(t *testing.T) {
	s := ran(pullers[:2], []int{4}, []float64{}, []float64{})
	s.runs = 3
	starts := 0
	s.serve = func(context.Context) (func(), error) {
		starts++
		return nil, errors.New("no server")
	}
	if err := new(bench).race(t.Context(), []*scene{s}); err == nil || !strings.Contains(err.Error(), "a link, 4 connections: ftpfetch: no server") || starts != 2 {
		t.Errorf("got %v after %d starts, want 2", err, starts)
	}
}

// TestUnevenPaces checks the speed of each connection in the scenes that have a server of their own.
func TestUnevenPaces(t *testing.T) {
	var slow []int
	for n := 1; n <= 9; n++ {
		if slowEighth(n, ftptest.Retrieval{}).Rate < fastRate {
			slow = append(slow, n)
		}
	}
	var half []int
	for n := 1; n <= 4; n++ {
		if slowHalf(9, ftptest.Retrieval{Conn: n}).Rate < fastRate {
			half = append(half, n)
		}
	}
	if !slices.Equal(slow, []int{8}) || !slices.Equal(half, []int{2, 4}) {
		t.Errorf("slow are %v and %v", slow, half)
	}
	if stops := stopsSecond(16); stops(1, ftptest.Retrieval{}).End != 0 || stops(2, ftptest.Retrieval{}).After != 16 || stops(3, ftptest.Retrieval{}).End != 0 {
		t.Error("not only the second stops")
	}
}

// TestLinkLoses checks that a link loses about as many packets as it is told to.
func TestLinkLoses(t *testing.T) {
	l, queue, got := link{loss: 0.25}, make(chan packet, 1000), 0
	for range 1000 {
		queue <- packet{[]byte{0}, time.Now()}
	}
	close(queue)
	l.deliver(io.Discard, queue, func([]byte) { got++ })
	if got < 700 || got > 800 {
		t.Errorf("%d of 1000 packets arrived, want about 750", got)
	}
}

package main

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"testing"
	"time"

	"github.com/nats-io/nats.go"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// TestSplit has attempts at a chunk that do not know of each other. Files that one attempt has given away are in no
// other attempt's result.
func TestSplit(t *testing.T) {
	t.Parallel()
	s, srv := newStand(t), newFTP(t, 6, 9, testserver.Options{})
	w := s.worker("w")
	j := &job{ID: "abcdefgh", State: "ready", Files: 6, Chunks: 1}
	must.Get(s.admin().jobs.Create(t.Context(), j.ID, j.text()))(t)
	must.Do(t, s.admin().meet(t.Context(), &job{ID: j.ID, bounds: bounds{PerHost: 2}}, srv.Addr()))
	attempt := func() (*chunk, *outcome) {
		c := &chunk{Job: j.ID, ID: "1", Host: srv.Addr()}
		for i := range 6 {
			c.Items = append(c.Items, item1(t, srv, i))
		}
		return c, newOutcome(w, c)
	}
	complete := func(c *chunk, o *outcome) {
		for at := range c.Items {
			if !c.given[at] {
				o.count(at, tally{Ended: 1, Complete: 1})
			}
		}
	}
	frozen, old := attempt()
	c, o := attempt()
	if !w.split(c, []piece{{Items: []int{4, 5}}}) || !w.split(c, []piece{{Items: []int{1}, Not: []string{"x"}}, {Items: []int{3}}}) {
		t.Fatal("not split")
	}
	complete(frozen, old)
	if w.publish(frozen, old) {
		t.Error("an attempt that knows of no split has a result")
	}
	late, _ := attempt()
	if done := must.Get(w.known(late))(t); done || len(late.given) != 4 || !w.sendPieces(late) {
		t.Errorf("known: %v, given %v", done, late.given)
	}
	complete(c, o)
	if !w.publish(c, o) {
		t.Error("no result")
	}
	if done := must.Get(w.known(frozen))(t); !done {
		t.Error("the result is not known")
	}
	s.starts("a", t.TempDir(), "", 2)
	if got := facts(s.want(0, "wait", "--json")); got != "done 6 6 0 0" {
		t.Error(got)
	}
	for _, line := range srv.Commands() {
		if line == "RETR 000000" || line == "RETR 000002" {
			t.Errorf("fetched again: %s", line)
		}
	}
}

// TestSentTwice sends a chunk twice, as after a lost answer. It must be in the queue once, so that no file is fetched
// twice.
func TestSentTwice(t *testing.T) {
	t.Parallel()
	s := newStand(t)
	for range 2 {
		must.Do(t, s.admin().send(t.Context(), &chunk{Job: "abcdefgh", ID: "1-3", Host: "h:21"}))
	}
	if info := must.Get(s.admin().work.Info(t.Context()))(t); info.State.Msgs != 1 {
		t.Errorf("%d chunks", info.State.Msgs)
	}
}

// TestLanes has lists that must give every lane files: each transfer waits until every lane has one.
func TestLanes(t *testing.T) {
	t.Parallel()
	for name, one := range map[string]bool{"a list": false, "one chunk": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			const files, lanes = 200, 8
			s := newStand(t)
			all, open := gate()
			defer open()
			srv := newFTP(t, files, lanes, testserver.Options{Fault: func(c *testserver.Conn) testserver.Action {
				if c.Verb == "RETR" {
					<-all
				}
				return nil
			}})
			if !one {
				s.want(0, "add", "--per-host", fmt.Sprint(lanes), srv.list(t, files))
			} else {
				j := &job{ID: "abcdefgh", State: "ready", Files: files, Chunks: 1}
				must.Get(s.admin().jobs.Create(t.Context(), j.ID, j.text()))(t)
				must.Do(t, s.admin().meet(t.Context(), &job{ID: j.ID, bounds: bounds{PerHost: lanes}}, srv.Addr()))
				c := &chunk{Job: j.ID, ID: "1", Host: srv.Addr()}
				for i := range files {
					c.Items = append(c.Items, item1(t, srv, i))
				}
				s.send(s.admin(), c, func(*nats.Msg) {})
			}
			for i := range 4 {
				s.starts(fmt.Sprint("w", i), t.TempDir(), "", 2)
			}
			eventually(t, "a transfer on each lane", func() bool { return srv.files.Load() >= lanes })
			open()
			if got := facts(s.want(0, "wait", "--json")); got != fmt.Sprintf("done %d %d 0 0", files, files) {
				t.Error(got)
			}
			if srv.peak.Load() != lanes || srv.refused.Load() > 0 {
				t.Errorf("%d connections, %d refused", srv.peak.Load(), srv.refused.Load())
			}
		})
	}
}

// TestBacklog checks how many files a lane holds in advance, and that other lanes get the rest.
func TestBacklog(t *testing.T) {
	tasks := make([]download.Task, 40)
	for i := range tasks {
		tasks[i].Line = i + 1
	}
	f := newBacklog(tasks)
	f.begun = time.Now().Add(time.Hour) // no time has been measured yet
	for i := range 2 {
		if got, ok := f.next(t.Context()); !ok || got.Line != i+1 {
			t.Fatalf("got %+v", got)
		}
	}
	ended, stop := context.WithCancel(t.Context())
	stop()
	if got, ok := f.next(ended); ok {
		t.Errorf("a third one: %+v", got)
	}
	f.end(false)
	if got, ok := f.next(t.Context()); !ok || got.Line != 3 {
		t.Errorf("got %+v", got)
	}
	if got := f.take(); len(got) != 37 || got[0] != 3 {
		t.Errorf("taken are %v", got)
	}
	if _, ok := f.next(t.Context()); ok {
		t.Error("something is left")
	}
	f.ended = 4000
	f.begun = time.Now().Add(-time.Minute)
	if n := f.ahead(); n != 16 {
		t.Errorf("%d in advance of small files", n)
	}
	f.begun = time.Now().Add(-24 * time.Hour) // and they take long
	for i, want := range []int{2, 2, 4, 6} {
		if n := f.ahead(); n != want {
			t.Errorf("%d in advance after %d files that are here, want %d", n, i, want)
		}
		f.end(true)
	}
	f.there = 1000
	if n := f.ahead(); n != 64 {
		t.Errorf("%d in advance after many files that are here", n)
	}
	f.end(false)
	if n := f.ahead(); n != 2 {
		t.Errorf("%d in advance after one that was fetched", n)
	}
}

// TestTerms lists which of the options of a run are sent to the workers, and which are not: a new one must be in one of
// the lists. Those of a file say it by their tags, and all that are sent arrive.
func TestTerms(t *testing.T) {
	stays := map[string]string{
		"Jobs": "the worker's", "PerHost": "of the host", "Ledger": "the worker's", "Timeout": "",
		"Info": "a fleet fetches", "LeftOut": "for trees; a fleet has lists", "Report": "the command's",
		"Each": "looked at by itself", "Dry": "a fleet fetches", "Check": "a fleet fetches", "Hides": "for trees; a fleet has lists",
		"MakeWay": "for trees; a fleet has lists", "Finish": "for trees", "Events": "set by the worker",
		"Once": "refused by add", "Done": "refused by add",
	}
	for field := range reflect.TypeFor[download.RunOptions]().Fields() {
		if _, ok := stays[field.Name]; !ok {
			t.Errorf("%s: does it travel?", field.Name)
		}
	}
	o := download.RunOptions{Timeout: 7}
	each := reflect.ValueOf(&o.Each).Elem()
	for field, v := range each.Fields() {
		switch {
		case !field.IsExported():
		case v.Kind() == reflect.Bool:
			v.SetBool(true)
		case v.Kind() == reflect.String:
			v.SetString("newer")
		case v.CanInt():
			v.SetInt(7)
		}
	}
	var arrived terms
	must.Do(t, json.Unmarshal(must.Get(json.Marshal(termsOf(&o)))(t), &arrived))
	for field, v := range reflect.ValueOf(arrived.Options).Fields() {
		if field.IsExported() && v.IsZero() != (field.Tag.Get("json") == "-") {
			t.Errorf("%s: %v arrives", field.Name, v)
		}
	}
	if arrived.Timeout != 7 {
		t.Error("Timeout does not arrive")
	}
}

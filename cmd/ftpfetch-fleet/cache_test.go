package main

import (
	"bytes"
	"encoding/json"
	"testing"
	"time"

	"example.com/ftpfetch/cmd/internal/cli/report"
	"example.com/ftpfetch/internal/testkit/must"
)

// observed counts how often a value was decoded.
type observed struct{ text string }

var decoded int

func (c *observed) UnmarshalJSON(text []byte) error {
	decoded++
	return json.Unmarshal(text, &c.text)
}

// TestValueOf asks for the values of keys again and again. Each is decoded once, until it changes.
func TestValueOf(t *testing.T) {
	m := new(fleet).cache(nil, "*", newBroadcast())
	decoded = 0
	want := func(key, text string, there bool, times int) {
		t.Helper()
		for range 3 {
			if got, ok := valueOf[observed](m, key); ok != there || got.text != text {
				t.Errorf("%s is %q, %v", key, got.text, ok)
			}
		}
		if decoded != times {
			t.Errorf("decoded %d times, want %d", decoded, times)
		}
	}
	want("k", "", false, 0)
	m.take("k", held{value: []byte(`"one"`), rev: 1})
	want("k", "one", true, 1)
	m.take("k", held{value: []byte(`"one"`), rev: 1}) // told again
	want("k", "one", true, 1)
	m.take("k", held{value: []byte(`"two"`), rev: 3})
	want("k", "two", true, 2)
	m.take("k", held{value: []byte(`"one"`), rev: 2}) // told late
	want("k", "two", true, 2)
	m.take("k", held{rev: 4, gone: true})
	want("k", "", false, 2)
	m.take("k", held{value: []byte(`{`), rev: 5})
	want("k", "", false, 2)
}

// TestRowOfOddPath checks that the report of a fleet has a path that is not UTF-8 octet for octet.
func TestRowOfOddPath(t *testing.T) {
	o := newOutcome(&worker{where: "w:/dir/"}, new(chunk))
	o.keep(report.Row{Version: 1, Path: "d/caf\xe9\tx", Status: "complete"}, nil)
	var s stored
	must.Do(t, json.Unmarshal(o.rows.Bytes(), &s))
	const want = "w:/dir/d/caf%E9%09x"
	if s.Encoded != want {
		t.Errorf("stored %q, want %q", s.Encoded, want)
	}
	var table bytes.Buffer
	f := must.Get(report.Create("-", "", &table))(t)
	must.Do(t, f.Write(s.Row))
	var row report.Row
	must.Do(t, json.Unmarshal(table.Bytes(), &row))
	if row.Encoded != want {
		t.Errorf("reported %q, want %q", row.Encoded, want)
	}
}

// TestBoundsWake checks that lanes that wait for a slot of a host notice at once that the host, or their job, may have
// more: otherwise a second job that allows more connections begins with those of the first one.
func TestBoundsWake(t *testing.T) {
	f := new(fleet)
	w := &worker{fleet: f, ctx: t.Context(), egress: "here", changed: newBroadcast()}
	w.hosts, w.caps, w.lists = f.cache(nil, "*", w.changed), f.cache(nil, "*", w.changed), f.cache(nil, "*", w.changed)
	w.caps.told = true
	rev := uint64(0)
	tell := func(m *cache, key, value string) {
		rev++
		m.take(key, held{value: []byte(value), rev: rev, seen: time.Now()})
	}
	tell(w.hosts, "h", `{"per_host": 1}`)
	tell(w.lists, "job", `{"per_job": 1}`)
	for _, tt := range []struct {
		full string
		m    *cache
		key  string
	}{
		{"h", w.hosts, "h"}, {"h", w.caps, "here.h"}, {jobPrefix + "job", w.lists, "job"},
	} {
		w.full.Store(tt.full, time.Now())
		if !w.isFull(tt.full) {
			t.Errorf("%s is not full", tt.full)
		}
		changed, woken := w.changed.next(), make(chan struct{})
		go func() {
			defer close(woken)
			w.idle(changed, time.Hour, nil)
		}()
		tell(tt.m, tt.key, map[*cache]string{w.hosts: `{"per_host": 9}`, w.caps: `{"most": 9}`, w.lists: `{"per_job": 9}`}[tt.m])
		<-woken
		if w.isFull(tt.full) {
			t.Errorf("%s is full although it has changed", tt.full)
		}
	}
}

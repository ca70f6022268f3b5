package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"example.com/ftpfetch/cmd/internal/cli/show"
	"example.com/ftpfetch/urlparse"
)

// hostState is the state of a host, from one egress.
type hostState struct {
	Host   string `json:"host"`
	Egress string `json:"egress"` // "": no worker has a slot
	Slots  int    `json:"slots"`  // in use
	Cap    int    `json:"cap"`

	State string    `json:"state"` // see hostStates
	Why   string    `json:"why,omitempty"`
	Since time.Time `json:"since,omitzero"`
	Next  string    `json:"next,omitempty"` // what happens next

	bounds           // that are in force
	Set    time.Time `json:"set,omitzero"` // since when
	By     string    `json:"by,omitempty"` // the command that set them
}

// hostStates are the states of a host.
var hostStates = []string{"in use", "waits", "closed", "refuses", "left"}

// trouble is why a worker gets no connection to a host, leaves it to others, or does not log in as some user.
type trouble struct {
	Host  string    `json:"host"`  // its key
	State string    `json:"state"` // refuses, left or login
	Why   string    `json:"why"`
	Since time.Time `json:"since"`
}

// leaves reports whether a worker leaves a host to others.
func (p *presence) leaves(host string) bool { return p.has(host, "left") }

func (p *presence) has(host, state string) bool {
	return slices.ContainsFunc(p.Troubles, func(t trouble) bool { return t.Host == host && t.State == state })
}

// giveUp is how long a host may refuse all connections until its files fail, if the job says nothing else.
const giveUp = time.Hour

// patience returns how long a host may refuse all connections.
func (j *job) patience() time.Duration { return cmp.Or(j.GiveUp, giveUp) }

// refuses records that a host refused a connection.
func (g *gates) refuses(host string, cause error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if _, ok := g.refused[host]; !ok {
		g.refused[host] = departure{cause, time.Now()}
	}
}

// shut returns why a host of a chunk has let nobody in for as long as its job allows, or nil. Another worker may have
// the connections that this one does not get.
func (w *worker) shut(c *chunk) (why string, cause error) {
	host := hostKey(c.Host)
	j, _ := valueOf[job](w.lists, c.Job)
	w.gates.mu.Lock()
	d, ok := w.gates.refused[host]
	w.gates.mu.Unlock()
	if !ok || elapsed(d.at) < j.patience() {
		return "", nil
	}
	presences, err := w.others()
	for _, p := range presences {
		if slices.Contains(p.Served, host) && !p.has(host, "refuses") {
			return "", nil
		}
	}
	if err != nil {
		return "", nil
	}
	return fmt.Sprintf("the host has let nobody in for %v: ", j.patience()), d.cause
}

// fellow is what workers say about a host together.
type fellow struct {
	trouble
	left int // number of workers that leave it
}

// troubles returns what is wrong with each host, by key.
func troubles(presences map[string]presence) map[string]fellow {
	all := make(map[string]fellow)
	for _, p := range presences {
		for _, t := range p.Troubles {
			was := all[t.Host]
			if t.State == "left" {
				was.left++
			}
			if t.State == "login" { // it uses the host as somebody else
				continue
			}
			if was.Host == "" || t.Since.Before(was.Since) {
				was.trouble = t
			}
			all[t.Host] = was
		}
	}
	return all
}

// hostsNow returns the states of all hosts that have chunks or connections.
func (f *fleet) hostsNow(ctx context.Context, presences map[string]presence) ([]hostState, error) {
	hosts, err := values[host](ctx, f, f.hosts)
	caps, cerr := values[ceiling](ctx, f, f.caps)
	slots, serr := readAll(ctx, f, f.slots, jetstream.AllKeys)
	queues, qerr := readAll(ctx, f, f.queues, jetstream.AllKeys)
	jobs, jerr := values[job](ctx, f, f.jobs)
	if err = errors.Join(err, cerr, serr, qerr, jerr); err != nil {
		return nil, err
	}
	used := make(map[string]int) // by EGRESS.HOST
	busy := make(map[string]bool)
	for key := range slots {
		at := strings.TrimSuffix(strings.TrimRight(key, "0123456789"), ".")
		used[at]++
		_, host, _ := strings.Cut(at, ".")
		busy[host] = true
	}
	patience := make(map[string]time.Duration) // the shortest of a host's jobs
	for key := range queues {
		host, id, _ := strings.Cut(key, ".")
		j := jobs[id]
		patience[host] = min(j.patience(), cmp.Or(patience[host], j.patience()))
		if !busy[host] {
			used["."+host] = 0
		}
	}
	known := troubles(presences)
	all := []hostState{}
	for at, n := range used {
		egress, key, _ := strings.Cut(at, ".")
		if strings.HasPrefix(key, jobPrefix) {
			continue
		}
		h := hosts[key]
		s := hostState{Host: h.Address, Egress: egress, Slots: n, Cap: h.PerHost, bounds: h.bounds, Set: h.Since, By: h.By}
		if c, ok := caps[at]; ok {
			s.Cap = min(s.Cap, c.Most)
		}
		s.judge(known[key], len(presences), cmp.Or(patience[key], giveUp))
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b hostState) int {
		return cmp.Or(cmp.Compare(a.Host, b.Host), cmp.Compare(a.Egress, b.Egress))
	})
	return all, nil
}

// allHosts returns what is in force for all hosts together, or nil.
func (f *fleet) allHosts(ctx context.Context) (*host, error) {
	e, err := f.hosts.Get(ctx, hostKey(allHosts))
	if errors.Is(err, jetstream.ErrKeyNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	h := new(host)
	return h, json.Unmarshal(e.Value(), h)
}

// judge sets the State, and what belongs to it.
func (s *hostState) judge(t fellow, workers int, patience time.Duration) {
	s.Why, s.Since = show.OneLine(t.Why), t.Since
	from, _, _ := readHours(s.Hours)
	switch {
	case !s.open(time.Now()):
		s.State, s.Since = "closed", time.Time{}
		s.Why = "it may be asked only in the hours " + s.Hours
		s.Next = fmt.Sprintf("it is asked at %02d:00", from)
	case t.State == "refuses":
		s.State = t.State
		s.Next = "it is asked again within a minute; its files fail at " + clock(t.Since.Add(patience))
	case t.left > 0 && t.left >= workers:
		s.State = "left"
		s.Next = "its files fail a minute after the last worker has left it; workers come back after five minutes, " +
			"or when their netrc files change"
	case s.Slots > 0:
		s.State, s.Why, s.Since = "in use", "", time.Time{}
	case workers == 0:
		s.State, s.Why, s.Next = "waits", "there is no worker", "it is asked when a worker starts"
	default:
		s.State = "waits"
		s.Why = cmp.Or(s.Why, "no worker has begun a chunk of it")
		s.Next = "it is asked when a lane is free"
	}
}

func clock(t time.Time) string { return t.Local().Format("2006-01-02 15:04:05") }

// line is for people.
func (s *hostState) line() string {
	text := fmt.Sprintf("%s: %s", s.Host, s.State)
	if s.Why != "" {
		text += ": " + s.Why
	}
	if !s.Since.IsZero() {
		text += ", since " + clock(s.Since)
	}
	if s.Next != "" {
		text += "; " + s.Next
	}
	text += fmt.Sprintf("; in force: --per-host %d", s.PerHost)
	if s.Rate > 0 {
		text += fmt.Sprintf(" --limit-rate %d", s.Rate)
	}
	if s.Hours != "" {
		text += " --hours " + s.Hours
	}
	if s.By != "" {
		text += fmt.Sprintf(", since %s at %s", s.By, clock(s.Set))
	}
	return show.OneLine(text)
}

// admitted records that a host has let this worker in.
func (g *gates) admitted(u *urlparse.URL) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.served[hostKey(u.Address())] = true
	delete(g.refused, hostKey(u.Address()))
}

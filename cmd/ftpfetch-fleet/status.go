package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"example.com/ftpfetch/cmd/internal/cli/show"
	"example.com/ftpfetch/internal/printable"
)

// state is the progress of a job, and the state of the fleet.
type state struct {
	job
	tally
	Results  int           `json:"results"` // number of chunks with a result
	Workers  int           `json:"workers"`
	Rate     int64         `json:"rate"`               // bytes per second, of all jobs together
	PerSec   float64       `json:"files_a_second"`     // of all jobs together
	Left     int64         `json:"seconds_left"`       // if nothing changes; -1: unknown
	Troubles []string      `json:"troubles,omitempty"` // why workers leave hosts to others
	Fleet    []workerState `json:"fleet"`
	Hosts    []hostState   `json:"hosts"`
	All      *host         `json:"all_hosts,omitempty"` // what is in force for all hosts together
	Room     *room         `json:"room,omitempty"`
}

// workerState is a worker and its presence.
type workerState struct {
	Name string `json:"name"`
	presence
}

func (f *fleet) jobsNow(ctx context.Context) ([]job, error) {
	all, err := values[job](ctx, f, f.jobs)
	return slices.SortedFunc(maps.Values(all), func(a, b job) int { return b.Added.Compare(a.Added) }), err
}

// find returns the job called id, or the job that was added last if id is empty.
func find(ctx context.Context, v view, id string) (job, error) {
	jobs, err := v.jobsNow(ctx)
	i := slices.IndexFunc(jobs, func(j job) bool { return id == "" || j.ID == id })
	switch {
	case err != nil:
		return job{}, err
	case i >= 0:
		return jobs[i], nil
	case id == "":
		return job{}, usage("no job was added: ftpfetch-fleet add --join FILE LIST adds one")
	}
	return job{}, usage("there is no job %s: ftpfetch-fleet status names them", shown(id))
}

// of returns the state of a job. s is the state of the fleet, and t sums the job's results so far.
func (s state) of(j job, t *sum) *state {
	s.job = j
	s.tally = t.tally
	s.Results = t.results
	s.Chunks += t.Rest
	if s.over() && j.State != "cancelled" {
		s.State = "done"
		if t.Ended != j.Files {
			s.State = incomplete
		}
	}
	s.Left = s.left()
	return &s
}

// look returns the state of the fleet, without that of a job.
func (f *fleet) look(ctx context.Context) (s state, err error) {
	presences, err := f.presences(ctx)
	if err != nil {
		return s, err
	}
	s.Room = f.room(ctx)
	if s.Hosts, err = f.hostsNow(ctx, presences); err != nil {
		return s, err
	}
	if s.All, err = f.allHosts(ctx); err != nil {
		return s, err
	}
	for name, p := range presences {
		s.Workers++
		s.Rate += p.Rate
		s.PerSec += p.Files
		s.Fleet = append(s.Fleet, workerState{name, p})
		for _, t := range p.Troubles[:min(len(p.Troubles), mostShownWhys)] {
			if t.State != "refuses" { // the line of the host says that
				s.Troubles = append(s.Troubles, name+": "+t.Why)
			}
		}
	}
	slices.Sort(s.Troubles)
	slices.SortFunc(s.Fleet, func(a, b workerState) int { return cmp.Compare(a.Name, b.Name) })
	return s, nil
}

// left returns how many more seconds a job takes: by bytes if all sizes are known, otherwise by files.
func (s *state) left() int64 {
	var left float64
	switch {
	case s.over():
	case s.Size > 0 && s.Rate > 0 && s.Failed == 0:
		left = float64(s.Size-s.Bytes) / float64(s.Rate)
	case s.PerSec > 0.001:
		left = float64(s.Files-s.Ended) / s.PerSec
	default:
		return -1
	}
	return int64(min(max(0, left), 1e9))
}

// details returns lines for people that say how many files failed, with which exit code, at which host and on which
// worker, and why workers leave hosts.
func (s *state) details() (lines []string) {
	for _, by := range slices.SortedFunc(maps.Keys(s.By), func(a, b string) int {
		return cmp.Or(cmp.Compare(s.By[b], s.By[a]), cmp.Compare(a, b))
	}) {
		code, at, _ := strings.Cut(by, " ")
		host, worker, _ := strings.Cut(at, " ")
		lines = append(lines,
			fmt.Sprintf("%d failed: exit code %s, %s on %s", s.By[by], code, host, worker))
	}
	if over := len(lines) - mostDetails; over > 0 {
		lines = append(lines[:mostDetails], fmt.Sprintf("and %d such lines: see --json", over))
	}
	if err := s.Room.err(); err != nil {
		lines = append(lines, err.Error())
	}
	if !s.over() {
		lines = append(lines, s.limits()...)
		for _, h := range s.Hosts {
			lines = append(lines, h.line())
		}
		if over := len(lines) - 2*mostDetails; over > 0 {
			lines = append(lines[:2*mostDetails], fmt.Sprintf("and %d such lines: see --json", over))
		}
	}
	return append(lines, s.Troubles...)
}

// limits returns what is in force for the job, and for all hosts together.
func (s *state) limits() (lines []string) {
	if s.bounded() {
		text := "the job: in force:"
		if s.PerJob > 0 {
			text += fmt.Sprintf(" --per-job %d", s.PerJob)
		}
		if s.JobRate > 0 {
			text += fmt.Sprintf(" --job-rate %d", s.JobRate)
		}
		lines = append(lines, text)
	}
	if s.All != nil && s.All.Rate > 0 {
		lines = append(lines, fmt.Sprintf("all hosts together: in force: --limit-rate %d, since %s at %s", s.All.Rate,
			s.All.By, clock(s.All.Since)))
	}
	return lines
}

// How many lines details returns of one kind, and how many causes of a worker.
const (
	mostDetails   = 20
	mostShownWhys = 3
)

// incomplete is the State of a job whose chunks all have a result, although some of the files that were added have
// none.
const incomplete = "incomplete: some files have no outcome, add the list again"

// over reports whether the job has no more results to come.
func (s *state) over() bool {
	return s.State == "cancelled" || s.State != "adding" && s.Results >= s.Chunks
}

// settled reports whether the job's counts will not change. After cancel, workers still complete the chunks that they
// have, and their presences tell that late.
func (s *state) settled() bool {
	if s.State != "cancelled" {
		return s.over()
	}
	return time.Since(s.Cancelled) > 2*beat && !slices.ContainsFunc(s.Fleet, func(w workerState) bool {
		return slices.Contains(w.Jobs, s.ID)
	})
}

// text is for people: "1024 of 20000 files, 2 failed, 1.2 GiB, 5m0s left, 60 files/s, 3.2 MiB/s, 5 workers;
// ftp.example.org:21 4 of 8".
func (s *state) text() string {
	text := fmt.Sprintf("%d of %d files", s.Complete, s.Files)
	if s.Failed > 0 {
		text += fmt.Sprintf(", %d failed", s.Failed)
	}
	text += ", " + printable.Size(float64(s.Bytes))
	if s.Size > 0 {
		text += " of " + printable.Size(float64(s.Size))
	}
	if s.over() || s.State == "paused" {
		return text + ", " + s.State
	}
	if s.Left >= 0 {
		text += fmt.Sprintf(", %v left", time.Duration(s.Left)*time.Second)
	}
	workers := printable.Count(int64(s.Workers), "worker", "workers")
	text += fmt.Sprintf(", %.3g files/s, %s/s, %s", s.PerSec, printable.Size(float64(s.Rate)),
		workers)
	for _, h := range s.Hosts {
		if h.Slots == 0 {
			continue
		}
		text += fmt.Sprintf("; %s from %s: %d of %d", h.Host, h.Egress, h.Slots, h.Cap)
	}
	return show.OneLine(text)
}

// states returns the states of jobs. sums has what earlier calls have read of their results.
func (f *fleet) states(ctx context.Context, jobs []job, sums map[string]*sum) ([]*state, error) {
	now, err := f.look(ctx)
	states := []*state{}
	for _, j := range jobs {
		if sums[j.ID] == nil {
			sums[j.ID] = new(sum)
		}
		if err == nil {
			err = sums[j.ID].read(ctx, f, j.ID)
		}
		states = append(states, now.of(j, sums[j.ID]))
	}
	return states, err
}

func status(ctx context.Context, c *command, v view) error {
	var states []*state
	err := patiently(ctx, c.patience, func() (err error) {
		states, err = statesOf(ctx, v, c.operand())
		return err
	})
	if err != nil {
		return err
	}
	for _, s := range states {
		err = errors.Join(err, c.say(s))
		if c.json {
			continue
		}
		for _, line := range s.details() {
			_, _ = fmt.Fprintf(c.out, "  %s\n", line)
		}
	}
	return err
}

// statesOf returns the state of a job, or of all if id is empty.
func statesOf(ctx context.Context, v view, id string) ([]*state, error) {
	jobs, err := v.jobsNow(ctx)
	if id != "" {
		jobs = make([]job, 1)
		jobs[0], err = find(ctx, v, id)
	}
	if err != nil {
		return nil, err
	}
	return v.states(ctx, jobs, make(map[string]*sum))
}

func (c *command) say(s *state) (err error) {
	if c.json {
		_, err = c.out.Write(printable.JSON(s))
	} else {
		_, err = fmt.Fprintf(c.out, "%s: %s\n", s.ID, s.text())
	}
	return err
}

// cancel cancels the chunks that no worker has begun.
func cancel(ctx context.Context, c *command, f *fleet, j job) error {
	over, err := f.over(ctx, j)
	switch {
	case err != nil:
		return err
	case over && j.State != "cancelled":
		return usage("job %s is done", j.ID)
	}
	return f.cancel(ctx, j.ID)
}

// cancel marks a job as cancelled, and removes its chunks. Workers check the job first, so they refuse a chunk that
// arrives later.
func (f *fleet) cancel(ctx context.Context, id string) error {
	_, err := change(ctx, f.jobs, id, nil, func(j *job) error {
		j.State = "cancelled"
		j.Cancelled = time.Now().UTC()
		return nil
	})
	return cmp.Or(err, f.work.Purge(ctx, jetstream.WithPurgeSubject(f.subject("work", id, ">"))))
}

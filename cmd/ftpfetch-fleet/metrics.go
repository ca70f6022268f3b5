package main

import (
	"net/http"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
)

// metrics is what /metrics shows. It is made anew for each request.
type metrics struct{ *prometheus.Registry }

// gauge declares a metric, and returns what sets its value for some labels.
func (m metrics) gauge(name, help string, labels ...string) func(value int64, labels ...string) {
	vec := prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "ftpfetch_fleet_" + name, Help: help}, labels)
	m.MustRegister(vec)
	return func(value int64, labels ...string) { vec.WithLabelValues(labels...).Set(float64(value)) }
}

// counter is gauge for what only grows, except that a retry takes failures back, and delete everything of a job.
func (m metrics) counter(name, help string, labels ...string) func(value int64, labels ...string) {
	vec := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "ftpfetch_fleet_" + name, Help: help}, labels)
	m.MustRegister(vec)
	return func(value int64, labels ...string) { vec.WithLabelValues(labels...).Add(float64(value)) }
}

// metrics writes the states for Prometheus.
func (b *board) metrics(w http.ResponseWriter, r *http.Request) {
	states, err := b.look(r.Context())
	if err != nil {
		http.Error(w, "the fleet's server does not answer", http.StatusServiceUnavailable)
		return
	}
	b.mu.Lock()
	now := b.now
	b.mu.Unlock()
	m := metricsOf(states, now, b.hub.room.Load())
	promhttp.HandlerFor(m, promhttp.HandlerOpts{}).ServeHTTP(w, r)
}

// metricsOf returns the metrics of some jobs, and of the fleet.
func metricsOf(states []*state, now state, room *room) metrics {
	m := metrics{prometheus.NewRegistry()}
	m.MustRegister(collectors.NewBuildInfoCollector())
	if room != nil {
		m.gauge("state_bytes", "The size of STATE.")(room.Size)
		m.gauge("state_free_bytes", "What is free on the disk of STATE; -1: unknown.")(room.Free)
	}
	m.gauge("workers", "The workers that there are.")(int64(now.Workers))
	m.gauge("bytes_per_second", "What all workers receive together.")(now.Rate)
	if now.All != nil && now.All.Rate > 0 {
		m.gauge("limit_bytes_per_second", "What each egress may receive from all hosts together.")(now.All.Rate)
	}
	m.jobs(states)
	m.hosts(now.Hosts)
	return m
}

func (m metrics) jobs(states []*state) {
	files := m.gauge("files", "The files of a job, by what became of them.", "job", "outcome")
	bytes := m.gauge("bytes", "The bytes of the complete files of a job.", "job")
	received := m.counter("received_bytes_total", "The bytes of the complete files of a job.", "job")
	failures := m.counter("failures_total", "The files of a job that have failed.", "job", "host", "code")
	retries := m.counter("retries_total", "The failed files of a job that were put back.", "job")
	for _, s := range states {
		files(s.Files, s.ID, "all")
		files(s.Complete, s.ID, "complete")
		files(s.Failed, s.ID, "failed")
		bytes(s.Bytes, s.ID)
		received(s.Bytes, s.ID)
		retries(s.Retried, s.ID)
		for by, n := range s.By {
			code, at, _ := strings.Cut(by, " ")
			host, _, _ := strings.Cut(at, " ")
			failures(n, s.ID, host, code)
		}
	}
}

func (m metrics) hosts(hosts []hostState) {
	slots := m.gauge("slots", "The connections to a host that are in use.", "host", "egress")
	most := m.gauge("cap", "The connections that a host bears.", "host", "egress")
	state := m.gauge("host_state", "1 for the state that a host is in.", "host", "egress", "state")
	since := m.gauge("host_waits_seconds", "For how long a host has been in a state that keeps its files waiting.",
		"host", "egress", "state")
	for _, h := range hosts {
		slots(int64(h.Slots), h.Host, h.Egress)
		most(int64(h.Cap), h.Host, h.Egress)
		for _, one := range hostStates {
			is := int64(0)
			if one == h.State {
				is = 1
			}
			state(is, h.Host, h.Egress, one)
		}
		if !h.Since.IsZero() {
			since(int64(time.Since(h.Since).Seconds()), h.Host, h.Egress, h.State)
		}
	}
}

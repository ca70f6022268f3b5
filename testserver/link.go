package testserver

import (
	"context"
	"errors"
	"sync"
	"time"
)

// link is what [Options] says about the way to the client. All data connections share it.
type link struct {
	latency time.Duration
	rate    int64
	all     *meter // of Bandwidth
	step    int    // bytes to send at once
}

func newLink(o *Options) (*link, error) {
	if o.Latency < 0 || o.Rate < 0 || o.Bandwidth < 0 {
		return nil, errors.New("Options.Latency, Rate and Bandwidth must not be negative")
	}
	l := &link{latency: o.Latency, rate: o.Rate, all: &meter{rate: o.Bandwidth}, step: bufferSize}
	for _, rate := range []int64{o.Rate, o.Bandwidth} {
		if rate > 0 {
			l.step = int(max(1, min(int64(l.step), rate/50))) // in parts of 20 ms
		}
	}
	return l, nil
}

// meter says when bytes have passed a place that lets through so many a second.
type meter struct {
	rate int64 // 0: any number
	mu   sync.Mutex
	free time.Time // when all bytes so far have passed
}

func (m *meter) pass(n int) time.Time {
	if m.rate == 0 {
		return time.Time{}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if now := time.Now(); m.free.Before(now) {
		m.free = now
	}
	m.free = m.free.Add(time.Duration(float64(n) / float64(m.rate) * float64(time.Second)))
	return m.free
}

// pace delays what one data connection sends.
type pace struct {
	*link
	own    *meter // of Rate
	begun  bool
	closed context.Context // over when the connection is closed
	close  context.CancelFunc
}

// pace returns a new pace, or nil if the link delays nothing.
func (l *link) pace() *pace {
	if l.latency == 0 && l.rate == 0 && l.all.rate == 0 {
		return nil
	}
	p := &pace{link: l, own: &meter{rate: l.rate}}
	p.closed, p.close = context.WithCancel(context.Background())
	return p
}

// send sends b in parts, each when it has passed the link.
func (p *pace) send(b []byte, write func([]byte) (int, error)) (sent int, err error) {
	if !p.begun {
		p.begun = true
		p.wait(time.Now().Add(p.latency))
	}
	for err == nil && sent < len(b) {
		part := b[sent:min(len(b), sent+p.step)]
		own, all := p.own.pass(len(part)), p.all.pass(len(part))
		p.wait(own)
		p.wait(all)
		if err = p.closed.Err(); err == nil {
			n := 0
			n, err = write(part)
			sent += n
		}
	}
	return sent, err
}

// wait returns at due, or when the connection is closed.
func (p *pace) wait(due time.Time) {
	if d := time.Until(due); d > 0 {
		select {
		case <-time.After(d):
		case <-p.closed.Done():
		}
	}
}

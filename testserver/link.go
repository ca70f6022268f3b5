package testserver

import (
	"context"
	"errors"
	"time"

	"golang.org/x/time/rate"
)

// link is what [Options] says about the way to the client. All data connections share it.
type link struct {
	latency time.Duration
	rate    int64
	all     *rate.Limiter // Bandwidth; nil means no limit
	step    int           // bytes to send at once
}

func newLink(o *Options) (*link, error) {
	if o.Latency < 0 || o.Rate < 0 || o.Bandwidth < 0 {
		return nil, errors.New("Options.Latency, Rate and Bandwidth must not be negative")
	}
	l := &link{latency: o.Latency, rate: o.Rate, step: bufferSize}
	for _, r := range []int64{o.Rate, o.Bandwidth} {
		if r > 0 {
			l.step = max(1, min(l.step, int(r/50))) // in parts of 20 ms
		}
	}
	if o.Bandwidth > 0 {
		l.all = rate.NewLimiter(rate.Limit(o.Bandwidth), l.step)
	}
	return l, nil
}

// pace delays what one data connection sends.
type pace struct {
	*link
	own    *rate.Limiter // Rate; nil means no limit
	begun  bool
	closed context.Context // over when the connection is closed
	close  context.CancelFunc
}

// pace returns a new pace, or nil if the link delays nothing.
func (l *link) pace() *pace {
	if l.latency == 0 && l.rate == 0 && l.all == nil {
		return nil
	}
	p := &pace{link: l}
	if l.rate > 0 {
		p.own = rate.NewLimiter(rate.Limit(l.rate), l.step)
	}
	p.closed, p.close = context.WithCancel(context.Background())
	return p
}

// wait returns when n bytes, at most step, may be sent.
func (p *pace) wait(n int) error {
	if !p.begun {
		p.begun = true
		select {
		case <-time.After(p.latency):
		case <-p.closed.Done():
		}
	}
	for _, l := range []*rate.Limiter{p.own, p.all} {
		if l == nil {
			continue
		}
		if err := l.WaitN(p.closed, n); err != nil {
			return err
		}
	}
	return p.closed.Err()
}

// send sends b in parts, each when it may be sent.
func (p *pace) send(b []byte, write func([]byte) (int, error)) (sent int, err error) {
	for len(b) > 0 {
		part := b[:min(len(b), p.step)]
		if err = p.wait(len(part)); err != nil {
			return sent, err
		}
		n, err := write(part)
		sent += n
		if err != nil {
			return sent, err
		}
		b = b[n:]
	}
	return sent, nil
}

package ftpexec

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"time"

	"example.com/ftpfetch/urlparse"
)

// waiter is a call that waits for a session.
type waiter struct {
	url   *urlparse.URL
	plan  *Plan         // nil if url is not valid
	ready chan *session // has room for one, so that nobody waits for the waiter
}

// patience is how long an open file of an FS may stay unread before a call that waits may have its connection.
const patience = 50 * time.Millisecond

// maxConns returns how many connections the Client may have to host.
func (c *Client) maxConns(host *server) int {
	most := math.MaxInt
	for _, n := range []int{c.MaxConns, host.most} {
		if n > 0 {
			most = min(most, n)
		}
	}
	return most
}

// take returns a session for u that nobody else uses. If there may be no further one, it waits until the calls before it
// have theirs and one is free. The caller must put it back.
func (c *Client) take(ctx context.Context, u *urlparse.URL) (*session, error) {
	plan, err := NewPlan(u)
	if err != nil {
		plan = nil // the session's methods return err
	}
	w := &waiter{u, plan, make(chan *session, 1)}
	c.pool.mu.Lock()
	host := c.pool.server(u.Address())
	host.waiting = append(host.waiting, w)
	old := c.grant(host)
	c.pool.mu.Unlock()
	c.shut(old...)
	select {
	case s := <-w.ready:
		return s, nil
	default:
		return c.wait(ctx, w)
	}
}

// grant lends sessions to the calls that wait, in their order. It returns sessions to close, so that the calls that
// still wait can have a connection in their place. The caller holds mu.
func (c *Client) grant(host *server) (old []*session) {
	for len(host.waiting) > 0 {
		s := c.lend(host, host.waiting[0].url, host.waiting[0].plan)
		if s == nil {
			break
		}
		host.waiting[0].ready <- s
		host.waiting = host.waiting[1:]
	}
	for len(host.idle) > 0 && host.closing < len(host.waiting) {
		old = append(old, host.retire(host.idle[0]))
	}
	return old
}

// wait waits for the session of w. Meanwhile it asks files that are open but not being read for theirs.
func (c *Client) wait(ctx context.Context, w *waiter) (*session, error) {
	if c.Trace != nil {
		c.Trace(Event{Kind: EventNote, Text: "all connections that the server may have are in use: waiting for one", Server: w.url.Address()})
	}
	again := time.NewTicker(patience)
	defer again.Stop()
	for {
		_ = slices.ContainsFunc(c.unread(w.url.Address()), (*openFile).yield) // the first that does
		select {
		case s := <-w.ready:
			return s, nil
		case <-ctx.Done():
			return nil, c.leave(ctx, w)
		case <-again.C:
		}
	}
}

// leave takes w out of those that wait and returns the error for it. A session that w has got meanwhile goes back.
func (c *Client) leave(ctx context.Context, w *waiter) error {
	c.pool.mu.Lock()
	host := c.pool.server(w.url.Address())
	most := c.maxConns(host)
	if i := slices.Index(host.waiting, w); i >= 0 {
		host.waiting = slices.Delete(host.waiting, i, i+1)
	}
	old := c.grant(host)
	c.pool.mu.Unlock()
	c.shut(old...)
	select {
	case s := <-w.ready:
		c.put(s)
	default:
	}
	return &Error{Stage: StageConnect, Op: "connect", URL: w.url.Redacted(), Err: fmt.Errorf("waiting while all %d connections to the server are in use: %w", most, context.Cause(ctx))}
}

// unread returns the open files that hold a connection, the one that has not been read for the longest time first. It
// leaves out those that have been read within patience: they will probably be read again, and end.
func (c *Client) unread(address string) (files []*openFile) {
	c.pool.mu.Lock()
	defer c.pool.mu.Unlock()
	read := c.pool.server(address).files
	for f, at := range read {
		if time.Since(at) >= patience {
			files = append(files, f)
		}
	}
	slices.SortFunc(files, func(a, b *openFile) int { return read[a].Compare(read[b]) })
	return files
}

// holds notes that f holds a connection, which it may have to give up, and has just been read.
func (p *pool) holds(f *openFile) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server(f.url.Address()).files[f] = time.Now()
}

// freed notes that f holds no connection any more.
func (p *pool) freed(f *openFile) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.server(f.url.Address()).files, f)
	p.forget(f.url.Address())
}

// settling is how long a server may still count a connection that has been closed.
const settling = time.Second

// uncrowded calls op. If the server has too many connections, and this Client has some of them, it learns how many the
// server bears and calls op again, which waits for one of them.
func (c *Client) uncrowded(ctx context.Context, u *urlparse.URL, op func() error) error {
	c.pool.keep(u, 1)
	defer c.pool.keep(u, -1)
	for {
		err := op()
		e := (*Error)(nil)
		if !errors.As(err, &e) || !e.Crowded() || e.Stage > StageLogin || ctx.Err() != nil {
			return err
		}
		switch settles, others := c.pool.crowded(u); {
		case settles:
			sleep(ctx, settling/10)
		case others == 0:
			return err
		}
	}
}

// crowded learns from a server that has refused a connection how many it bears: as many as there are, others. It learns
// nothing while the server may still count one that has been closed.
func (p *pool) crowded(u *urlparse.URL) (settles bool, others int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	host := p.server(u.Address())
	settles, others = time.Since(host.shut) < settling, host.count()
	if !settles && (host.most == 0 || others < host.most) {
		host.most = others
	}
	return settles, others
}

// outlasts waits, and returns true, if the server has refused the session's connection while it may still count one that
// the Session or its Client has closed.
func (s *session) outlasts(ctx context.Context, e *Error) bool {
	if !e.Crowded() || e.Stage > StageLogin || ctx.Err() != nil {
		return false
	}
	shut := s.shut
	if p := &s.client.pool; s.lent {
		p.mu.Lock()
		if last := p.server(s.address).shut; last.After(shut) {
			shut = last
		}
		p.mu.Unlock()
	}
	settles := time.Since(shut) < settling
	if settles {
		s.conn.Note("the server may still count a connection that has been closed: trying again")
		sleep(ctx, settling/(maxTries-1))
	}
	return settles && ctx.Err() == nil
}

// keep adds n to the calls for whose sake the pool remembers u's server although there may be no session.
func (p *pool) keep(u *urlparse.URL, n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.server(u.Address()).kept += n
	p.forget(u.Address())
}

// sleep waits for d or the end of ctx.
func sleep(ctx context.Context, d time.Duration) {
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-ctx.Done()
}

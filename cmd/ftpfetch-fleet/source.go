package main

import (
	"context"
	"errors"
	"iter"
	"sync/atomic"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

// source is the Client of a lane. It records when a server has too many connections. It embeds nothing, so no method
// escapes that.
type source struct {
	lease *lease
	end   context.CancelCauseFunc   // ends the try
	made  atomic.Pointer[time.Time] // of the file that is being retrieved, on the server
}

var _ download.FullSource = (*source)(nil)

func (o *source) Do(ctx context.Context, req *ftpexec.Request) (r *ftpexec.Response, err error) {
	err = o.ask(ctx, req.URL, func() (err error) {
		if r, err = o.lease.client.Do(ctx, req); err == nil {
			o.made.Store(&r.ModTime)
		}
		return err
	})
	return r, err
}

func (o *source) Stat(ctx context.Context, u *urlparse.URL) (e ftpexec.Entry, err error) {
	err = o.ask(ctx, u, func() (err error) {
		e, err = o.lease.client.Stat(ctx, u)
		return err
	})
	return e, err
}

func (o *source) Hash(
	ctx context.Context, u *urlparse.URL, algorithm string,
) (sum []byte, err error) {
	err = o.ask(ctx, u, func() (err error) {
		sum, err = o.lease.client.Hash(ctx, u, algorithm)
		return err
	})
	return sum, err
}

// ask makes a request once the host may be asked.
func (o *source) ask(ctx context.Context, u *urlparse.URL, request func() error) error {
	v, err := o.lease.w.enter(ctx, u)
	if err != nil {
		return err
	}
	o.lease.visit.Store(v)
	err = request()
	v.ended(err)
	return o.judge(ctx, u, err)
}

func (o *source) List(ctx context.Context, u *urlparse.URL) iter.Seq2[ftpexec.Entry, error] {
	return o.listing(ctx, u, o.lease.client.List(ctx, u))
}

func (o *source) Entries(ctx context.Context, u *urlparse.URL) iter.Seq2[ftpexec.Entry, error] {
	return o.listing(ctx, u, o.lease.client.Entries(ctx, u))
}

func (o *source) EntriesEarly(
	ctx context.Context, u *urlparse.URL, entry func(ftpexec.Entry), login func(dir string),
) iter.Seq2[ftpexec.Entry, error] {
	return o.listing(ctx, u, o.lease.client.EntriesEarly(ctx, u, entry, login))
}

// StatAll asks about files of one login, as download.Run does.
func (o *source) StatAll(ctx context.Context, urls []*urlparse.URL) iter.Seq2[ftpexec.Entry, error] {
	if len(urls) == 0 {
		return func(func(ftpexec.Entry, error) bool) {}
	}
	return o.listing(ctx, urls[0], o.lease.client.StatAll(ctx, urls))
}

// listing yields what all yields once the host may be asked.
func (o *source) listing(
	ctx context.Context, u *urlparse.URL, all iter.Seq2[ftpexec.Entry, error],
) iter.Seq2[ftpexec.Entry, error] {
	return func(yield func(ftpexec.Entry, error) bool) {
		v, err := o.lease.w.enter(ctx, u)
		if err != nil {
			yield(ftpexec.Entry{}, err)
			return
		}
		o.lease.visit.Store(v)
		defer v.leave()
		for e, err := range all {
			v.ended(err)
			if !yield(e, o.judge(ctx, u, err)) {
				return
			}
		}
	}
}

// CloseIdleConnections returns the slots of idle connections, except the lane's own.
func (o *source) CloseIdleConnections() { o.lease.client.CloseIdleConnections() }

// judge lowers the ceiling of a server that is full. If it is the lane's own host, the try ends, and the slot is
// released first.
func (o *source) judge(ctx context.Context, u *urlparse.URL, err error) error {
	host := hostKey(u.Address())
	if errors.Is(err, ftpexec.ErrTooMany) {
		o.lease.w.gates.refuses(host, err)
	}
	switch {
	case !errors.Is(err, ftpexec.ErrTooMany):
	case host == o.lease.host:
		o.end(errFull)
	default:
		o.lease.w.lower(ctx, host)
	}
	return err
}

package gateway

import (
	"context"
	"iter"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/urlparse"
)

// FTP is what reaches servers by FTP: an [*ftpexec.Client] or an [*ftpexec.Session].
type FTP interface {
	Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error)
	Stat(ctx context.Context, u *urlparse.URL) (ftpexec.Entry, error)
	StatAll(ctx context.Context, urls []*urlparse.URL) iter.Seq2[ftpexec.Entry, error]
	Hash(ctx context.Context, u *urlparse.URL, algorithm string) ([]byte, error)
	List(ctx context.Context, u *urlparse.URL) iter.Seq2[ftpexec.Entry, error]
	Entries(ctx context.Context, u *urlparse.URL) iter.Seq2[ftpexec.Entry, error]
}

// Source retrieves files by FTP, or by GET from proxies that allow nothing else.
type Source struct {
	ftp     FTP
	gateway *Gateway
}

// Over returns a Source that asks ftp for everything that does not go by GET.
func (g *Gateway) Over(ftp FTP) *Source { return &Source{ftp, g} }

// try calls ftp, or get with the gate if u is to go by GET.
func try[T any](s *Source, u *urlparse.URL, ftp func() (T, error), get func(*gate) (T, error)) (T, error) {
	g := s.gateway.gate(u)
	if g == nil {
		return ftp()
	}
	if !g.byGet() {
		v, err := ftp()
		if !g.learn(u, err) {
			return v, err
		}
	}
	var none T
	if err := g.unfit(u); err != nil {
		return none, err
	}
	v, err := get(g)
	if err != nil {
		return none, g.explain(err)
	}
	return v, nil
}

// Do is as [ftpexec.Client.Do]. By GET it fails with [ftpexec.ErrNoRestart] if the proxy does not begin at
// the offset, or is one of those that say so and skip more.
func (s *Source) Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error) {
	return try(s, req.URL,
		func() (*ftpexec.Response, error) { return s.ftp.Do(ctx, req) },
		func(g *gate) (*ftpexec.Response, error) { return g.open(ctx, req.URL, req.Offset) })
}

// Stat is as [ftpexec.Client.Stat]. By GET, a file that is not there is an error.
func (s *Source) Stat(ctx context.Context, u *urlparse.URL) (ftpexec.Entry, error) {
	return try(s, u,
		func() (ftpexec.Entry, error) { return s.ftp.Stat(ctx, u) },
		func(g *gate) (ftpexec.Entry, error) { return g.stat(ctx, u) })
}

// Hash is as [ftpexec.Client.Hash]. No proxy offers digests.
func (s *Source) Hash(ctx context.Context, u *urlparse.URL, algorithm string) ([]byte, error) {
	return try(s, u,
		func() ([]byte, error) { return s.ftp.Hash(ctx, u, algorithm) },
		func(g *gate) ([]byte, error) { return nil, g.failure(ctx, u, ftpexec.StageOther, ftpexec.ErrNoHash) })
}

// StatAll is as [ftpexec.Client.StatAll].
func (s *Source) StatAll(ctx context.Context, urls []*urlparse.URL) iter.Seq2[ftpexec.Entry, error] {
	return func(yield func(ftpexec.Entry, error) bool) {
		var g *gate
		if len(urls) > 0 {
			g = s.gateway.gate(urls[0])
		}
		if g == nil || !g.byGet() {
			n := 0
			for info, err := range s.ftp.StatAll(ctx, urls) {
				if g != nil && g.learn(urls[0], err) {
					break
				}
				if n++; !yield(info, err) {
					return
				}
			}
			urls = urls[n:]
		}
		if g == nil || !g.byGet() {
			return
		}
		for _, u := range urls {
			info, err := s.Stat(ctx, u)
			if !yield(info, err) || ctx.Err() != nil {
				return
			}
		}
	}
}

// List is as [ftpexec.Client.List]. It does not go by GET.
func (s *Source) List(ctx context.Context, u *urlparse.URL) iter.Seq2[ftpexec.Entry, error] {
	return s.listing(u, s.ftp.List(ctx, u))
}

// Entries is as [ftpexec.Client.Entries]. It does not go by GET.
func (s *Source) Entries(ctx context.Context, u *urlparse.URL) iter.Seq2[ftpexec.Entry, error] {
	return s.listing(u, s.ftp.Entries(ctx, u))
}

// listing is a listing by FTP. It is not tried if the proxy is known to refuse CONNECT.
func (s *Source) listing(u *urlparse.URL, entries iter.Seq2[ftpexec.Entry, error]) iter.Seq2[ftpexec.Entry, error] {
	g := s.gateway.gate(u)
	if g == nil {
		return entries
	}
	return func(yield func(ftpexec.Entry, error) bool) {
		if !g.byGet() {
			for e, err := range entries {
				if g.learn(u, err) {
					break
				}
				if !yield(e, err) {
					return
				}
			}
		}
		if g.byGet() {
			yield(ftpexec.Entry{}, g.cannot(u, "open", ErrFilesOnly, "write the URL of a file: listings do not go by GET"))
		}
	}
}

// CloseIdleConnections closes the connections to servers and proxies that are not in use.
func (s *Source) CloseIdleConnections() {
	if ftp, ok := s.ftp.(interface{ CloseIdleConnections() }); ok {
		ftp.CloseIdleConnections()
	}
	s.gateway.CloseIdleConnections()
}

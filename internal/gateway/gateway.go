// Package gateway retrieves files through HTTP proxies that speak FTP themselves: it sends GET with the URL of the
// file (RFC 9112 section 3.2.2), and the proxy logs in to the server. Many sites allow nothing else.
//
// The proxy decides which FTP commands it sends, so the path and the type are not as certain as with FTP. A file is
// complete by its Content-Length or the end of its chunks; a page that the proxy wrote is not taken for a file.
package gateway

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/proxy"
	"example.com/ftpfetch/urlparse"
)

// Errors for what cannot go by GET. They are in the chain of an [*ftpexec.Error].
var (
	// ErrFilesOnly means a URL for which a proxy that fetches files itself is no use.
	ErrFilesOnly = errors.New("the proxy fetches only files, as they are")
	// ErrWithheld means that the proxy would have to be given the password, which only Source.Always allows.
	ErrWithheld = errors.New("the proxy may fetch the file itself, but would need the user and password for the server")
)

// Source retrieves files as its Client does, until the HTTP proxy Via refuses CONNECT to a server; from then on it asks
// Via for the files. With TryTLS, which no GET could honour, it does not. Listings never go by GET. The fields must not
// be changed after first use.
type Source struct {
	*ftpexec.Client                // reaches servers through Via; its timeouts, Credentials and Trace hold for GET too
	Via             *proxy.Proxy   // an HTTP proxy
	Always          bool           // send GET at once, and give Via the passwords for servers
	Forward         proxy.DialFunc // opens connections to Via; nil means a net.Dialer
	Notice          func()         // called, if not nil, when Via serves its first file

	init, noticed sync.Once
	http          *http.Transport
	refusal       atomic.Pointer[proxy.Error] // of CONNECT; nil if there was none
	sent          atomic.Int64                // requests
}

// try calls get if u is to go by GET, and else ftp.
func try[T any](s *Source, u *urlparse.URL, ftp, get func() (T, error)) (v T, err error) {
	if !s.mayGet(u) {
		return ftp()
	}
	if !s.byGet() {
		if v, err = ftp(); !s.learn(u, err) {
			return v, err
		}
	}
	if err = s.unfit(u); err != nil {
		return v, err
	}
	v, err = get()
	return v, s.explain(u, err)
}

// Do is as [ftpexec.Client.Do]. By GET it always fails with [ftpexec.ErrNoRestart] if there is an offset: squid answers
// with the right header, and then passes over the offset twice.
func (s *Source) Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error) {
	return try(s, req.URL,
		func() (*ftpexec.Response, error) { return s.Client.Do(ctx, req) },
		func() (*ftpexec.Response, error) {
			if req.Offset != 0 {
				return nil, fail(ctx, req.URL, ftpexec.StageTransfer, ftpexec.ErrNoRestart)
			}
			return s.request(ctx, http.MethodGet, req.URL)
		})
}

// Stat is as [ftpexec.Client.Stat]. By GET, a file that is not there is an error.
func (s *Source) Stat(ctx context.Context, u *urlparse.URL) (ftpexec.Entry, error) {
	return try(s, u,
		func() (ftpexec.Entry, error) { return s.Client.Stat(ctx, u) },
		func() (ftpexec.Entry, error) {
			r, err := s.request(ctx, http.MethodHead, u)
			if errors.Is(err, proxy.ErrRefused) || err == nil && r.Size < 0 && r.ModTime.IsZero() { // perhaps it has not looked
				r, err = s.request(ctx, http.MethodGet, u)
			}
			if err != nil {
				return ftpexec.Entry{}, err
			}
			r.Body.Close()
			return ftpexec.Entry{Name: u.Name, Base: u.Name, URL: u, Size: r.Size, ModTime: r.ModTime}, nil
		})
}

// Hash is as [ftpexec.Client.Hash]. No proxy offers digests.
func (s *Source) Hash(ctx context.Context, u *urlparse.URL, algorithm string) ([]byte, error) {
	return try(s, u,
		func() ([]byte, error) { return s.Client.Hash(ctx, u, algorithm) },
		func() ([]byte, error) { return nil, fail(ctx, u, ftpexec.StageOther, ftpexec.ErrNoHash) })
}

// StatAll is as [ftpexec.Client.StatAll].
func (s *Source) StatAll(ctx context.Context, urls []*urlparse.URL) iter.Seq2[ftpexec.Entry, error] {
	return func(yield func(ftpexec.Entry, error) bool) {
		get := len(urls) > 0 && s.mayGet(urls[0]) && s.byGet()
		if !get {
			for info, err := range s.Client.StatAll(ctx, urls) {
				if get = s.mayGet(urls[0]) && s.learn(urls[0], err); get {
					break
				}
				if urls = urls[1:]; !yield(info, err) {
					return
				}
			}
		}
		for _, u := range urls {
			if !get || ctx.Err() != nil {
				return
			}
			get = yield(s.Stat(ctx, u))
		}
	}
}

// mayGet reports whether u may go by GET at all.
func (s *Source) mayGet(u *urlparse.URL) bool {
	return u.Scheme == urlparse.FTP && !s.TryTLS && s.Via.For(u.Address())
}

// byGet reports whether files go by GET without trying FTP first.
func (s *Source) byGet() bool { return s.Always || s.refusal.Load() != nil }

// learn reports whether err, for u, means that the proxy refuses CONNECT but may fetch files itself, and remembers it.
func (s *Source) learn(u *urlparse.URL, err error) bool {
	e, ok := errors.AsType[*proxy.Error](err)
	if !ok || e.Status != http.StatusForbidden && e.Status != http.StatusMethodNotAllowed {
		return false
	}
	if s.refusal.Swap(e) == nil {
		s.trace(u, ftpexec.EventNote, 0, e.Error()+": asking it to fetch files itself")
	}
	return true
}

// anonymous reports whether u's login is anonymous. Proxies then use a password of their own.
func anonymous(u *urlparse.URL) bool {
	return !u.User.Set || u.User.Value == "anonymous" || u.User.Value == "ftp"
}

// unfit says why u cannot go by GET, or nil. If the proxy refused CONNECT, that is the cause.
func (s *Source) unfit(u *urlparse.URL) error {
	e := &ftpexec.Error{Op: "open", URL: u.Redacted(), Err: ErrFilesOnly}
	switch {
	case u.IsDir():
		e.Hint = "write the URL of a file: listings do not go by GET"
	case u.Type == urlparse.TypeASCII:
		e.Hint = "leave out ;type=a"
	case slices.Contains(u.Dirs, ""):
		e.Hint = "proxies pass over an empty segment; write %2F for the root"
	case !s.Always && !anonymous(u):
		e.Err = ErrWithheld
	default:
		return nil
	}
	if refusal := s.refusal.Load(); refusal != nil {
		e.Stage, e.Op, e.Err = ftpexec.StageConnect, "connect", fmt.Errorf("%w; %w", refusal, e.Err)
	}
	return e
}

// explain adds the refusal of CONNECT to an answer that may mean that the proxy fetches no files itself. If it means
// nothing else, the refusal is the cause. Otherwise it is as if the server had not been reached: tinyproxy, which knows
// no FTP, answers with 500 or 503, or not at all.
func (s *Source) explain(u *urlparse.URL, err error) error {
	answer, ok := errors.AsType[*proxy.Error](err)
	refusal := s.refusal.Load()
	if !ok || refusal == nil {
		return err
	}
	told := *answer
	switch told.Reason = refusal.Reason + "; " + answer.Reason; {
	case answer.Status == http.StatusForbidden:
		told.Err = proxy.ErrRefused
	case answer.Status != 0 && answer.Status/100 != 5 && !errors.Is(err, proxy.ErrRefused):
		return err
	}
	return &ftpexec.Error{Stage: ftpexec.StageConnect, Op: "connect", URL: u.Redacted(), Err: &told}
}

// Package gateway retrieves files through HTTP proxies that speak FTP themselves: it sends GET with the URL of the
// file (RFC 9112 section 3.2.2), and the proxy logs in to the server. Many sites allow nothing else.
//
// The proxy chooses the FTP commands that it sends, so path and type are less certain than with FTP. The Content-Length
// or the last chunk shows that a file is complete. A page that the proxy generated does not count as a file.
package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"example.com/ftpfetch/download"
	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/network/proxy"
	"example.com/ftpfetch/urlparse"
)

// These are the errors for requests that cannot use GET. An [*ftpexec.Error] wraps them.
var (
	// ErrFilesOnly means that a proxy that fetches files itself cannot serve the URL.
	ErrFilesOnly = errors.New("the proxy fetches only files, as they are: " +
		"write the URL of a file, without ;type=a, and %2F for the root")
	// ErrWithheld means that the proxy would need the password for the server, which only Source.Always lets it have.
	ErrWithheld = errors.New("the proxy may fetch the file itself, " +
		"but would need the user and password for the server")
)

// Source retrieves files as its Client does, until its HTTP proxy refuses CONNECT to a server. From then on it requests
// the files from the proxy by GET. It never uses GET with TryTLS, because the proxy could not use TLS to the server,
// nor for listings. The exported fields must not be changed after first use.
type Source struct {
	// Client connects to servers through the proxy. Its Timeout, Credentials and Trace apply to GET too.
	*ftpexec.Client
	Always bool   // use GET at once, and give the proxy the passwords for servers
	Notice func() // called, if not nil, when the proxy serves its first file

	via     *proxy.Proxy
	http    *http.Transport             // follows no redirect and decodes no body
	refusal atomic.Pointer[proxy.Error] // the refusal of CONNECT; nil if there was none
	noticed sync.Once
	sizes   sizes
}

var _ download.FullSource = (*Source)(nil)

// New returns a Source for an HTTP proxy. forward connects to the proxy; nil means a net.Dialer.
func New(c *ftpexec.Client, via *proxy.Proxy, forward proxy.DialFunc) *Source {
	return &Source{Client: c, via: via, http: &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, cmp.Or(c.ConnectTimeout, ftpexec.DefaultConnectTimeout))
			defer cancel()
			conn, err := via.Reach(ctx, forward, "tcp")
			if err != nil {
				return nil, err
			}
			return watch(conn), nil
		},
		DisableCompression:     true,
		ResponseHeaderTimeout:  cmp.Or(c.Timeout, ftpexec.DefaultTimeout),
		MaxResponseHeaderBytes: proxy.MaxHeader,
		MaxIdleConnsPerHost:    64,
		IdleConnTimeout:        time.Minute,
	}}
}

// try calls get if s uses GET for u. Otherwise it calls ftp, and then get if the proxy refused CONNECT.
func try[T any](
	ctx context.Context, s *Source, u *urlparse.URL, ftp, get func() (T, error),
) (v T, err error) {
	if !s.byGet(u) {
		if v, err = ftp(); !s.learn(u, err) {
			return v, err
		}
	}
	switch {
	case !isPlainFile(u):
		return v, s.fail(ctx, u, "", ErrFilesOnly)
	case !s.Always && !anonymous(u):
		return v, s.fail(ctx, u, "", ErrWithheld)
	}
	return get()
}

// isPlainFile reports whether a proxy can fetch the file that u names unchanged. Proxies ignore empty segments, so
// there must be none.
func isPlainFile(u *urlparse.URL) bool {
	return !u.IsDir() && u.Type != urlparse.TypeASCII && !slices.Contains(u.Dirs, "")
}

// Do is like [ftpexec.Client.Do]. By GET, an offset is always [ftpexec.ErrNoRestart], because squid answers with the
// right header but skips the offset twice.
func (s *Source) Do(ctx context.Context, req *ftpexec.Request) (*ftpexec.Response, error) {
	if req == nil {
		return s.Client.Do(ctx, req)
	}
	return try(ctx, s, req.URL, func() (*ftpexec.Response, error) { return s.Client.Do(ctx, req) },
		func() (*ftpexec.Response, error) {
			if req.Offset != 0 {
				return nil, s.fail(ctx, req.URL, ftpexec.StageTransfer, ftpexec.ErrNoRestart)
			}
			return s.request(ctx, http.MethodGet, req.URL)
		})
}

// Stat is like [ftpexec.Client.Stat]. By GET, a missing file is an error.
func (s *Source) Stat(ctx context.Context, u *urlparse.URL) (ftpexec.Entry, error) {
	return try(ctx, s, u, func() (ftpexec.Entry, error) { return s.Client.Stat(ctx, u) },
		func() (ftpexec.Entry, error) { return s.stat(ctx, u) })
}

// stat is Stat by HEAD. It uses GET if the proxy refuses HEAD, or answers with neither size nor time.
func (s *Source) stat(ctx context.Context, u *urlparse.URL) (ftpexec.Entry, error) {
	r, err := s.request(ctx, http.MethodHead, u)
	if err == nil {
		r.Body.Close()
	}
	if errors.Is(err, proxy.ErrRefused) || err == nil && r.Size < 0 && r.ModTime.IsZero() {
		r, err = s.request(ctx, http.MethodGet, u)
	}
	if err != nil {
		return ftpexec.Entry{}, err
	}
	r.Body.Close()
	s.sizes.keep(u, r.Size)
	return ftpexec.Entry{Name: u.Name, URL: u, Size: r.Size, ModTime: r.ModTime}, nil
}

var errNoDigest = fmt.Errorf("no digest from the server%.0w", errors.ErrUnsupported)

// Hash is like [ftpexec.Client.Hash]. By GET it always fails, because proxies offer no digests.
func (s *Source) Hash(ctx context.Context, u *urlparse.URL, algorithm string) ([]byte, error) {
	return try(ctx, s, u, func() ([]byte, error) { return s.Client.Hash(ctx, u, algorithm) },
		func() ([]byte, error) {
			return nil, s.fail(ctx, u, "", errNoDigest)
		})
}

// StatAll is like [ftpexec.Client.StatAll].
func (s *Source) StatAll(
	ctx context.Context, urls []*urlparse.URL,
) iter.Seq2[ftpexec.Entry, error] {
	return func(yield func(ftpexec.Entry, error) bool) {
		rest := urls
		if len(rest) > 0 && !s.byGet(rest[0]) {
			for e, err := range s.Client.StatAll(ctx, urls) {
				if s.learn(rest[0], err) {
					break
				}
				rest = rest[1:]
				if !yield(e, err) {
					return
				}
			}
		}
		for _, u := range rest {
			if !s.byGet(urls[0]) { // an error of FTP ended StatAll
				return
			}
			e, err := s.statAs(ctx, urls[0], u)
			if !yield(e, err) || err != nil && ctx.Err() != nil {
				return
			}
		}
	}
}

// statAs is Stat, but fails if u does not have the server and login of first.
func (s *Source) statAs(ctx context.Context, first, u *urlparse.URL) (ftpexec.Entry, error) {
	if u == nil || !first.SameLogin(u) {
		return ftpexec.Entry{}, s.fail(ctx, u, "", errOther)
	}
	return s.Stat(ctx, u)
}

var errOther = errors.New("the URL names another server or login than the first one")

func (s *Source) mayGet(u *urlparse.URL) bool {
	return u != nil && u.Scheme == "ftp" && !s.TryTLS && s.via.For(u.Address())
}

func (s *Source) byGet(u *urlparse.URL) bool {
	return s.mayGet(u) && (s.Always || s.refusal.Load() != nil)
}

// learn reports whether err, for u, means that the proxy refuses CONNECT but may fetch files itself. If so, it
// remembers the refusal.
func (s *Source) learn(u *urlparse.URL, err error) bool {
	e, ok := errors.AsType[*proxy.Error](err)
	if !ok || e.Status != http.StatusForbidden && e.Status != http.StatusMethodNotAllowed {
		return false
	}
	if !s.mayGet(u) {
		return false
	}
	if s.refusal.Swap(e) == nil && s.Trace != nil && s.Trace.Note != nil {
		s.Trace.Note(ftpexec.NoteInfo{Text: e.Error() + ": asking it to fetch files itself"})
	}
	return true
}

// anonymous reports whether u's login is anonymous. Proxies then use a password of their own.
func anonymous(u *urlparse.URL) bool {
	return u.User == nil || u.User.Username() == "anonymous" || u.User.Username() == "ftp"
}

// CloseIdleConnections closes the connections to servers and to the proxy that are not in use.
func (s *Source) CloseIdleConnections() {
	s.Client.CloseIdleConnections()
	s.http.CloseIdleConnections()
}

// request sends a request for the file that u names. The caller must close the Body. Until the Body is closed or read
// to its end, the proxy may have a connection to the server, so Client.Admit counts one.
func (s *Source) request(
	ctx context.Context, method string, u *urlparse.URL,
) (*ftpexec.Response, error) {
	leave := func() {}
	if s.Admit != nil {
		var err error
		if leave, err = s.Admit(ctx, u.Address()); err != nil {
			return nil, s.fail(ctx, u, ftpexec.StageConnect, err)
		}
	}
	r, err := s.send(ctx, method, u, sync.OnceFunc(leave))
	if err != nil {
		leave()
	}
	return r, err
}

// newRequest returns a request for the file that u names, without a login for the server.
func (s *Source) newRequest(method string, u *urlparse.URL) *http.Request {
	// Without a type, proxies choose one by the name. squid fetches names such as "x.txt" in ASCII type, which changes
	// bytes.
	v := *u
	v.User = nil
	v.Type = urlparse.TypeImage
	target := v.String()
	host, _, _ := strings.Cut(strings.TrimPrefix(target, "ftp://"), "/")
	r := &http.Request{
		Method: method,
		// The transport writes Opaque unchanged. DialContext starts TLS, so the scheme is always http.
		URL:    &url.URL{Scheme: "http", Host: "proxy", Opaque: target},
		Host:   host,
		Header: s.via.Header(),
	}
	// A copy in the proxy's cache may be older than the server's file.
	r.Header.Set("Cache-Control", "no-cache")
	return r
}

// send sends a request and judges the answer. The Body calls leave at its end.
func (s *Source) send(
	ctx context.Context, method string, u *urlparse.URL, leave func(),
) (*ftpexec.Response, error) {
	r := s.newRequest(method, u)
	if err := s.authorize(ctx, r, u); err != nil {
		return nil, s.fail(ctx, u, ftpexec.StageLogin, err)
	}
	s.sent(ftpexec.CommandInfo{Verb: method, Text: method + " " + r.URL.Opaque})
	if r.Header.Get("Authorization") != "" {
		s.sent(ftpexec.CommandInfo{Verb: "Authorization:", Text: "Authorization: ********", Joined: true})
	}
	var conn *watched
	var seen *answer
	trace := httptrace.ClientTrace{
		GotConn:              func(got httptrace.GotConnInfo) { conn = got.Conn.(*watched) },
		GotFirstResponseByte: func() { seen = conn.answer.Load() }, // later, another request may use the connection
	}
	a, err := s.http.RoundTrip(r.WithContext(httptrace.WithClientTrace(ctx, &trace)))
	if err != nil {
		return nil, s.unanswered(ctx, u, err)
	}
	s.received(a.StatusCode)
	if v := judge(a); v.meaning != nil {
		a.Body.Close()
		return nil, s.fail(ctx, u, v.stage, s.via.Refusal(a.StatusCode, v.reason, v.meaning))
	}
	if method == http.MethodGet && s.Notice != nil {
		s.noticed.Do(s.Notice)
	}
	t, _ := http.ParseTime(a.Header.Get("Last-Modified")) // zero if missing
	return &ftpexec.Response{
		Body: &body{
			ReadCloser: a.Body, source: s, ctx: ctx, url: u, leave: leave,
			seen: seen, chunked: a.ContentLength < 0,
		},
		Size:    a.ContentLength,
		ModTime: t.UTC(),
	}, nil
}

// authorize adds the login for the server, unless it is anonymous. It does not put the login into the URL, because
// proxies log URLs.
func (s *Source) authorize(ctx context.Context, r *http.Request, u *urlparse.URL) (err error) {
	user := u.User.Username()
	password, ok := u.User.Password()
	switch {
	case anonymous(u):
		return nil
	case strings.Contains(user, ":"):
		return fmt.Errorf("%w: HTTP takes no user with a colon", ftpexec.ErrLogin)
	case !ok && s.Credentials == nil:
		return ftpexec.ErrNoCredentials
	case !ok:
		password, err = s.Credentials(ctx, u.Host, user, "password")
	}
	r.SetBasicAuth(user, password)
	return err
}

// sent traces a line of a request.
func (s *Source) sent(line ftpexec.CommandInfo) {
	if s.Trace != nil && s.Trace.Command != nil {
		s.Trace.Command(line)
	}
}

// received traces an answer, without text from the proxy.
func (s *Source) received(status int) {
	if s.Trace != nil && s.Trace.Reply != nil {
		line := strings.TrimSpace(fmt.Sprintf("HTTP %d %s", status, http.StatusText(status)))
		s.Trace.Reply(ftpexec.ReplyInfo{Code: status, Lines: []string{line}})
	}
}

// fail returns err as an *ftpexec.Error of a request for u. If ctx has ended, its cause replaces err. If the proxy
// refused CONNECT, and its answer to GET may mean that it does not speak FTP, the error says that the server was not
// reached. tinyproxy, which does not speak FTP, answers with 500 or 503, or not at all.
func (s *Source) fail(ctx context.Context, u *urlparse.URL, stage ftpexec.Stage, err error) error {
	e := &ftpexec.Error{Stage: stage, Op: "GET", Err: err}
	if u != nil {
		e.URL = u.Redacted()
	}
	refusal := s.refusal.Load()
	answer, ok := errors.AsType[*proxy.Error](err)
	switch {
	case ctx.Err() != nil:
		e.Err = context.Cause(ctx)
	case refusal == nil:
	case errors.Is(err, ErrFilesOnly), errors.Is(err, ErrWithheld):
		e.Stage = ftpexec.StageConnect
		e.Op = "connect"
		e.Err = fmt.Errorf("%w; %w", refusal, err)
	case ok && knowsNoFTP(answer):
		both := *answer
		both.Reason = refusal.Reason + "; " + answer.Reason
		if answer.Status == 403 {
			both.Err = proxy.ErrRefused
		}
		e.Stage = ftpexec.StageConnect
		e.Op = "connect"
		e.Err = &both
	}
	return e
}

// knowsNoFTP reports whether an answer to GET may mean that the proxy does not speak FTP.
func knowsNoFTP(answer *proxy.Error) bool {
	return answer.Status == 0 || answer.Status == 403 || answer.Status/100 == 5 ||
		errors.Is(answer, proxy.ErrRefused)
}

// unanswered returns the error for a request without an answer. It does not show err, which may quote the proxy.
func (s *Source) unanswered(ctx context.Context, u *urlparse.URL, err error) error {
	known, _ := errors.AsType[*proxy.Error](err)
	op, _ := errors.AsType[*net.OpError](err)
	wait, _ := errors.AsType[net.Error](err)
	switch {
	case known != nil:
		err = known
	case wait != nil && wait.Timeout():
		err = s.via.Refusal(0, "no answer in time", ftpexec.ErrTimeout)
	case op != nil && op.Op == "dial":
		err = fmt.Errorf("%w: %w", ftpexec.ErrConnect, op)
	case op != nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = s.via.Refusal(0, "no answer: the connection was closed", ftpexec.ErrLost)
	default:
		err = s.via.Refusal(0, "its answer is not HTTP", proxy.ErrRefused)
	}
	return s.fail(ctx, u, ftpexec.StageConnect, err)
}

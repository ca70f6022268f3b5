package gateway

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"path"
	"strings"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/pace"
	"example.com/ftpfetch/internal/proxy"
	"example.com/ftpfetch/urlparse"
)

// start makes the transport, which follows no redirect and decodes no body.
func (s *Source) start() {
	s.http = &http.Transport{
		DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, cmp.Or(s.ConnectTimeout, ftpexec.DefaultConnectTimeout))
			defer cancel()
			return s.Via.Reach(ctx, s.Forward, "tcp")
		},
		DisableCompression: true, ResponseHeaderTimeout: cmp.Or(s.Timeout, ftpexec.DefaultTimeout),
		MaxResponseHeaderBytes: proxy.MaxHeader, MaxIdleConnsPerHost: 64, IdleConnTimeout: time.Minute,
	}
}

// CloseIdleConnections closes the connections to servers and to the proxy that are not in use.
func (s *Source) CloseIdleConnections() {
	s.Client.CloseIdleConnections()
	s.init.Do(s.start)
	s.http.CloseIdleConnections()
}

// request sends a request for the file that u names. The caller must close the Body.
func (s *Source) request(ctx context.Context, method string, u *urlparse.URL) (*ftpexec.Response, error) {
	s.init.Do(s.start)
	// Proxies choose a type by the name otherwise: squid fetches names such as "x.txt" in ASCII type, which changes bytes.
	v := *u
	v.User, v.Password, v.Type = urlparse.Text{}, urlparse.Text{}, urlparse.TypeImage
	target := v.String()
	host, _, _ := strings.Cut(strings.TrimPrefix(target, "ftp://"), "/")
	// The transport writes Opaque as it is. DialContext sees to TLS, so the scheme is always http.
	r := &http.Request{Method: method, URL: &url.URL{Scheme: "http", Host: "proxy", Opaque: target}, Host: host, Header: s.Via.Header()}
	r.Header.Set("Cache-Control", "no-cache") // a copy in the proxy's cache is not what the server has now
	if err := s.authorize(ctx, r, u); err != nil {
		return nil, fail(ctx, u, ftpexec.StageLogin, err)
	}
	flight := int(s.sent.Add(1))
	s.trace(u, ftpexec.EventCommand, flight, method+" "+target)
	for _, name := range []string{"Authorization", "Proxy-Authorization"} {
		if r.Header.Get(name) != "" {
			s.trace(u, ftpexec.EventCommand, flight, name+": ********")
		}
	}
	inner, cancel := context.WithCancel(ctx)
	a, err := s.http.RoundTrip(r.WithContext(inner))
	if err != nil {
		cancel()
		return nil, s.unanswered(ctx, u, err)
	}
	s.trace(u, ftpexec.EventReply, 0, strings.TrimSpace(fmt.Sprintf("HTTP %d %s", a.StatusCode, http.StatusText(a.StatusCode))))
	b := &body{ctx: ctx, cancel: cancel, url: u, data: a.Body, size: a.ContentLength, stall: cmp.Or(s.Timeout, ftpexec.DefaultTimeout),
		pace: pace.Pace{Rate: s.MinRate.Bytes, Over: cmp.Or(s.MinRate.Over, ftpexec.DefaultRateTime)}}
	if why := judge(a); why.meaning != nil {
		b.Close()
		return nil, fail(context.Background(), u, why.stage, s.Via.Refusal(a.StatusCode, why.reason, why.meaning))
	}
	if method == http.MethodGet && s.Notice != nil {
		s.noticed.Do(s.Notice)
	}
	t, _ := http.ParseTime(a.Header.Get("Last-Modified")) // or zero
	return &ftpexec.Response{Body: b, Size: a.ContentLength, ModTime: t.UTC(), URL: u}, nil
}

// authorize adds the login for the server, unless it is anonymous. It is not in the URL, which proxies log.
func (s *Source) authorize(ctx context.Context, r *http.Request, u *urlparse.URL) (err error) {
	password := u.Password.Value
	switch {
	case anonymous(u):
		return nil
	case strings.Contains(u.User.Value, ":"):
		return fmt.Errorf("%w: HTTP takes no user with a colon", ftpexec.ErrLogin)
	case !u.Password.Set && s.Credentials == nil:
		return ftpexec.ErrNoCredentials
	case !u.Password.Set:
		password, err = s.Credentials.Password(ctx, u.Host, u.User.Value)
	}
	r.SetBasicAuth(u.User.Value, password)
	return err
}

// trace shows no text of the proxy.
func (s *Source) trace(u *urlparse.URL, kind ftpexec.EventKind, flight int, text string) {
	if s.Trace != nil {
		s.Trace(ftpexec.Event{Kind: kind, Flight: flight, Text: text, Server: u.Address()})
	}
}

// fail returns err as an *ftpexec.Error of a request for u. If ctx has ended, that is the cause.
func fail(ctx context.Context, u *urlparse.URL, stage ftpexec.Stage, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return &ftpexec.Error{Stage: stage, Op: "GET", URL: u.Redacted(), Err: err}
}

// unanswered returns the error for a request without an answer.
func (s *Source) unanswered(ctx context.Context, u *urlparse.URL, err error) error {
	var known *proxy.Error
	var op *net.OpError
	var wait net.Error
	switch {
	case errors.As(err, &known):
		err = known
	case errors.As(err, &wait) && wait.Timeout():
		err = s.Via.Refusal(0, "no answer in time", ftpexec.ErrTimeout)
	case errors.As(err, &op) && op.Op == "dial":
		err = fmt.Errorf("%w: %w", ftpexec.ErrConnect, op)
	case op != nil, errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		err = s.Via.Refusal(0, "no answer: the connection was closed", ftpexec.ErrLost)
	default: // err quotes the proxy
		err = s.Via.Refusal(0, "its answer is not HTTP", proxy.ErrRefused)
	}
	return fail(ctx, u, ftpexec.StageConnect, err)
}

// A refusal is what an answer means that does not hold the file.
type refusal struct {
	stage   ftpexec.Stage
	reason  string
	meaning error
}

var (
	noFTP    = refusal{ftpexec.StageConnect, "it does not fetch ftp URLs itself", proxy.ErrRefused}
	notFound = refusal{ftpexec.StageTransfer, "not found", ftpexec.ErrNotFound}
	late     = refusal{ftpexec.StageTransfer, "the server does not answer in time", ftpexec.ErrTimeout}
)

// refusals has what a status means, or those that begin with a digit.
var refusals = map[int]refusal{
	400: noFTP, 405: noFTP, 501: noFTP, 404: notFound, 410: notFound, 408: late, 504: late,
	401: {ftpexec.StageLogin, "the server refuses the login", ftpexec.ErrLogin},
	403: {ftpexec.StageTransfer, "it refuses to fetch the file, or the server does", ftpexec.ErrRefused},
	407: {ftpexec.StageConnect, "its own login", proxy.ErrRefused},
	429: {ftpexec.StageTransfer, "it has too many requests", ftpexec.ErrTooMany},
	3:   {ftpexec.StageTransfer, "it names another address, which is not followed", ftpexec.ErrRefused},
	5:   {ftpexec.StageTransfer, "it cannot fetch the file now", ftpexec.ErrConnect},
}

// judge returns what the answer means if it does not hold the file.
func judge(a *http.Response) refusal {
	why, known := refusals[a.StatusCode]
	if !known {
		why, known = refusals[a.StatusCode/100]
	}
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	ext := strings.ToLower(path.Ext(strings.TrimSuffix(a.Request.URL.Opaque, ";type=i")))
	listing := kind == "text/html" && a.Header.Get("Last-Modified") == "" && ext != ".html" && ext != ".htm"
	switch {
	case known:
		return why
	case a.StatusCode != http.StatusOK:
		return refusal{ftpexec.StageTransfer, "its answer makes no sense", ftpexec.ErrProtocol}
	case listing || a.Header.Get("X-Squid-Error") != "": // squid marks its pages
		return refusal{ftpexec.StageTransfer, "it sends a page of its own, not the file: the URL may name a directory", ftpexec.ErrNotFound}
	case a.Request.Method == http.MethodGet && a.ContentLength < 0 && len(a.TransferEncoding) == 0:
		return refusal{ftpexec.StageTransfer, "it tells neither the length of the file nor its end, so nothing would show that the file is complete", ftpexec.ErrProtocol}
	}
	return refusal{}
}

// body is the Body of a Response. One goroutine reads it; any may close it.
type body struct {
	ctx     context.Context
	cancel  context.CancelFunc
	url     *urlparse.URL
	data    io.ReadCloser
	n, size int64 // bytes that came and that must come; -1: up to the end that the proxy marks
	stall   time.Duration
	pace    pace.Pace
	err     error // how reading ended: io.EOF or an *ftpexec.Error
}

// Read returns io.EOF only at the end that the proxy announced.
func (b *body) Read(p []byte) (int, error) {
	if b.err != nil || len(p) == 0 {
		return 0, b.err
	}
	begun, limit := time.Now(), min(b.stall, b.pace.Left())
	timer := time.AfterFunc(limit, b.cancel)
	n, err := b.data.Read(p)
	inTime := timer.Stop()
	b.n += int64(n)
	slow := b.pace.Count(n, time.Since(begun))
	switch {
	case err == nil && slow == nil && inTime:
		return n, nil
	case err == io.EOF && (b.size < 0 || b.n == b.size):
		b.err = io.EOF
		return n, b.err
	case err == io.EOF, errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("%w: cut off after %d bytes", ftpexec.ErrTruncated, b.n)
	case slow != nil:
		err = fmt.Errorf("%w: %w", ftpexec.ErrTimeout, slow)
	case !inTime:
		err = fmt.Errorf("%w: no data for %v", ftpexec.ErrTimeout, limit)
	default:
		err = fmt.Errorf("%w: after %d bytes", ftpexec.ErrLost, b.n)
	}
	b.err = fail(b.ctx, b.url, ftpexec.StageTransfer, err)
	b.Close()
	return n, b.err
}

// Close ends the transfer.
func (b *body) Close() error {
	b.cancel() // makes a Read return
	return b.data.Close()
}

package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/proxy"
	"example.com/ftpfetch/urlparse"
)

// answer is a proxy's answer to a request that it serves.
type answer struct {
	*http.Response
	modTime time.Time // of Last-Modified, in UTC; zero if there is none
	body    *body
}

// request sends a request for the file that u names, and returns the answer if its status is among want. span is the
// value of Range, or "". The caller must close the body.
func (g *gate) request(ctx context.Context, method string, u *urlparse.URL, span string, want ...int) (*answer, error) {
	target, host := absolute(u)
	inner, cancel := context.WithCancelCause(ctx)
	r := g.proxy.NewRequest(inner, method, target, host)
	// A copy in the proxy's cache is not what the server has now, and hides how the proxy resumes.
	r.Header.Set("Cache-Control", "no-cache")
	if span != "" {
		r.Header.Set("Range", span)
	}
	if err := g.authorize(ctx, r, u); err != nil {
		cancel(nil)
		return nil, err
	}
	g.traceRequest(u, r)
	resp, err := g.http.RoundTrip(r)
	if err != nil {
		cancel(nil)
		return nil, g.unanswered(ctx, u, err)
	}
	a := &answer{Response: resp, body: g.newBody(ctx, cancel, u, resp)}
	if t, err := http.ParseTime(resp.Header.Get("Last-Modified")); err == nil {
		a.modTime = t.UTC()
	}
	g.traceAnswer(u, a)
	if err := g.judge(a, u, want); err != nil {
		a.body.Close()
		return nil, err
	}
	return a, nil
}

// absolute returns u as a proxy gets it, with its authority. It has the type, because proxies choose one by the name
// otherwise: squid fetches names such as "x.txt" in ASCII type, which changes bytes.
func absolute(u *urlparse.URL) (target, host string) {
	v := *u
	v.User, v.Password, v.Type = urlparse.Text{}, urlparse.Text{}, urlparse.TypeImage
	target = v.String()
	host, _, _ = strings.Cut(strings.TrimPrefix(target, "ftp://"), "/")
	return target, host
}

// authorize adds the login for the server, unless it is anonymous. It is not written into the URL, which proxies log.
func (g *gate) authorize(ctx context.Context, r *http.Request, u *urlparse.URL) (err error) {
	if anonymous(u) {
		return nil
	}
	user, password := u.User.Value, u.Password.Value
	switch {
	case strings.Contains(user, ":"):
		err = fmt.Errorf("%w: HTTP takes no user with a colon", ftpexec.ErrLogin)
	case !u.Password.Set && g.Client.Credentials == nil:
		err = ftpexec.ErrNoCredentials
	case !u.Password.Set:
		password, err = g.Client.Credentials.Password(ctx, u.Host, user)
	}
	if err != nil {
		return g.failure(ctx, u, ftpexec.StageLogin, err)
	}
	r.Header.Set("Authorization", proxy.Basic(user, password))
	return nil
}

// unanswered returns the error for a request without an answer.
func (g *gate) unanswered(ctx context.Context, u *urlparse.URL, err error) error {
	err = g.proxy.Failure(err)
	var e *proxy.Error
	if !errors.As(err, &e) {
		return g.failure(ctx, u, ftpexec.StageConnect, fmt.Errorf("%w: %w", ftpexec.ErrConnect, err))
	}
	v := *e
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		v.Err = ftpexec.ErrTimeout
	case errors.Is(err, io.ErrUnexpectedEOF):
		v.Err = ftpexec.ErrLost
	}
	return g.failure(ctx, u, ftpexec.StageConnect, &v)
}

// judge returns the error that the answer means, or nil if its status is wanted.
func (g *gate) judge(a *answer, u *urlparse.URL, want []int) error {
	for _, status := range want {
		switch {
		case a.StatusCode != status:
		case status/100 != 2, !page(a):
			return nil
		default:
			return g.notTheFile(u)
		}
	}
	if a.StatusCode == http.StatusProxyAuthRequired {
		return g.failure(context.Background(), u, ftpexec.StageConnect, g.proxy.LoginRefused())
	}
	stage, reason, meaning := means(a.StatusCode)
	err := &proxy.Error{Proxy: g.proxy.String(), Reason: fmt.Sprintf("%s (HTTP status %d)", reason, a.StatusCode), Status: a.StatusCode, Err: meaning}
	return g.failure(context.Background(), u, stage, err)
}

func (g *gate) notTheFile(u *urlparse.URL) error {
	err := &proxy.Error{
		Proxy: g.proxy.String(), Status: http.StatusOK, Err: ftpexec.ErrNotFound,
		Reason: "it sends a page of its own, not the file: the URL may name a directory",
	}
	return g.failure(context.Background(), u, ftpexec.StageTransfer, err)
}

// page reports whether a successful answer is a page that the proxy wrote, such as the listing of a directory. Squid
// marks its own. A listing in HTML has no time.
func page(a *answer) bool {
	if a.Header.Get("X-Squid-Error") != "" {
		return true
	}
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	ext := strings.ToLower(path.Ext(strings.TrimSuffix(a.Request.URL.Opaque, ";type=i")))
	return kind == "text/html" && a.modTime.IsZero() && ext != ".html" && ext != ".htm"
}

// means returns what a status means that is not a success.
func means(status int) (stage ftpexec.Stage, reason string, meaning error) {
	switch status {
	case http.StatusUnauthorized:
		return ftpexec.StageLogin, "the server refuses the login", ftpexec.ErrLogin
	case http.StatusForbidden:
		return ftpexec.StageTransfer, "it refuses to fetch the file, or the server does", ftpexec.ErrRefused
	case http.StatusNotFound, http.StatusGone:
		return ftpexec.StageTransfer, "not found", ftpexec.ErrNotFound
	case http.StatusRequestTimeout, http.StatusGatewayTimeout:
		return ftpexec.StageTransfer, "the server does not answer in time", ftpexec.ErrTimeout
	case http.StatusTooManyRequests:
		return ftpexec.StageTransfer, "it has too many requests", ftpexec.ErrTooMany
	case http.StatusBadRequest, http.StatusMethodNotAllowed, http.StatusNotImplemented:
		return ftpexec.StageConnect, "it does not fetch ftp URLs itself", proxy.ErrRefused
	}
	switch status / 100 {
	case 3:
		return ftpexec.StageTransfer, "it names another address, which is not followed", ftpexec.ErrRefused
	case 5:
		return ftpexec.StageTransfer, "it cannot fetch the file now", ftpexec.ErrConnect
	}
	return ftpexec.StageTransfer, "its answer makes no sense", ftpexec.ErrProtocol
}

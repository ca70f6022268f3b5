// Package ftphttp retrieves what FTP URLs name for programs that use net/http.
//
//	t := &http.Transport{}
//	t.RegisterProtocol("ftp", &ftphttp.Transport{})
//	c := &http.Client{Transport: t}
//	r, err := c.Get("ftp://ftp.example.org/pub/x")
package ftphttp

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"mime"
	"net/http"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/lazy"
	"example.com/ftpfetch/urlparse"
)

// Transport is an [http.RoundTripper] for the schemes ftp, ftps and ftpes: [http.Transport.RegisterProtocol] takes one
// for each. The zero value is ready to use.
//
// GET of a file sends what [ftpexec.Client.Do] sends. A request for a range gets 206, or 416 beyond the end. It gets
// the whole file, with 200, if Range has several ranges, the file's size is unknown, its type is ASCII, the server
// refuses REST, If-Range is not the date of Last-Modified, or that date is less than a day ago. GET of a directory (a
// URL that ends in "/" or ";type=d") gets its names, one on each line. HEAD sends what [ftpexec.Client.Stat] sends.
//
// Preconditions are compared with the time of a file (RFC 9110 section 13). If one fails, the response is 412, or 304
// without a transfer. There are no entity tags, so If-Match and If-None-Match match only with "*". If
// If-Unmodified-Since cannot be compared, a request for a range gets the whole file.
//
// A Body of a known length returns its last byte only after the server has confirmed that the transfer is complete; the
// last Read fails if it is not. Close, or the end of the request's context between two Reads, keeps the connection for
// the next request if it can, as [ftpexec.Response] says.
//
// If the server refuses, the Response has the error in one line as its body. Status 401 asks for another login (Basic),
// 403 means access denied or TLS required, 404 no such file or directory, 503 too many connections or another refusal
// for the moment (a reply from 400 to 499, RFC 959 section 4.2), and 502 another refusal (500 to 599). If there is no
// reply, or an unexpected one, RoundTrip fails with an *[ftpexec.Error] or a *[urlparse.Error]. No response and no
// error shows a password.
//
// The login comes from the request's Authorization (Basic), or else from its URL; after a redirect only the URL counts.
// An http.Client follows a redirect from any web server to any FTP URL, with the login that Client.Credentials gives
// for it; CheckRedirect can refuse that. In a URL "?" is part of a name, and "%2F" and ";type=i" mean what RFC 1738
// says. A "?" in a login must be written %3F. In a [url.URL] that is made by hand, a ";" or "/" in a name needs
// RawPath.
type Transport struct {
	// Client retrieves the files. nil means that the Transport uses a Client of its own, with the defaults.
	Client *ftpexec.Client

	own ftpexec.Client
}

// RoundTrip answers req. Any number of goroutines may call it.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req == nil {
		return nil, errors.New("ftphttp: no request")
	}
	if req.Body != nil {
		defer req.Body.Close()
	}
	u, err := requested(req)
	if err != nil {
		return nil, err
	}
	r, err := answer(t.client(), req, u)
	status := statusOf(err)
	switch {
	case status != 0:
		r = message(status, err.Error()+"\n")
	case err != nil:
		return nil, err
	}
	if status == http.StatusUnauthorized {
		r.Header.Set("WWW-Authenticate", `Basic realm="`+u.Address()+`"`)
	}
	if req.Method == http.MethodHead {
		r.Body = http.NoBody
	}
	r.Request = req
	return r, nil
}

// CloseIdleConnections closes the connections that the Client keeps for further requests, with QUIT. An [http.Client]
// whose Transport is t calls it; an [http.Transport] with which t is registered does not.
func (t *Transport) CloseIdleConnections() { t.client().CloseIdleConnections() }

func (t *Transport) client() *ftpexec.Client { return cmp.Or(t.Client, &t.own) }

// answer returns the response to req. RoundTrip makes a response of an error that has a status.
func answer(c *ftpexec.Client, req *http.Request, u *urlparse.URL) (r *http.Response, err error) {
	ctx := req.Context()
	isGet := req.Method == http.MethodGet || req.Method == ""
	if !isGet && req.Method != http.MethodHead {
		return notAllowed(), nil
	}
	// Conditions come first, because most are there to save a transfer.
	if !isGet || conditional(req.Header) && !u.IsDir() {
		r, err = head(ctx, c, u)
		r = judged(r, req.Header)
		if !isGet || err == nil && r.StatusCode != http.StatusOK || err != nil && !refused(err) {
			return r, err
		}
	}
	r, err = whole(ctx, c, u, req.Header)
	return judged(r, req.Header), err
}

// whole returns the response to GET without regard to preconditions.
func whole(
	ctx context.Context, c *ftpexec.Client, u *urlparse.URL, asked http.Header,
) (*http.Response, error) {
	if u.IsDir() {
		return list(ctx, c, u)
	}
	return get(ctx, c, u, asked)
}

// notAllowed returns the response to a method that FTP does not have.
func notAllowed() *http.Response {
	r := message(http.StatusMethodNotAllowed, "an FTP URL allows GET and HEAD\n")
	r.Header.Set("Allow", "GET, HEAD")
	return r
}

// odd matches the octets that a URL may contain only escaped, and "?", which ends a path for net/url.
var odd = lazy.Regexp("[^!-~]|[\"#<>?[\\\\\\]^`{|}]")

// requested returns the URL of req, with the login of its Authorization.
func requested(req *http.Request) (*urlparse.URL, error) {
	v := *cmp.Or(req.URL, &url.URL{})
	login := v.User
	// The host is v.Host or none.
	v.User = nil
	v.OmitHost = false
	v.Opaque = strings.TrimLeft(v.Opaque, "/")
	if path, err := url.PathUnescape(v.RawPath); err == nil && path == v.Path {
		v.RawPath = escape(v.RawPath) // with an odd octet EscapedPath would not use it
	}
	v.RawQuery = strings.ReplaceAll(escape(v.RawQuery), "@", "%40") // otherwise "u?p" would be a login
	u, err := urlparse.Parse(v.String())
	if err != nil {
		return nil, err
	}
	u.User = login
	if user, password, ok := req.BasicAuth(); ok && !redirected(req, login) {
		u.User = url.UserPassword(user, password)
	}
	return u, u.Check()
}

// escape escapes the odd octets of a part of a URL.
func escape(text string) string { return odd().ReplaceAllStringFunc(text, url.PathEscape) }

// redirected reports whether an http.Client has set the Authorization of req: from login, the login of its URL, or
// because it repeats after a redirect the one that was meant for another server.
func redirected(req *http.Request, login *url.Userinfo) bool {
	user, password, _ := req.BasicAuth()
	known, _ := login.Password()
	return req.Response != nil || login != nil && user == login.Username() && password == known
}

// head asks about a file or a directory. A file whose size the server does not give may be a directory, for which GET
// gets 404.
func head(ctx context.Context, c *ftpexec.Client, u *urlparse.URL) (*http.Response, error) {
	e, err := c.Stat(ctx, u)
	if err != nil {
		return nil, err
	}
	if u.IsDir() && !e.Mode.IsDir() {
		return message(http.StatusNotFound, u.Redacted()+": not a directory\n"), nil
	}
	if !u.IsDir() && e.Size < 0 {
		found, err := c.Stat(ctx, u.Child("", ""))
		switch {
		case found.Mode.IsDir():
			return message(http.StatusNotFound, u.Redacted()+": a directory\n"), nil
		case err != nil && statusOf(err) == 0:
			return nil, err
		}
	}
	return respond(http.StatusOK, u, e.Size, e.ModTime, http.NoBody), nil
}

func list(ctx context.Context, c *ftpexec.Client, u *urlparse.URL) (*http.Response, error) {
	var names strings.Builder
	for e, err := range c.List(ctx, u) {
		if err != nil {
			return nil, err
		}
		names.WriteString(path.Base(e.Name) + "\n")
	}
	return message(http.StatusOK, names.String()), nil
}

// message returns a response with lines of text.
func message(status int, lines string) *http.Response {
	contents := io.NopCloser(strings.NewReader(lines))
	return respond(status, nil, int64(len(lines)), time.Time{}, contents)
}

// respond returns a response with length bytes of the file that u names, or of text. -1 and the zero modTime are
// unknown.
func respond(
	status int, u *urlparse.URL, length int64, modTime time.Time, contents io.ReadCloser,
) *http.Response {
	r := &http.Response{
		StatusCode:    status,
		Status:        fmt.Sprintf("%d %s", status, http.StatusText(status)),
		Proto:         "HTTP/1.0", // as http.NewFileTransport says: no HTTP was spoken
		ProtoMajor:    1,
		Header:        make(http.Header),
		ContentLength: length,
		Body:          contents,
	}
	r.Header.Set("Content-Type", "text/plain; charset=utf-8")
	r.Header.Set("Date", time.Now().UTC().Format(http.TimeFormat))
	if length >= 0 {
		r.Header.Set("Content-Length", strconv.FormatInt(length, 10))
	}
	if u != nil && !u.IsDir() {
		kind := mime.TypeByExtension(path.Ext(u.Name))
		r.Header.Set("Content-Type", cmp.Or(kind, "application/octet-stream"))
		if length >= 0 {
			r.Header.Set("Accept-Ranges", "bytes")
		}
	}
	modified(r, modTime)
	return r
}

// modified adds the time of a file, unless it is unknown.
func modified(r *http.Response, modTime time.Time) {
	if !modTime.IsZero() {
		r.Header.Set("Last-Modified", modTime.UTC().Format(http.TimeFormat))
	}
}

// statusOf returns the status for err, or 0 if err comes from no reply of the server, or from an unexpected one.
func statusOf(err error) int {
	e, ok := errors.AsType[*ftpexec.Error](err)
	if !ok {
		return 0
	}
	// ErrNoCredentials follows a 331 or 332.
	if e.Code == 0 && !errors.Is(err, ftpexec.ErrNoCredentials) {
		return 0
	}
	i := slices.IndexFunc(statuses, func(v verdict) bool {
		return v.err != nil && errors.Is(err, v.err) || v.codes != "" && v.matches(e)
	})
	if i < 0 {
		return 0
	}
	return statuses[i].status
}

// verdict is the status for an error, or for replies.
type verdict struct {
	err    error
	codes  string        // the first digits of the replies; "" if err decides
	stage  ftpexec.Stage // of the replies; "" for any
	status int
}

func (v verdict) matches(e *ftpexec.Error) bool {
	return strings.HasPrefix(strconv.Itoa(e.Code), v.codes) && (v.stage == "" || v.stage == e.Stage)
}

// statuses has the statuses for errors and replies. The first match counts.
var statuses = []verdict{
	// For these errors the last reply decides nothing.
	{err: context.Canceled},
	{err: context.DeadlineExceeded},
	{err: ftpexec.ErrProtocol},
	{err: ftpexec.ErrTruncated},
	{err: ftpexec.ErrTLSRequired, status: http.StatusForbidden},
	{err: ftpexec.ErrTooMany, status: http.StatusServiceUnavailable},
	// Also for a request with a password: another password may be right.
	{err: ftpexec.ErrLogin, status: http.StatusUnauthorized},
	{err: ftpexec.ErrNoCredentials, status: http.StatusUnauthorized},
	{err: fs.ErrNotExist, status: http.StatusNotFound},
	{err: ftpexec.ErrIsDirectory, status: http.StatusNotFound},
	{err: fs.ErrPermission, status: http.StatusForbidden},
	{codes: "550", stage: ftpexec.StageDirectory, status: http.StatusNotFound},
	{codes: "550", stage: ftpexec.StageTransfer, status: http.StatusForbidden},
	{codes: "530", status: http.StatusUnauthorized},
	{codes: "4", status: http.StatusServiceUnavailable},
	{codes: "5", status: http.StatusBadGateway},
}

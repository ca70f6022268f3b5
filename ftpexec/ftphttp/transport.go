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
	"math"
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
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// Transport is an [http.RoundTripper] for the schemes ftp, ftps and ftpes: [http.Transport.RegisterProtocol] takes one for
// each. The zero value is ready to use.
//
// GET of a file sends what [ftpexec.Client.Do] sends. A range is 206, or 416 beyond the end. The file comes whole, with 200,
// if Range has several, its size is unknown, its type is ASCII, the server refuses REST, or If-Range is not the date of
// Last-Modified, or that is less than a day ago; other preconditions are ignored. The last Read of a Body fails if the transfer was short; Close before
// the end of the file closes the connection. GET of a directory (a URL that ends in "/" or ";type=d") is its names, one on
// each line. HEAD sends what [ftpexec.Client.Stat] sends.
//
// A refusal by the server is a Response whose body is the error in one line: 401 asks for another login (Basic), 403 is
// access denied or TLS required, 404 no such file or directory, 503 too many connections or another reply 4yz, and 502
// another reply 5yz. RoundTrip fails if there is no answer, or one that makes no sense, with an *[ftpexec.Error] or a
// *[urlparse.Error]. Nothing shows a password.
//
// The login is that of the request's Authorization (Basic), or else of its URL; after a redirect only the URL counts. An
// http.Client follows a redirect of any web server to any FTP URL, with the login that Client.Credentials gives for it;
// CheckRedirect can refuse that. In a URL "?" is part of a name, and "%2F" and ";type=i" mean what RFC 1738 says. A "?" in a
// login must be written %3F. In a [url.URL] that is made by hand, a ";" or "/" in a name needs RawPath.
type Transport struct {
	// Client retrieves. nil means a Client of the Transport's own, with its defaults.
	Client *ftpexec.Client

	own ftpexec.Client
}

// RoundTrip answers req. Any number of goroutines may call it.
func (t *Transport) RoundTrip(req *http.Request) (r *http.Response, err error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	u, err := requested(req)
	if err != nil {
		return nil, err
	}
	ctx, c, isHead := req.Context(), cmp.Or(t.Client, &t.own), req.Method == http.MethodHead
	switch {
	case !isHead && req.Method != http.MethodGet && req.Method != "":
		r = message(http.StatusMethodNotAllowed, "an FTP URL allows GET and HEAD\n")
		r.Header.Set("Allow", "GET, HEAD")
	case isHead:
		r, err = head(ctx, c, u)
	case u.IsDir():
		r, err = list(ctx, c, u)
	default:
		r, err = get(ctx, c, u, req.Header.Get("Range"), req.Header.Values("If-Range"))
	}
	switch status := statusOf(err); {
	case status != 0:
		r = message(status, err.Error()+"\n")
		if status == http.StatusUnauthorized {
			r.Header.Set("WWW-Authenticate", `Basic realm="`+u.Address()+`"`)
		}
	case err != nil:
		return nil, err
	}
	r.Request = req
	if isHead {
		r.Body = http.NoBody
	}
	return r, nil
}

// odd matches the octets that a URL has only escaped, and "?", which ends a path for net/url.
var odd = lazy.Regexp("[^!-~]|[\"#<>?[\\\\\\]^`{|}]")

// requested returns the URL of req, with the login of its Authorization. An http.Client that follows a redirect repeats
// the Authorization for the server that it came from, which was not meant for this one.
func requested(req *http.Request) (*urlparse.URL, error) {
	v := *cmp.Or(req.URL, &url.URL{})
	login := v.User
	v.User, v.OmitHost, v.Opaque = nil, false, strings.TrimLeft(v.Opaque, "/") // the host is v.Host or none
	if path, err := url.PathUnescape(v.RawPath); err == nil && path == v.Path {
		v.RawPath = odd().ReplaceAllStringFunc(v.RawPath, url.PathEscape) // with an odd octet EscapedPath would not use it
	}
	v.RawQuery = strings.ReplaceAll(odd().ReplaceAllStringFunc(v.RawQuery, url.PathEscape), "@", "%40") // or "u?p" is a login
	u, err := urlparse.Parse(v.String())
	if err != nil {
		return nil, err
	}
	u.User = login
	user, password, ok := req.BasicAuth()
	if known, _ := login.Password(); ok && req.Response == nil && (login == nil || user != login.Username() || password != known) {
		u.User = url.UserPassword(user, password) // else an http.Client may have made it from login
	}
	return u, u.Check()
}

func head(ctx context.Context, c *ftpexec.Client, u *urlparse.URL) (*http.Response, error) {
	e, err := c.Stat(ctx, u)
	if err == nil && u.IsDir() && !e.Mode.IsDir() {
		return message(http.StatusNotFound, u.Redacted()+": not a directory\n"), nil
	}
	return respond(http.StatusOK, u, e.Size, e.ModTime, nil), err
}

// rangeOf returns the part of a file that Range asks for: from first up to end, or the last -first bytes if first is
// negative. Without an end it is all of it, because Range is to be ignored.
func rangeOf(field string) (first, end int64) {
	text, known := strings.CutPrefix(field, "bytes=")
	from, to, one := strings.Cut(text, "-")
	a, noFirst := position(from)
	b, noLast := position(to)
	switch {
	case !known || !one:
	case from == "" && noLast == nil:
		return -b, 0
	case to == "" && noFirst == nil:
		return a, math.MaxInt64
	case noFirst == nil && noLast == nil && a <= b:
		return a, b + 1
	}
	return 0, 0
}

// position reads a number of Range. One that is too large for a file counts as the largest, with room for the byte after it.
func position(digits string) (int64, error) {
	n, err := strconv.ParseUint(digits, 10, 63)
	if errors.Is(err, strconv.ErrRange) {
		err = nil
	}
	return int64(min(n, math.MaxInt64-1)), err
}

// get answers a GET of a file, or of the part that the fields Range and If-Range ask for. It asks for the part before it
// knows the size, which saves a round trip.
func get(ctx context.Context, c *ftpexec.Client, u *urlparse.URL, part string, dates []string) (*http.Response, error) {
	first, end := rangeOf(part)
	refused := func(err error) bool {
		return errors.Is(err, ftpexec.ErrNotFound) || errors.Is(err, ftpexec.ErrRefused) || errors.Is(err, ftpexec.ErrNoRestart)
	}
	if first < 0 {
		e, err := c.Stat(ctx, u)
		if err != nil && !refused(err) {
			return nil, err
		}
		end = max(0, e.Size) // 0: the server may send the file all the same
		first = max(0, end+first)
	}
	from := first
	r, err := c.Do(ctx, &ftpexec.Request{URL: u, Offset: from})
	if from > 0 && refused(err) { // as some servers do beyond the end
		from = 0
		r, err = c.Do(ctx, &ftpexec.Request{URL: u})
	}
	if err != nil {
		return nil, err
	}
	a := respond(http.StatusOK, u, r.Size, r.ModTime, r.Body)
	switch ranged := end > 0 && r.Size > 0 && (dates == nil || strong(dates, r.ModTime)); {
	case ranged && first >= r.Size:
		r.Body.Close()
		a = message(http.StatusRequestedRangeNotSatisfiable, "the file has "+printable.Count(r.Size, "byte", "bytes")+"\n")
		a.Header.Set("Content-Range", fmt.Sprintf("bytes */%d", r.Size))
	case ranged && first == from:
		end = min(end, r.Size)
		a = respond(http.StatusPartialContent, u, end-from, r.ModTime, r.Body)
		a.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, end-1, r.Size))
		if end < r.Size {
			a.Body = body{io.LimitReader(r.Body, end-from), r.Body}
		}
	case from > 0:
		r.Body.Close()
		return get(ctx, c, u, "", nil)
	}
	return a, nil
}

// settled is how long ago the time of a file must be for it to be a strong validator. The server's clock may not be that of
// this machine, and some servers tell their local time.
const settled = 24 * time.Hour

// strong reports whether If-Range has a date that shows that the file is the one that the client knows (RFC 9110 section
// 13.1.5): the file's time, if that is a strong validator. A file may change twice in a second, so it is one only if the time
// was long ago when it was told (section 8.8.2.2).
func strong(dates []string, modTime time.Time) bool {
	return !modTime.IsZero() && time.Since(modTime) >= settled && slices.Equal(dates, []string{modTime.UTC().Format(http.TimeFormat)})
}

type body struct {
	io.Reader
	io.Closer
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
	return respond(status, nil, int64(len(lines)), time.Time{}, io.NopCloser(strings.NewReader(lines)))
}

// respond returns a response with length bytes of the file that u names, or of text. -1 and the zero modTime are unknown.
func respond(status int, u *urlparse.URL, length int64, modTime time.Time, contents io.ReadCloser) *http.Response {
	r := &http.Response{StatusCode: status, Status: fmt.Sprintf("%d %s", status, http.StatusText(status)), ContentLength: length, Body: contents,
		Header: http.Header{"Content-Type": {"text/plain; charset=utf-8"}, "Date": {time.Now().UTC().Format(http.TimeFormat)}},
		Proto:  "HTTP/1.0", ProtoMajor: 1} // as http.NewFileTransport says: no HTTP was spoken
	if u != nil && !u.IsDir() {
		r.Header.Set("Content-Type", cmp.Or(mime.TypeByExtension(path.Ext(u.Name)), "application/octet-stream"))
		if length >= 0 {
			r.Header.Set("Accept-Ranges", "bytes")
		}
	}
	if length >= 0 {
		r.Header.Set("Content-Length", strconv.FormatInt(length, 10))
	}
	if !modTime.IsZero() {
		r.Header.Set("Last-Modified", modTime.UTC().Format(http.TimeFormat))
	}
	return r
}

// statusOf returns the status for err, or 0 if it is not an answer of the server, or one that makes no sense.
func statusOf(err error) int {
	e := (*ftpexec.Error)(nil)
	is := func(target error) bool { return errors.Is(err, target) }
	switch {
	case is(context.Canceled), is(context.DeadlineExceeded): // the reply that came last decides nothing
		return 0
	case !errors.As(err, &e) || e.Code == 0 && !is(ftpexec.ErrNoCredentials), is(ftpexec.ErrProtocol), is(ftpexec.ErrTruncated): // that follows a 331 or 332
		return 0
	case is(ftpexec.ErrTLSRequired):
		return http.StatusForbidden
	case is(ftpexec.ErrTooMany):
		return http.StatusServiceUnavailable
	case is(ftpexec.ErrLogin), is(ftpexec.ErrNoCredentials): // with a password too: another one may be right
		return http.StatusUnauthorized
	case is(fs.ErrNotExist), is(ftpexec.ErrIsDirectory), e.Code == 550 && e.Stage == "directory" && !is(fs.ErrPermission):
		return http.StatusNotFound
	case is(fs.ErrPermission), e.Code == 550 && e.Stage == "transfer":
		return http.StatusForbidden
	case e.Code == 530:
		return http.StatusUnauthorized
	case e.Code/100 == 4:
		return http.StatusServiceUnavailable
	case e.Code/100 == 5:
		return http.StatusBadGateway
	}
	return 0
}

package ftpexec

import (
	"context"
	"errors"
	"io"
	"net/http"
	"slices"

	"example.com/ftpfetch/urlparse"
)

// Transport is an [http.RoundTripper] for the schemes ftp, ftps and ftpes: programs that use net/http can retrieve files
// from FTP servers with it. The zero value is ready to use.
//
//	ftp := &ftpexec.Transport{}
//	t := &http.Transport{}
//	for _, scheme := range []string{"ftp", "ftps", "ftpes"} {
//		t.RegisterProtocol(scheme, ftp)
//	}
//	c := &http.Client{Transport: t}
//	r, err := c.Get("ftp://ftp.example.org/pub/file")
//
// RoundTrip answers GET and HEAD. A GET sends what [Client.Do] sends. HEAD of a file opens no data connection; it says
// what SIZE and MDTM say. Range and the preconditions (If-None-Match and the like) ask for size and time first, which takes
// a round trip more.
//
// # Errors
//
// A refusal by the server is a Response whose body is the error in one line:
//
//	401  the login is refused, with or without a password; WWW-Authenticate asks for another one (Basic)
//	403  access is denied, or the server requires TLS
//	404  no such file or directory
//	502  another refusal with reply 5yz
//	503  too many connections, no service (421), or another refusal with reply 4yz
//
// RoundTrip fails if there is no answer, or one that makes no sense. The error is an *[Error] or a *[urlparse.Error]; an
// [http.Client] wraps it in a *[url.Error]. Any method but GET and HEAD gets 405. No answer and no error shows a password.
//
// # Files
//
// A file has Content-Length, Last-Modified, a weak ETag and Accept-Ranges as far as the server tells its size and time.
// Content-Type comes from the name. [http.ServeContent] decides about preconditions and ranges: one range is 206 (REST, RFC
// 3659 section 5), or 416 beyond the end. The file comes whole, with 200, if several ranges are asked for, the range is
// malformed, the size is unknown, the type is ASCII, or the server refuses REST. If-Range works with the date of
// Last-Modified; a weak ETag never matches (RFC 9110 section 13.1.5).
//
// The last Read of a Body fails if the transfer was short, as that of a [Response] does. Reading to io.EOF keeps the
// connection for the next request; Close before that closes it, and so does the end of a range that is not the end of the
// file.
//
// # Directories
//
// A directory (a URL that ends in "/" or ";type=d") is text/plain, one name on each line, or application/json, an array of
// [Entry], whichever Accept prefers. If the array lacks an entry that is not understood, the last Read fails with
// [ErrLine].
//
// # URLs and logins
//
// The login is that of the request's Authorization (Basic), or else of its URL. An http.Client without such a header
// makes it from the URL; then the URL counts. After a redirect only the URL counts.
//
// An http.Client follows a redirect of any web server to any FTP URL: another host, one of the local network, a port that
// package urlparse allows, with the login that Client.Credentials gives for it. CheckRedirect can refuse that.
//
// Package urlparse reads the URL that package net/url has taken apart: "?" is part of a name, and "%2F" and ";type=i"
// mean what RFC 1738 says. What net/url forgets cannot be refused any more: an empty fragment ("#" at the end), an empty
// port (":" after the host), escapes in a host, and the octets "~", ":" and "@" unencoded in a user name or password. A "?"
// in a login must be written %3F. In a [url.URL] that is made by hand, a ";" or "/" in a name needs RawPath.
type Transport struct {
	// Client retrieves. nil means a Client of the Transport's own, with its defaults.
	Client *Client

	own Client
}

func (t *Transport) client() *Client {
	if t.Client != nil {
		return t.Client
	}
	return &t.own
}

// CloseIdleConnections closes the connections that are kept for further requests. The method of the same name of an
// [http.Client] calls it if t is its Transport, but not if t is registered with an [http.Transport].
func (t *Transport) CloseIdleConnections() { t.client().CloseIdleConnections() }

// RoundTrip answers req. Any number of goroutines may call it.
func (t *Transport) RoundTrip(req *http.Request) (*http.Response, error) {
	if req.Body != nil {
		defer req.Body.Close()
	}
	a, err := t.answer(req)
	if err != nil {
		return nil, err
	}
	return a.response(req), nil
}

// answer returns the answer to req. The error is one that no status can express.
func (t *Transport) answer(req *http.Request) (*answer, error) {
	if req.Method != "" && req.Method != http.MethodGet && req.Method != http.MethodHead {
		a := newAnswer()
		a.header.Set("Allow", "GET, HEAD")
		http.Error(a, "an FTP URL allows GET and HEAD", http.StatusMethodNotAllowed)
		return a, nil
	}
	u, err := requested(req)
	if err != nil {
		return nil, err
	}
	a := (*answer)(nil)
	if u.IsDir() {
		a, err = t.directory(req, u)
	} else {
		a, err = t.file(req.Context(), req.Method, u, req.Header.Clone())
	}
	if status := statusOf(err); status != 0 {
		a = newAnswer()
		if status == http.StatusUnauthorized {
			a.header.Set("WWW-Authenticate", `Basic realm="`+u.Address()+`"`)
		}
		http.Error(a, err.Error(), status)
		return a, nil
	}
	return a, err
}

// preconditions are the fields of a request for which the size and time of the file must be known first.
var preconditions = []string{"Range", "If-Match", "If-None-Match", "If-Modified-Since", "If-Unmodified-Since"}

// file returns the answer for the file that u names. It owns header, that of the request.
func (t *Transport) file(ctx context.Context, method string, u *urlparse.URL, header http.Header) (a *answer, err error) {
	c := t.client()
	s, err := c.take(ctx, u)
	if err != nil {
		return nil, err
	}
	a, head := &answer{status: http.StatusOK}, method == http.MethodHead
	if head || slices.ContainsFunc(preconditions, func(name string) bool { return header.Get(name) != "" }) {
		a, err = s.foresee(ctx, u, head, header)
	}
	if err != nil || head || !a.sends() {
		c.put(s)
		return a, err
	}
	r, err := s.Do(ctx, &Request{URL: u, Offset: a.offset})
	if err != nil {
		c.put(s)
		if errors.Is(err, ErrNoRestart) {
			return t.whole(ctx, method, u, header)
		}
		return nil, err
	}
	a = decide(header, u, Entry{Size: r.Size, ModTime: r.ModTime})
	if a.sends() && a.offset == r.Offset {
		return a.with(r), nil
	}
	r.Body.Close()
	if a.sends() { // the file has another size by now: what was asked for is elsewhere
		return t.whole(ctx, method, u, header)
	}
	return a, nil
}

// foresee returns the answer that the size and time call for, without a data connection. If the server does not tell them,
// it may send the file all the same: then a transfer decides.
func (s *session) foresee(ctx context.Context, u *urlparse.URL, head bool, header http.Header) (*answer, error) {
	info, err := s.Stat(ctx, u)
	unsure := !head && (errors.Is(err, ErrNotFound) || errors.Is(err, errTransfer))
	if head || unsure { // RFC 9110 section 14.2; and a size that RETR tells comes too late
		header.Del("Range")
	}
	switch {
	case unsure:
		return &answer{status: http.StatusOK}, nil
	case err != nil:
		return nil, err
	}
	return decide(header, u, info), nil
}

// whole is file without Range.
func (t *Transport) whole(ctx context.Context, method string, u *urlparse.URL, header http.Header) (*answer, error) {
	header.Del("Range")
	return t.file(ctx, method, u, header)
}

// with gives the answer the file as its body.
func (a *answer) with(r *Response) *answer {
	a.body = r.Body
	if a.status == http.StatusPartialContent && r.Offset+a.length < r.Size {
		a.body = &part{r.Body, a.length}
	}
	return a
}

// part is the first left bytes of a body, which it closes after them.
type part struct {
	io.ReadCloser
	left int64
}

func (p *part) Read(b []byte) (int, error) {
	if p.left == 0 {
		return 0, io.EOF
	}
	n, err := p.ReadCloser.Read(b[:min(int64(len(b)), p.left)])
	if p.left -= int64(n); p.left == 0 {
		p.Close()
		return n, io.EOF
	}
	return n, err
}

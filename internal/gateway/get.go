package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/proxy"
	"example.com/ftpfetch/urlparse"
)

// open retrieves a file from offset on.
func (g *gate) open(ctx context.Context, u *urlparse.URL, offset int64) (*ftpexec.Response, error) {
	if offset != 0 {
		return g.openRest(ctx, u, offset)
	}
	a, err := g.request(ctx, http.MethodGet, u, "", http.StatusOK)
	if err != nil {
		return nil, err
	}
	if err := g.ends(a, u); err != nil {
		a.body.Close()
		return nil, err
	}
	g.notice()
	return &ftpexec.Response{Body: a.body, Size: a.ContentLength, ModTime: a.modTime, URL: u}, nil
}

// ends returns an error if nothing would show that the body is complete: neither a length nor chunks.
func (g *gate) ends(a *answer, u *urlparse.URL) error {
	if a.ContentLength >= 0 || len(a.TransferEncoding) > 0 {
		return nil
	}
	err := &proxy.Error{
		Proxy: g.proxy.String(), Status: http.StatusOK, Err: ftpexec.ErrProtocol,
		Reason: "it tells neither the length of the file nor its end, so nothing would show that the file is complete",
	}
	return g.failure(context.Background(), u, ftpexec.StageTransfer, err)
}

// openRest retrieves the rest of a file, from offset on.
func (g *gate) openRest(ctx context.Context, u *urlparse.URL, offset int64) (*ftpexec.Response, error) {
	ok, err := g.restarts.by(u, func() (bool, error) { return g.lastByte(ctx, u) })
	if err != nil {
		return nil, err
	}
	if !ok || offset < 0 {
		return nil, g.noRestart(u)
	}
	a, err := g.request(ctx, http.MethodGet, u, fmt.Sprintf("bytes=%d-", offset),
		http.StatusPartialContent, http.StatusOK, http.StatusRequestedRangeNotSatisfiable)
	if err != nil {
		return nil, err
	}
	p, ok := parsePart(a.Header.Get("Content-Range"))
	r := &ftpexec.Response{Body: a.body, Offset: offset, Size: p.size, ModTime: a.modTime, URL: u}
	switch {
	case ok && a.StatusCode == http.StatusRequestedRangeNotSatisfiable && p.empty() && p.size <= offset:
		r.Body = io.NopCloser(strings.NewReader("")) // as REST beyond the end
		a.body.Close()
	case !ok || a.StatusCode != http.StatusPartialContent || p.first != offset || !p.toEnd() || a.ContentLength >= 0 && a.ContentLength != p.len():
		a.body.Close()
		return nil, g.noRestart(u)
	}
	a.body.size = p.len()
	g.notice()
	return r, nil
}

func (g *gate) noRestart(u *urlparse.URL) error {
	return g.failure(context.Background(), u, ftpexec.StageTransfer, fmt.Errorf("%w: %s does not send the rest of it", ftpexec.ErrNoRestart, g.proxy))
}

// lastByte reports whether the proxy sends the last byte of a file if it is asked for that. Squid does not (5.7): of a
// file that it resumes by FTP, it passes over the first bytes twice. From the middle on that leaves nothing, which tells
// such proxies from others.
func (g *gate) lastByte(ctx context.Context, u *urlparse.URL) (bool, error) {
	a, err := g.request(ctx, http.MethodGet, u, "bytes=-1", http.StatusPartialContent, http.StatusOK)
	if err != nil {
		return false, err
	}
	defer a.body.Close()
	p, ok := parsePart(a.Header.Get("Content-Range"))
	if a.StatusCode != http.StatusPartialContent || !ok || p.len() != 1 || !p.toEnd() {
		return false, nil
	}
	a.body.size = 1
	_, err = io.Copy(io.Discard, a.body)
	if err == nil || !errors.Is(err, ftpexec.ErrTruncated) {
		return err == nil, err
	}
	g.trace(u, ftpexec.EventNote, 0, "the proxy sends less than the end of a file that it announces: no transfer resumes through it")
	return false, nil
}

// stat asks for the size and time of a file.
func (g *gate) stat(ctx context.Context, u *urlparse.URL) (ftpexec.Entry, error) {
	a, err := g.request(ctx, http.MethodHead, u, "", http.StatusOK)
	var e *proxy.Error
	unserved := errors.As(err, &e) && (e.Status == http.StatusMethodNotAllowed || e.Status == http.StatusNotImplemented)
	switch {
	case err != nil && !unserved:
		return ftpexec.Entry{}, err
	case err == nil:
		a.body.Close()
	}
	if err != nil || a.ContentLength < 0 && a.modTime.IsZero() {
		// Perhaps the proxy has not looked.
		if a, err = g.request(ctx, http.MethodGet, u, "", http.StatusOK); err != nil {
			return ftpexec.Entry{}, err
		}
		a.body.Close()
	}
	return ftpexec.Entry{Name: u.Name, Base: u.Name, URL: u, Size: a.ContentLength, ModTime: a.modTime}, nil
}

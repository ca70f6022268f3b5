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
	"example.com/ftpfetch/internal/network/proxy"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// verdict is what an answer without the file means.
type verdict struct {
	stage, reason string
	meaning       error // nil: it holds the file
}

// verdicts are those on statuses that have one of their own.
var verdicts = func() map[int]verdict {
	noFTP := verdict{"connect", "it does not fetch ftp URLs itself", proxy.ErrRefused}
	gone := verdict{"transfer", "not found", ftpexec.ErrNotFound}
	late := verdict{"transfer", "the server does not answer in time", ftpexec.ErrTimeout}
	return map[int]verdict{
		400: noFTP, 405: noFTP, 407: noFTP, 501: noFTP,
		404: gone, 410: gone,
		408: late, 504: late,
		401: {"login", "the server refuses the login", ftpexec.ErrLogin},
		403: {"transfer", "it refuses to fetch the file, or the server does", ftpexec.ErrRefused},
		429: {"transfer", "it has too many requests", ftpexec.ErrTooMany},
	}
}()

// judge returns the verdict on an answer.
func judge(a *http.Response) verdict {
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	ext := strings.ToLower(path.Ext(strings.TrimSuffix(a.Request.URL.Opaque, ";type=i")))
	listing := kind == "text/html" && a.Header.Get("Last-Modified") == "" && ext != ".html" && ext != ".htm"
	known, ok := verdicts[a.StatusCode]
	switch status := a.StatusCode; {
	case ok:
		return known
	case status/100 == 3:
		return verdict{"transfer", "it names another address, which is not followed", ftpexec.ErrRefused}
	case status/100 == 5:
		return verdict{"transfer", "it cannot fetch the file now", ftpexec.ErrConnect}
	case status != 200:
		return verdict{"transfer", "its answer makes no sense", ftpexec.ErrProtocol}
	case listing || a.Header.Get("X-Squid-Error") != "": // squid marks its pages
		return verdict{"transfer", "it sends a page of its own, not the file: the URL may name a directory", ftpexec.ErrNotFound}
	case a.Request.Method == http.MethodGet && a.ContentLength < 0 && len(a.TransferEncoding) == 0:
		return verdict{"transfer", "it tells neither the length of the file nor its end, so nothing would show that the file is complete",
			ftpexec.ErrProtocol}
	}
	return verdict{}
}

// body is the Body of a Response. One goroutine reads it; any may close it.
type body struct {
	io.ReadCloser // ends with io.EOF only where the proxy said that it would
	source        *Source
	ctx           context.Context
	url           *urlparse.URL
	leave         func() // the proxy needs its connection to the server no more
	n             int64  // bytes that came
	err           error  // how reading ended: io.EOF or an *ftpexec.Error

	// Of the default Client.MinRate, 10200 bytes in ten minutes; a higher one does not hold for GET. The time begins
	// again whenever so many have come.
	enough int64
	waited time.Duration
}

func (b *body) Close() error {
	defer b.leave()
	return b.ReadCloser.Close()
}

func (b *body) Read(p []byte) (n int, err error) {
	if b.err != nil || len(p) == 0 {
		return 0, b.err
	}
	wait := b.source.http.ResponseHeaderTimeout
	timer := time.AfterFunc(wait, func() { b.Close() })
	began := time.Now()
	n, err = b.ReadCloser.Read(p)
	b.n += int64(n)
	b.waited += time.Since(began)
	if b.n >= b.enough {
		b.enough = b.n + 10200
		b.waited = 0
	}
	inTime := timer.Stop() && (b.waited < 10*time.Minute || b.source.MinRate.Bytes < 0)
	came := printable.Count(b.n, "byte", "bytes")
	switch {
	case err == nil && inTime:
		return n, nil
	case err == io.EOF:
		b.err = err
		b.leave()
		return n, err
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("%w: cut off after %s", ftpexec.ErrTruncated, came)
	case !inTime:
		err = fmt.Errorf("%w: no data for %v, or fewer than 17 bytes per second", ftpexec.ErrTimeout, wait)
	default:
		err = fmt.Errorf("%w: after %s", ftpexec.ErrLost, came)
	}
	b.err = b.source.fail(b.ctx, b.url, "transfer", err)
	b.Close()
	return n, b.err
}

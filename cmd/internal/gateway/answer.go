package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/network/proxy"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// verdict is the meaning of an answer.
type verdict struct {
	stage   ftpexec.Stage
	reason  string
	meaning error // nil: the answer has the file
}

// verdicts has the statuses with a meaning of their own.
var verdicts = func() map[int]verdict {
	noFTP := verdict{ftpexec.StageConnect, "it does not fetch ftp URLs itself", proxy.ErrRefused}
	gone := verdict{ftpexec.StageTransfer, "not found", ftpexec.ErrNotFound}
	late := verdict{ftpexec.StageTransfer, "the server does not answer in time", ftpexec.ErrTimeout}
	return map[int]verdict{
		400: noFTP, 405: noFTP, 407: noFTP, 501: noFTP,
		404: gone, 410: gone,
		408: late, 504: late,
		401: {ftpexec.StageLogin, "the server refuses the login", ftpexec.ErrLogin},
		403: {ftpexec.StageTransfer, "it refuses to fetch the file, or the server does", ftpexec.ErrRefused},
		429: {ftpexec.StageTransfer, "it has too many requests", ftpexec.ErrTooMany},
	}
}()

// judge returns the verdict on an answer.
func judge(a *http.Response) verdict {
	known, ok := verdicts[a.StatusCode]
	switch {
	case ok:
		return known
	case a.StatusCode == 200:
		return judgeFile(a)
	case a.StatusCode/100 == 3:
		return failed("it names another address, which is not followed", ftpexec.ErrRefused)
	case a.StatusCode/100 == 5:
		return failed("it cannot fetch the file now", ftpexec.ErrConnect)
	}
	return failed("its answer makes no sense", ftpexec.ErrProtocol)
}

// judgeFile is judge for status 200, which may also come with a page of the proxy's own. squid marks such pages.
func judgeFile(a *http.Response) verdict {
	noLength := a.Request.Method == http.MethodGet && a.ContentLength < 0
	switch {
	case isListing(a) || a.Header.Get("X-Squid-Error") != "":
		return failed("it sends a page of its own, not the file: the URL may name a directory",
			ftpexec.ErrNotFound)
	case noLength && len(a.TransferEncoding) == 0:
		return failed("it gives neither the length of the file nor its end, "+
			"so nothing would show that the file is complete", ftpexec.ErrProtocol)
	case noLength && strings.HasPrefix(a.Header.Get("Server"), "Apache"):
		return failed("it does not give the length of the file, "+
			"and Apache ends a file that the server breaks off like a complete one", ftpexec.ErrProtocol)
	case !isAsOnServer(a):
		return failed("it sends the file in an encoding that was not asked for", ftpexec.ErrProtocol)
	}
	return verdict{}
}

// failed returns the verdict on an answer without the file, because the transfer failed.
func failed(reason string, meaning error) verdict {
	return verdict{ftpexec.StageTransfer, reason, meaning}
}

// endings are the names of compressed files. Squid gives their encoding in the header and sends them as they are.
var endings = map[string][]string{
	"":           {""},
	"identity":   {""},
	"gzip":       {".gz", ".tgz", ".z"},
	"x-gzip":     {".gz", ".tgz", ".z"},
	"compress":   {".z", ".gz", ".taz"},
	"x-compress": {".z", ".gz", ".taz"},
	"bzip2":      {".bz2", ".tbz"},
	"x-bzip2":    {".bz2", ".tbz"},
	"zstd":       {".zst"},
	"br":         {".br"},
}

// isAsOnServer reports whether an answer has the file as it is on the server: without an encoding, or with the one that
// its name shows.
func isAsOnServer(a *http.Response) bool {
	name := strings.ToLower(strings.TrimSuffix(a.Request.URL.Opaque, ";type=i"))
	encoding := strings.ToLower(strings.TrimSpace(a.Header.Get("Content-Encoding")))
	return slices.ContainsFunc(endings[encoding], func(ending string) bool { return strings.HasSuffix(name, ending) })
}

// isListing reports whether an answer is a directory listing that the proxy turned into a page.
func isListing(a *http.Response) bool {
	kind, _, _ := mime.ParseMediaType(a.Header.Get("Content-Type"))
	name := strings.TrimSuffix(a.Request.URL.Opaque, ";type=i")
	ext := strings.ToLower(path.Ext(name))
	page := ext == ".html" || ext == ".htm"
	return kind == "text/html" && a.Header.Get("Last-Modified") == "" && !page
}

// body is the Body of a Response. One goroutine reads it; any may close it.
type body struct {
	io.ReadCloser // returns io.EOF only at the announced end
	source        *Source
	ctx           context.Context
	url           *urlparse.URL
	leave         func() // the proxy no longer needs its connection to the server
	seen          *answer
	chunked       bool
	n             int64 // bytes read so far
	err           error // how reading ended: io.EOF or an *ftpexec.Error

	// enough and waited enforce the default Client.MinRate, as so many bytes in that time. GET ignores a higher one.
	// The time starts again whenever that many bytes have arrived.
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
	b.count(n, time.Since(began))
	inTime := timer.Stop() && (b.waited < ftpexec.DefaultMinRateTime || b.source.MinRate < 0)
	came := printable.Count(b.n, "byte", "bytes")
	switch {
	case err == nil && inTime:
		return n, nil
	case err == io.EOF:
		b.leave()
		b.err = b.end()
		return n, b.err
	case errors.Is(err, io.ErrUnexpectedEOF):
		err = fmt.Errorf("%w: cut off after %s", ftpexec.ErrTruncated, came)
	case !inTime:
		err = fmt.Errorf("%w: no data for %v, or fewer than 17 bytes per second",
			ftpexec.ErrTimeout, wait)
	default:
		err = fmt.Errorf("%w: after %s", ftpexec.ErrLost, came)
	}
	b.err = b.source.fail(b.ctx, b.url, ftpexec.StageTransfer, err)
	b.Close()
	return n, b.err
}

// count adds n bytes that arrived after a wait.
func (b *body) count(n int, wait time.Duration) {
	b.n += int64(n)
	b.waited += wait
	if b.n >= b.enough {
		b.enough = b.n + ftpexec.DefaultMinRate*int64(ftpexec.DefaultMinRateTime/time.Second)
		b.waited = 0
	}
}

// end returns io.EOF, or an error if the body is not as long as announced: in its header, or in an earlier answer about
// the file.
func (b *body) end() error {
	announced, came := b.seen.length, b.n
	var err error
	if announced < 0 {
		announced, err = b.source.announced(b.ctx, b.url, came)
	} else if !b.chunked {
		came = b.seen.came.Load() // net/http reads no further than the length
	}
	switch {
	case err != nil:
		return err
	case announced < 0, came == announced:
		return io.EOF
	case came < announced:
		err = fmt.Errorf("%w: the proxy sends %d of the %s that it announced",
			ftpexec.ErrTruncated, came, printable.Count(announced, "byte", "bytes"))
	default:
		err = fmt.Errorf("%w: the proxy sends more than the %s that it announced",
			ftpexec.ErrProtocol, printable.Count(announced, "byte", "bytes"))
	}
	return b.source.fail(b.ctx, b.url, ftpexec.StageTransfer, err)
}

// sizes are what a proxy has reported lately, by URL.
type sizes struct {
	mu sync.Mutex
	of map[string]int64
}

// mostSizes is how many sizes are kept. A file is fetched soon after its size was asked for.
const mostSizes = 1000

func (s *sizes) keep(u *urlparse.URL, size int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.of == nil || len(s.of) >= mostSizes {
		s.of = make(map[string]int64)
	}
	s.of[u.Key()] = size
}

// get returns the size that was reported of the file at u, or -1.
func (s *sizes) get(u *urlparse.URL) int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	if size, ok := s.of[u.Key()]; ok {
		return size
	}
	return -1
}

// announced returns the size that the proxy has reported of a file of which came bytes arrived in chunks, or -1. The file
// may have changed, so announced asks again if the two differ.
func (s *Source) announced(ctx context.Context, u *urlparse.URL, came int64) (int64, error) {
	size := s.sizes.get(u)
	if size < 0 || size == came {
		return size, nil
	}
	now, err := s.stat(ctx, u)
	return now.Size, err
}

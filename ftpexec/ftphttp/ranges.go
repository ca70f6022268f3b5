package ftphttp

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/printable"
	"example.com/ftpfetch/urlparse"
)

// conditional reports whether h has a precondition (RFC 9110 section 13.1) other than If-Range.
func conditional(h http.Header) bool {
	names := []string{"If-Match", "If-Unmodified-Since", "If-None-Match", "If-Modified-Since"}
	return slices.ContainsFunc(names, func(name string) bool { return h.Get(name) != "" })
}

// condition returns the status that the preconditions in h give to a file of this time, or 0 if they hold (RFC 9110
// section 13.2.2). The file has no entity tag, so of If-Match and If-None-Match only "*" matches it.
func condition(h http.Header, modTime time.Time) int {
	match := h.Get("If-Match")
	none := h.Get("If-None-Match")
	switch {
	case match != "" && match != "*",
		match == "" && newer(modTime, h.Get("If-Unmodified-Since")) > 0:
		return http.StatusPreconditionFailed
	case none == "*",
		none == "" && newer(modTime, h.Get("If-Modified-Since")) < 0:
		return http.StatusNotModified
	}
	return 0
}

// newer returns 1 if modTime is after the date of a field, -1 if it is not, and 0 if one of them is unknown.
func newer(modTime time.Time, field string) int {
	date, err := http.ParseTime(field)
	switch {
	case err != nil || modTime.IsZero():
		return 0
	case modTime.After(date):
		return 1
	}
	return -1
}

// judged returns r, or the response that the preconditions in h require in its place.
func judged(r *http.Response, h http.Header) *http.Response {
	if r == nil || r.StatusCode > 299 && r.StatusCode != http.StatusRequestedRangeNotSatisfiable {
		return r
	}
	modTime, _ := http.ParseTime(r.Header.Get("Last-Modified")) // or zero
	status := condition(h, modTime)
	if status == 0 {
		return r
	}
	r.Body.Close()
	a := message(status, "the file is not as a condition of the request says\n")
	if status == http.StatusNotModified { // it has no contents (RFC 9110 section 15.4.5)
		a.ContentLength = 0
		a.Body = http.NoBody
		a.Header = http.Header{"Date": a.Header["Date"]}
	}
	modified(a, modTime)
	return a
}

// rangeOf returns the part of a file that Range asks for: from first up to end, or the last -first bytes if first is
// negative. Both are 0 if Range must be ignored.
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

// position reads a number of Range. A number that is too large for a file becomes the largest that leaves room for the
// byte after it.
func position(digits string) (int64, error) {
	n, err := strconv.ParseUint(digits, 10, 63)
	if errors.Is(err, strconv.ErrRange) {
		err = nil
	}
	return int64(min(n, math.MaxInt64-1)), err
}

// refused reports whether a server may send the file in spite of err: as a whole, or although it gives no facts about
// it.
func refused(err error) bool {
	return errors.Is(err, ftpexec.ErrNotFound) || errors.Is(err, ftpexec.ErrRefused) ||
		errors.Is(err, ftpexec.ErrNoRestart)
}

// get answers a GET of a file, or of the part that h asks for. It asks for the part before it knows the size, which
// saves a round trip.
func get(
	ctx context.Context, c *ftpexec.Client, u *urlparse.URL, h http.Header,
) (*http.Response, error) {
	first, end, err := located(ctx, c, u, h.Get("Range"))
	if err != nil {
		return nil, err
	}
	from := first
	r, contents, err := open(ctx, c, u, from)
	if from > 0 && refused(err) { // as some servers do beyond the end
		from = 0
		r, contents, err = open(ctx, c, u, 0)
	}
	if err != nil {
		return nil, err
	}
	ranged := end > 0 && r.Size > 0 && divisible(h, r.ModTime)
	switch {
	case ranged && first >= r.Size:
		contents.Close()
		return beyond(r), nil
	case ranged && first == from:
		return partial(u, r, contents, min(end, r.Size)), nil
	case from > 0:
		contents.Close()
		return get(ctx, c, u, nil)
	}
	return respond(http.StatusOK, u, r.Size, r.ModTime, contents), nil
}

// located is like rangeOf, but first is always an offset. For the last bytes of a file, located asks the server for the
// size.
func located(
	ctx context.Context, c *ftpexec.Client, u *urlparse.URL, field string,
) (first, end int64, err error) {
	first, end = rangeOf(field)
	if first >= 0 {
		return first, end, nil
	}
	e, err := c.Stat(ctx, u)
	if err != nil && !refused(err) {
		return 0, 0, err
	}
	end = max(0, e.Size) // 0: the server may send the file all the same
	return max(0, end+first), end, nil
}

// beyond answers a request for a part after the end of a file.
func beyond(r *ftpexec.Response) *http.Response {
	size := printable.Count(r.Size, "byte", "bytes")
	a := message(http.StatusRequestedRangeNotSatisfiable, "the file has "+size+"\n")
	a.Header.Set("Content-Range", fmt.Sprintf("bytes */%d", r.Size))
	modified(a, r.ModTime)
	return a
}

// partial answers with the part of a file from the beginning of contents to end.
func partial(u *urlparse.URL, r *ftpexec.Response, contents *body, end int64) *http.Response {
	from := contents.at
	a := respond(http.StatusPartialContent, u, end-from, r.ModTime, contents)
	a.Header.Set("Content-Range", fmt.Sprintf("bytes %d-%d/%d", from, end-1, r.Size))
	if end < r.Size {
		a.Body = part{io.LimitReader(contents, end-from), contents}
	}
	return a
}

// settled is how long ago the time of a file must be for it to be a strong validator. The server's clock may differ
// from this machine's, and some servers give their local time.
const settled = 24 * time.Hour

// divisible reports whether a part of the file may be sent. If-Range must have a date that shows that the file is the
// one that the client knows (RFC 9110 section 13.1.5): the file's time, if that is a strong validator. A file may
// change twice in a second, so the time is a strong validator only if it was long past when the server gave it (section
// 8.8.2.2). If-Unmodified-Since must be a date that can be compared.
func divisible(h http.Header, modTime time.Time) bool {
	if since := h.Get("If-Unmodified-Since"); since != "" && newer(modTime, since) == 0 {
		return false
	}
	dates := h.Values("If-Range")
	if dates == nil {
		return true
	}
	strong := !modTime.IsZero() && time.Since(modTime) >= settled
	return strong && slices.Equal(dates, []string{modTime.UTC().Format(http.TimeFormat)})
}

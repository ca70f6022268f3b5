package ftpexec

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"mime"
	"net/http"
	"path"
	"strconv"
	"time"

	"example.com/ftpfetch/urlparse"
)

// answer is a response in the making. It is the http.ResponseWriter and the content for http.ServeContent, which knows all
// about ranges and preconditions, and finds no bytes in it.
type answer struct {
	header http.Header
	status int
	text   bytes.Buffer  // what ServeContent and http.Error write
	body   io.ReadCloser // in place of text, unless it is nil
	size   int64         // of the file
	offset int64         // where body begins in the file
	length int64         // of body, or text; -1 if unknown
}

func newAnswer() *answer {
	return &answer{header: http.Header{"Date": {time.Now().UTC().Format(http.TimeFormat)}}}
}

func (a *answer) Header() http.Header         { return a.header }
func (a *answer) WriteHeader(status int)      { a.status = status }
func (a *answer) Write(p []byte) (int, error) { return a.text.Write(p) }
func (a *answer) Read([]byte) (int, error)    { return 0, io.EOF }

// Seek takes the offset.
func (a *answer) Seek(offset int64, whence int) (int64, error) {
	if whence == io.SeekEnd {
		return a.size, nil
	}
	a.offset = offset
	return offset, nil
}

// sends reports whether bytes of the file follow.
func (a *answer) sends() bool {
	return a.status == http.StatusOK || a.status == http.StatusPartialContent
}

// oneRange matches the values of Range that http.ServeContent gets. Several ranges would need several transfers, and it
// answers "bytes=-0" with a wrong Content-Range.
var oneRange = lazy(`^bytes=(\d+-\d*|-\d*[1-9]\d*)$`)

// decide returns the answer to a request with header for a file of which info is known, without its body. It deletes a
// Range that is to be ignored.
func decide(header http.Header, u *urlparse.URL, info Entry) *answer {
	if info.Size <= 0 || !oneRange().MatchString(header.Get("Range")) {
		header.Del("Range")
	}
	a := newAnswer()
	a.size = max(0, info.Size)
	a.header.Set("Content-Type", cmp.Or(mime.TypeByExtension(path.Ext(u.Name)), "application/octet-stream"))
	if info.Size >= 0 && !info.ModTime.IsZero() {
		a.header.Set("ETag", fmt.Sprintf(`W/"%x-%x"`, info.Size, info.ModTime.Unix()))
	}
	http.ServeContent(a, &http.Request{Method: http.MethodHead, Header: header}, "", info.ModTime, a)
	switch {
	case a.status == http.StatusRequestedRangeNotSatisfiable && a.header.Get("Content-Range") == "": // malformed: "bytes=5-2"
		header.Del("Range")
		return decide(header, u, info)
	case a.sends() && info.Size < 0:
		a.header.Del("Accept-Ranges")
		a.header.Del("Content-Length")
		a.length = -1
	case a.sends():
		a.length, _ = strconv.ParseInt(a.header.Get("Content-Length"), 10, 64)
	}
	return a
}

// response returns the finished response to req.
func (a *answer) response(req *http.Request) *http.Response {
	if a.text.Len() > 0 {
		a.length = int64(a.text.Len())
		a.header.Set("Content-Length", strconv.FormatInt(a.length, 10))
	}
	switch {
	case req.Method == http.MethodHead || a.body == nil && a.text.Len() == 0:
		a.body = http.NoBody
	case a.body == nil:
		a.body = io.NopCloser(&a.text)
	}
	return &http.Response{
		Status: fmt.Sprintf("%d %s", a.status, http.StatusText(a.status)), StatusCode: a.status,
		Proto: "HTTP/1.0", ProtoMajor: 1, // as http.NewFileTransport says: no HTTP was spoken
		Header: a.header, Body: a.body, ContentLength: a.length, Request: req,
	}
}

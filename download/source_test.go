package download

import (
	"bytes"
	"context"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/rules/must"
)

// memorySource is a Source that another package might write: its Responses hold nothing but exported fields, and its Body
// is a plain io.ReadCloser.
type memorySource struct {
	Source   // nil: the tests ask for nothing else
	contents string
	progress chan int64 // if not nil, the second half comes after Progress has told the first
}

func (m memorySource) Do(_ context.Context, req *ftpexec.Request) (*ftpexec.Response, error) {
	half := len(m.contents) / 2
	var wait io.Reader = strings.NewReader("")
	if m.progress != nil {
		wait = untilTold{m.progress, int64(half)}
	}
	r := io.MultiReader(strings.NewReader(m.contents[req.Offset:half]), wait, strings.NewReader(m.contents[half:]))
	return &ftpexec.Response{
		Body: io.NopCloser(struct{ io.Reader }{r}), Size: int64(len(m.contents)), ModTime: kitTime,
	}, nil
}

// untilTold is an empty reader that ends when progress tells n.
type untilTold struct {
	progress <-chan int64
	n        int64
}

func (w untilTold) Read([]byte) (int, error) {
	for range 10 {
		if <-w.progress == w.n {
			return 0, io.EOF
		}
	}
	return 0, io.ErrNoProgress
}

// TestToFromAnotherSource checks that Progress follows what was written.
func TestToFromAnotherSource(t *testing.T) {
	file := must.Get(os.Create(t.TempDir() + "/f"))(t)
	defer file.Close()
	var buffer bytes.Buffer
	for _, w := range []io.Writer{&buffer, file} {
		synctest.Test(t, func(t *testing.T) {
			m := memorySource{contents: body, progress: make(chan int64, 100)}
			last := int64(-1)
			o := &Options{Events: onProgress(func(done, _ int64) {
				last = done
				m.progress <- done
			})}
			r, err := To(t.Context(), m, urlOf(t, "ftp://h/f"), w, o)
			if err != nil || r.Size != int64(len(body)) || last != r.Size {
				t.Errorf("%T: got %+v, %v, progress at the end %d", w, r, err, last)
			}
		})
	}
	if buffer.String() != body || read(t, file.Name()) != body {
		t.Error("the contents are not the source's")
	}
}

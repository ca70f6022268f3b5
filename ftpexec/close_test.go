package ftpexec_test

import (
	"errors"
	"io"
	"io/fs"
	"testing"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
	"example.com/ftpfetch/testserver"
)

// After Close, Read returns no text, even if it has come before.
func TestReadOfTextAfterClose(t *testing.T) {
	s := testserver.New(t, nil, testserver.Honest("one\r\ntwo\r\n"))
	for _, n := range []int{1, 4, 7} {
		r := must.Get(closing(t, new(ftpexec.Client)).Get(t.Context(), s.URL("/f;type=a")))(t)
		must.Get(io.ReadFull(r.Body, make([]byte, n)))(t)
		must.Do(t, r.Body.Close())
		if n, err := r.Body.Read(make([]byte, 10)); n != 0 || !errors.Is(err, fs.ErrClosed) {
			t.Errorf("got %d bytes, %v, want ErrClosed", n, err)
		}
	}
}

// Read after Close says that the Body is closed, whether the transfer was complete or not.
func TestReadAfterClose(t *testing.T) {
	for _, path := range []string{"/a/f", "/a/f;type=a"} {
		s := testserver.New(t, &testserver.Options{Tree: tree})
		c := closing(t, new(ftpexec.Client))
		for _, whole := range []bool{false, true} {
			r := must.Get(c.Get(t.Context(), s.URL(path)))(t)
			if whole {
				must.Get(io.ReadAll(r.Body))(t)
			}
			must.Do(t, r.Body.Close())
			must.Do(t, r.Body.Close())
			if n, err := r.Body.Read(make([]byte, 1)); n != 0 || !errors.Is(err, fs.ErrClosed) {
				t.Errorf("%s, whole %v: got %d bytes, %v, want ErrClosed", path, whole, n, err)
			}
			if w, ok := r.Body.(io.WriterTo); ok {
				if n, err := w.WriteTo(io.Discard); n != 0 || !errors.Is(err, fs.ErrClosed) {
					t.Errorf("%s, whole %v: WriteTo returns %d, %v, want ErrClosed", path, whole, n, err)
				}
			}
		}
	}
}

package download

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/testkit/must"
)

// TestContinueReplacesPart continues a target beside a useless part, and fails before the server sends a byte. No part
// may be left: by then it is only a copy of the target.
func TestContinueReplacesPart(t *testing.T) {
	half := body[:150_000]
	for what, spoil := range map[string]func(*kit){
		"of another file":     func(k *kit) { k.leaves("/g", 100_000) },
		"its journal damaged": func(k *kit) { k.leaves("/f", 100_000); k.write(k.json, "{") },
	} {
		k := newKit(t, map[string]string{"/f": body, "/g": noise(300_000, 3)})
		spoil(k)
		k.write("f", half)
		k.faulty(replies("RETR", "550 No"))
		if _, err := k.get("/f", Options{Existing: Continue}); !errors.Is(err, ftpexec.ErrRefused) {
			t.Errorf("%s: got %v, want ErrRefused", what, err)
		}
		k.want(map[string]string{"f": half})
		k.faulty(nil)
		if r, err := k.get("/f", Options{Existing: Continue}); err != nil || r.Resumed != 150_000 {
			t.Errorf("%s: then got %+v, %v", what, r, err)
		}
		k.want(map[string]string{"f": body})
	}
}

// TestContinueOverrun continues a file from a server that ignores REST, and the overlap happens to match. The run must
// trust none of the bytes, and leave the target as it was.
func TestContinueOverrun(t *testing.T) {
	text := alike()
	for what, first := range map[string]int{"at once": 0, "after a response that was lost": 1} {
		k := newKit(t, nil)
		k.write("f", text[:1<<20])
		s := &togetherSource{size: len(text)}
		s.answer = func(n int, offset int64) (io.Reader, error) {
			if n <= first {
				some := text[offset : 2<<20]
				return io.MultiReader(strings.NewReader(some), iotest.ErrReader(errGone)), nil
			}
			return strings.NewReader(text), nil
		}
		synctest.Test(t, func(t *testing.T) {
			must.Do(t, os.Chtimes(k.path("f"), kitTime, kitTime))
			_, err := File(t.Context(), s, k.url("/f"), k.path("f"), &Options{Existing: Continue})
			if !errors.Is(err, ErrResume) || !strings.Contains(err.Error(), "does not start where it is asked to") {
				t.Errorf("%s: got %v, want ErrResume", what, err)
			}
		})
		k.want(map[string]string{"f": text[:1<<20]})
	}
}

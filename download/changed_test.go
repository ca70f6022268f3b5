package download

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/ftpexec"
	"example.com/ftpfetch/internal/local/disk"
)

// meddler is a Source that calls meddle, another program, when half of the file has been sent. If claimed is set, it
// first waits until the journal claims that half.
type meddler struct {
	Source
	k       *kit
	claimed bool
	meddle  func(part string) error
}

func (m *meddler) Do(context.Context, *ftpexec.Request) (*ftpexec.Response, error) {
	half := len(body) / 2
	body := io.MultiReader(strings.NewReader(body[:half]), m, strings.NewReader(body[half:]))
	return &ftpexec.Response{Body: io.NopCloser(struct{ io.Reader }{body}), Size: int64(2 * half), ModTime: kitTime}, nil
}

// Read calls meddle and returns io.EOF. If claimed is set, it first waits until the journal claims the first half.
func (m *meddler) Read([]byte) (int, error) {
	claim := fmt.Sprintf("[0,%d,", len(body)/2)
	for {
		if text, err := os.ReadFile(m.k.path(m.k.json)); !m.claimed || err == nil && strings.Contains(string(text), claim) {
			return 0, cmp.Or(m.meddle(m.k.path(m.k.part)), io.EOF)
		}
		if m.k.Context().Err() != nil {
			return 0, m.k.Context().Err()
		}
		runtime.Gosched()
	}
}

// at returns a function that writes text into the part.
func at(offset int64, text string) func(string) error {
	return func(part string) error {
		f, err := os.OpenFile(part, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		_, err = f.WriteAt([]byte(text), offset)
		return errors.Join(err, f.Close())
	}
}

func cutTo(n int64) func(string) error {
	return func(part string) error {
		f, err := os.OpenFile(part, os.O_WRONLY, 0)
		if err != nil {
			return err
		}
		return errors.Join(f.Truncate(n), f.Close())
	}
}

// emptied empties the part without opening it.
func emptied(part string) error { return os.Truncate(part, 0) }

// TestPartIsChanged lets another program change the part during a download. No file with wrong bytes may get its name,
// and the same command must then fetch the file.
func TestPartIsChanged(t *testing.T) {
	half := int64(len(body) / 2)
	for what, tt := range map[string]struct {
		meddle func(string) error
		right  bool // the file is right nevertheless
	}{
		"emptied":        {cutTo(0), false},
		"cut to nothing": {emptied, false},
		"cut by a byte":  {cutTo(half - 1), false},
		"first byte":     {at(0, "\x00"), false},
		"a byte":         {at(half/2, "\x00"), false},
		"last byte":      {at(half-1, "\x00"), false},
		"zeros":          {at(0, strings.Repeat("\x00", int(half))), false},
		"the same bytes": {at(0, body[:half]), true},
		"longer":         {at(int64(len(body))+10, "more"), true},
		"removed":        {os.Remove, false},
		"replaced":       {func(part string) error { return errors.Join(os.Remove(part), os.WriteFile(part, []byte(body), 0o600)) }, false},
		"renamed":        {func(part string) error { return os.Rename(part, part+"~") }, false},
	} {
		for _, digests := range []bool{false, true} {
			k := newKit(t, map[string]string{"/f": body})
			o := Options{checkpoint: time.Millisecond}
			if digests {
				o.Sum = sum(t, "sha256:"+sha256Of(body))
			}
			_, err := File(t.Context(), &meddler{k.c, k, true, tt.meddle}, k.url("/f"), k.path("f"), &o)
			if (err == nil) != tt.right || err != nil && !errors.Is(err, ErrLocal) {
				t.Errorf("%s, digest %v: %v", what, digests, err)
			}
			if k.exists("f") != tt.right {
				t.Errorf("%s, digest %v: there is %q", what, digests, namesIn(t, k.dir))
			}
			if !tt.right {
				_, err = k.get("/f", o)
			}
			if err != nil || read(t, k.path("f")) != body {
				t.Errorf("%s, digest %v: then %v, %q", what, digests, err, namesIn(t, k.dir))
			}
		}
	}
}

// TestOneWriter starts a second run for the same target in the middle of the first, with and without locks. The second
// run completes the file, is cut off or is refused. No part may have two writers, and the file must be right.
func TestOneWriter(t *testing.T) {
	t.Cleanup(func() { disk.Fault = nil })
	for _, lock := range []error{nil, syscall.ENOLCK, syscall.EOPNOTSUPP, syscall.ENOSYS, syscall.EINVAL, syscall.EIO} {
		for _, name := range []string{"", "w"} {
			for _, second := range []failure{nil, cut(1, 0), cut(1, 1000), replies("RETR", "550 no")} {
				k := newKit(t, map[string]string{"/f": body})
				k.faulty(second)
				onCall(t, func(call, _ string) error {
					if call == "flock" {
						return lock
					}
					return nil
				})
				var other error
				_, err := File(t.Context(), &meddler{k.c, k, false, func(string) error {
					_, other = File(t.Context(), k.c, k.url("/f"), k.path("f"), &Options{Retries: -1, Attempt: name})
					return nil
				}}, k.url("/f"), k.path("f"), &Options{Attempt: name})
				if err != nil && (other != nil || !errors.Is(err, fs.ErrExist)) {
					t.Errorf("locks %v, name %q: %v, %v", lock, name, err, other)
				}
				if got := read(t, k.path("f")); got != body {
					t.Errorf("locks %v, name %q: the file has %d zeros, errors %v, %v", lock, name, strings.Count(got, "\x00"), err, other)
				}
				if lock != nil { // with locks, the part of the first run stays, because it was late
					wantNames(t, k.dir, "f")
				}
				k.Close()
			}
		}
	}
}

// TestSmallPartIsChanged lets another program cut a part at each call on the disk. The file is too small for a journal,
// so only the last check of its size, just before the rename, protects it.
func TestSmallPartIsChanged(t *testing.T) {
	t.Cleanup(func() { disk.Fault = nil })
	n := 0
	for at, more := 1, true; more; at++ {
		dir, last := t.TempDir(), ""
		calls := 0
		onCall(t, func(call, _ string) error {
			if calls++; calls == at {
				last = call
				_ = os.Truncate(dir+"/f.ftpfetch.part", 1)
			}
			return nil
		})
		_, err := File(t.Context(), memorySource{contents: fourKiB}, urlOf(t, "ftp://h/f"), dir+"/f", nil)
		disk.Fault = nil
		if more = calls >= at; last == renames {
			continue
		}
		n++
		if text, _ := os.ReadFile(dir + "/f"); err == nil && string(text) != fourKiB {
			t.Errorf("cut at call %d (%s): no error, and %d bytes", at, last, len(text))
		}
	}
	t.Logf("%d runs", n)
}

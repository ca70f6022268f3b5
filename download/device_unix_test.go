//go:build unix

package download

import (
	"context"
	"errors"
	"os"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/internal/rules/must"
)

// TestFIFOEnds ends the context while a FIFO has no reader, and while its reader does not read.
func TestFIFOEnds(t *testing.T) {
	cause := errors.New("enough")
	for _, reading := range []bool{false, true} {
		k := newKit(t, map[string]string{"/f": large})
		fifo := k.path("fifo")
		must.Do(t, syscall.Mkfifo(fifo, 0o600))
		if reading {
			f := must.Get(os.OpenFile(fifo, os.O_RDONLY|syscall.O_NONBLOCK, 0))(t)
			defer f.Close()
		}
		ctx, cancel := context.WithTimeoutCause(t.Context(), 4*readerInterval, cause)
		defer cancel()
		ends := func(err error) bool { return errors.Is(err, cause) || errors.Is(err, context.DeadlineExceeded) }
		if _, err := File(ctx, k.c, k.url("/f"), fifo, nil); !ends(err) {
			t.Errorf("a reader %v: got %v", reading, err)
		}
	}
}

// TestStandardOutput checks that /dev/stdout is written to at its current offset and never replaced.
func TestStandardOutput(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	f := must.Get(os.OpenFile(k.path("out"), os.O_RDWR|os.O_CREATE, 0o600))(t)
	defer f.Close()
	must.Get(f.WriteString("before "))(t)
	stdout := os.Stdout
	os.Stdout = f
	_, err := File(t.Context(), k.c, k.url("/f"), "/dev/stdout", &Options{Overwrite: true})
	os.Stdout = stdout
	if err != nil {
		t.Error(err)
	}
	k.want(map[string]string{"out": "before " + body})
}

// TestContinueOthers checks that another user's target stays as it is.
func TestContinueOthers(t *testing.T) {
	if os.Geteuid() != 0 {
		return
	}
	k := newKit(t, map[string]string{"/f": body})
	k.write("f", body[:1000])
	must.Do(t, os.Chown(k.path("f"), 65534, 65534))
	if _, err := k.get("/f", Options{Continue: true}); !errors.Is(err, ErrResume) {
		t.Errorf("another user's: got %v, want ErrResume", err)
	}
	k.want(map[string]string{"f": body[:1000]})
}

// TestDigestEnds ends the context while the digest of a file on the disk is computed, which can take seconds.
func TestDigestEnds(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	f := must.Get(os.Create(k.path("large")))(t)
	defer f.Close()
	must.Do(t, f.Truncate(1<<40))
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	time.AfterFunc(time.Millisecond, func() { cancel(cause) })
	if err := newCheck(sum(t, "crc32:00000000"), "").reach(ctx, f, 1<<40); !errors.Is(err, cause) {
		t.Errorf("got %v", err)
	}
}

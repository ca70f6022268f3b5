package download

import (
	"errors"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestSyncFails makes the disk lose bytes when the whole file is flushed. The system reports that once. The journal must
// not claim the bytes, although a later flush succeeds.
func TestSyncFails(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.leaves("/f", 100_000)
	failed := false
	onCall(t, func(call, path string) error {
		if call != "fsync" || path != k.path("f.ftpfetch.part") || failed {
			return nil
		}
		failed = true
		return syscall.EIO
	})
	r, err := k.get("/f", Options{checkpoint: time.Hour})
	if !errors.Is(err, syscall.EIO) || !errors.Is(err, ErrLocal) || r.Kept != 100_000 {
		t.Errorf("got %+v, %v, want EIO", r, err)
	}
	if done, octets := k.claims(); octets != 100_000 {
		t.Errorf("the journal claims %v", done)
	}
	if r, err := k.get("/f", Options{}); err != nil || r.Resumed != 100_000 {
		t.Errorf("then: %+v, %v", r, err)
	}
	k.want(map[string]string{"f": body})
}

// TestSyncFailsAtEnd makes a checkpoint fail that runs while the last bytes arrive.
func TestSyncFailsAtEnd(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	var all atomic.Bool
	var calls atomic.Int64
	begun, ended := make(chan struct{}), make(chan struct{})
	onCall(t, func(call, path string) error {
		if call != "fsync" || path != k.path("f.ftpfetch.part") || calls.Add(1) > 1 {
			return nil
		}
		close(begun)
		<-ended
		return syscall.EIO
	})
	o := Options{checkpoint: time.Millisecond}
	o.Events = onProgress(func(done, total int64) {
		if done == total && all.CompareAndSwap(false, true) { // after the last check of the health
			<-begun
			close(ended)
		}
	})
	if _, err := k.get("/f", o); !errors.Is(err, syscall.EIO) || k.exists("f") {
		t.Errorf("got %v, want EIO", err)
	}
}

// TestKept checks how many bytes a failed run reports as kept.
func TestKept(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.faulty(cut(1, 100_000))
	if r, err := k.get("/f", Options{Retries: -1}); err == nil || r.Kept != 100_000 {
		t.Errorf("cut: %+v, %v", r, err)
	}
	k.faulty(replies("RETR", "550 no"))
	if r, err := k.get("/f", Options{}); err == nil || r.Kept != 100_000 {
		t.Errorf("refused: %+v, %v", r, err)
	}
	if r, err := k.get("/f", Options{NoResume: true}); err == nil || r.Kept != 0 {
		t.Errorf("not resumed: %+v, %v", r, err)
	}
	if r, err := k.get("/f;type=a", Options{}); err == nil || r.Kept != 0 {
		t.Errorf("as text: %+v, %v", r, err)
	}
}

package download

import (
	"errors"
	"io"
	"os"
	"reflect"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// TestCommit checks what Commit is told, and when: the part is whole, and the target does not have its bytes yet.
// TestMatrix checks that no run ends with a target that Commit was not called for.
func TestCommit(t *testing.T) {
	digest := sum(t, "sha256:"+sha256Of(body))
	for what, tt := range map[string]struct {
		before func(*kit)
		path   string
		o      Options
	}{
		"new":       {path: "/f"},
		"empty":     {path: "/empty"},
		"text":      {path: "/f.txt;type=a"},
		"resumed":   {before: func(k *kit) { k.leaves("/f", 100_000) }, path: "/f"},
		"overwrite": {before: func(k *kit) { k.write("f", "old") }, path: "/f", o: Options{Overwrite: true}},
		"segments":  {path: "/large", o: Options{Segments: 3}},
		"digest":    {path: "/f", o: Options{Sum: digest}},
		"complete part of a killed run": {before: func(k *kit) {
			k.write("f.ftpfetch.part", body)
			k.write("f.ftpfetch.json", strings.Replace(k.journal("/f", 300_000, kitTime, span{0, 300_000}), `"done"`, `"complete":true,"done"`, 1))
		}, path: "/f", o: Options{Sum: digest}},
	} {
		k := newKit(t, matrixTree)
		if tt.before != nil {
			tt.before(k)
		}
		tt.o.Commit = func(r Result) error {
			if info, err := os.Stat(k.path("f.ftpfetch.part")); err != nil || info.Size() != r.Size || k.exists("f") && read(t, k.path("f")) != "old" {
				t.Errorf("%s: Commit comes too early or too late: %v", what, err)
			}
			return k.commit(r)
		}
		r, err := k.get(tt.path, tt.o)
		if err != nil || len(k.commits) != 1 || !reflect.DeepEqual(k.commits[0], r) {
			t.Errorf("%s: got %+v, %v, Commit was told %+v", what, r, err, k.commits)
		}
		if (r.Sum.String() == digest.String()) != (tt.o.Sum.Algorithm != "") {
			t.Errorf("%s: the digest is %v", what, r.Sum)
		}
	}
}

// TestCommitFails checks that an error of Commit is the run's, and that the next run resumes.
func TestCommitFails(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	full := errors.New("the list of files is full")
	r, err := k.get("/f", Options{Commit: func(Result) error { return full }})
	if err != full || r.Kept != int64(len(body)) {
		t.Errorf("got %+v, %v", r, err)
	}
	wantNames(t, k.dir, k.json, k.part)
	k.ResetCommands()
	if r, err := k.get("/f", Options{Commit: k.commit}); err != nil || r.Resumed < int64(len(body))-1 || len(k.commits) != 1 {
		t.Errorf("then: %+v, %v, commits %v", r, err, k.commits)
	}
	k.want(map[string]string{"f": body})
}

// TestNoCommit checks that Commit is not called if File gives no file its name.
func TestNoCommit(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.write("f", body)
	for _, o := range []Options{
		{Skip: true}, {Newer: true}, {Continue: true}, {Continue: true, Sum: sum(t, "sha256:"+sha256Of(body))},
		{Overwrite: true, Sum: sum(t, "crc32:00000000")}, {},
	} {
		o.Commit = k.commit
		r, err := k.get("/f", o)
		if (err == nil) != (r.Left != "") || (r.Verified != "") != (r.Sum.Algorithm != "") || r.Verified != "" && r.Sum.String() != o.Sum.String() {
			t.Errorf("%+v: got %+v, %v", o, r, err)
		}
	}
	o := &Options{Commit: k.commit, Overwrite: true}
	_, err := To(t.Context(), k.c, k.url("/f"), io.Discard, o)
	_, derr := File(t.Context(), k.c, k.url("/f"), os.DevNull, o)
	if err := errors.Join(err, derr); err != nil || len(k.commits) > 0 {
		t.Errorf("got %v, commits %+v", err, k.commits)
	}
}

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

package download

import (
	"context"
	"errors"
	"flag"
	"io"
	"io/fs"
	"os"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"example.com/ftpfetch/internal/local/disk"
	"example.com/ftpfetch/internal/testkit/night"
)

// TestCommit checks the argument of Commit and the time of the call: the part is complete, and the target does not have
// its bytes yet. TestMatrix checks that no file gets its name without a call of Commit.
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
		"overwrite": {before: func(k *kit) { k.write("f", "old") }, path: "/f", o: Options{Existing: Overwrite}},
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

// TestCommitFails checks that a run returns the error of Commit, and that the next run resumes.
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

// TestNoCommit checks that File does not call Commit if it names no file.
func TestNoCommit(t *testing.T) {
	k := newKit(t, map[string]string{"/f": body})
	k.write("f", body)
	for _, o := range []Options{
		{Existing: Skip}, {Existing: Newer}, {Existing: Continue}, {Existing: Continue, Sum: sum(t, "sha256:"+sha256Of(body))},
		{Existing: Overwrite, Sum: sum(t, "crc32:00000000")}, {},
	} {
		o.Commit = k.commit
		r, err := k.get("/f", o)
		if (err == nil) != (r.Left != "") || (r.Verified != "") != (r.Sum.Algorithm != "") || r.Verified != "" && r.Sum.String() != o.Sum.String() {
			t.Errorf("%+v: got %+v, %v", o, r, err)
		}
	}
	_, err := To(t.Context(), k.c, k.url("/f"), io.Discard, &Options{Commit: k.commit})
	if err == nil || len(k.commits) > 0 {
		t.Errorf("To: got %v, commits %+v", err, k.commits)
	}
}

// TestSyncFails makes the flush of the complete file fail, as when the disk loses bytes. The system reports that only
// once. The journal must not claim the bytes, although a later flush succeeds.
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

// TestSyncFailsAtEnd makes a checkpoint fail while the last bytes arrive.
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
		if done == total && all.CompareAndSwap(false, true) { // after the transfer's last call of Health
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

var togetherRounds = flag.Int("together.rounds", night.Or(4, 40), "rounds of TestTogether")

// TestTogether starts runs of all kinds at the same time with one target, from several states. The target must be one
// whole file, a run may fail only with a clear refusal, and no other file may be left.
func TestTogether(t *testing.T) {
	kinds := []Options{
		{}, {Segments: 4}, {Existing: Continue}, {Existing: Newer}, {Existing: Overwrite}, {Existing: Skip}, {NoResume: true}, {Sum: sum(t, "sha256:"+sha256Of(threeMiB))},
	}
	k := newKit(t, map[string]string{"/f": threeMiB})
	states := map[string]func(){
		"nothing": func() {},
		"half":    func() { k.write("f", threeMiB[:1<<20]) },
		"all":     func() { k.write("f", threeMiB) },
		"a part": func() {
			k.write("f.ftpfetch.part", threeMiB[:1<<20])
			k.write("f.ftpfetch.json", k.journal("/f", 3<<20, kitTime, span{0, 1 << 20}))
		},
	}
	runs, done, refused := 0, 0, 0
	for round := range *togetherRounds {
		for what, before := range states {
			k.dir = t.TempDir()
			before()
			errs := k.together(kinds, round)
			for i, err := range errs {
				runs++
				if err == nil {
					done++
				} else if refused++; !clear(err) {
					t.Errorf("%s: %+v: got %v", what, kinds[i], err)
				}
			}
			k.checkTogether(threeMiB, errs)
		}
	}
	t.Logf("%d runs: %d done, %d refused", runs, done, refused)
}

// together starts a run of each kind at the same moment.
func (k *kit) together(kinds []Options, round int) []error {
	errs := make([]error, len(kinds))
	start := make(chan struct{})
	var group sync.WaitGroup
	for i := range kinds {
		o := kinds[(i+round)%len(kinds)]
		o.checkpoint = time.Millisecond
		group.Go(func() {
			<-start
			_, errs[(i+round)%len(kinds)] = File(k.Context(), k.c, k.url("/f"), k.path("f"), &o)
		})
	}
	close(start)
	group.Wait()
	return errs
}

// clear reports whether err is a refusal with a clear reason.
func clear(err error) bool {
	return errors.Is(err, fs.ErrExist) || errors.Is(err, ErrResume) ||
		errors.Is(err, ErrLocal) && strings.Contains(err.Error(), "another run is writing it")
}

// checkTogether checks that there is one whole file, or that the earlier files are there if no run could use them.
func (k *kit) checkTogether(text string, errs []error) {
	k.Helper()
	if all := namesIn(k.T, k.dir); !slices.Equal(all, []string{"f"}) || read(k.T, k.path("f")) != text {
		k.Errorf("there is %q, errors %v", all, errs)
	}
}

// TestWithoutLocks starts a second run at every call on the disk of the first, on a system without locks. The second
// run gets the same or another version of the file, which may be cut short. The target must be one whole version, and
// no other file may be left.
func TestWithoutLocks(t *testing.T) {
	other := noise(len(body), 2)
	runs := 0
	t.Cleanup(func() { disk.Fault = nil })
	for i := range 16 {
		kinds := []Existing{"", Overwrite}
		first, second := Options{Existing: kinds[i&1]}, Options{Existing: kinds[i>>1&1]}
		changes, stopped := i&4 > 0, i&8 > 0
		for at, n := 1, 1; at <= n; at += *matrixEvery/4 + 1 {
			k := newKit(t, map[string]string{"/f": body})
			var serr error
			var calls atomic.Int64
			disk.Fault = func(call, _ string) error { // the second run is in the middle of a call of the first
				if int(calls.Add(1)) == at {
					if changes {
						k.change("/f", other, kitTime.Add(time.Second))
					}
					o := second
					if stopped {
						k.faulty(cut(1, 200_000))
						o.Retries = -1
					}
					_, serr = File(context.Background(), k.c, k.url("/f"), k.path("f"), &o)
					k.faulty(nil)
				}
				if call == "flock" {
					return errors.ErrUnsupported
				}
				return nil
			}
			_, err := k.get("/f", first)
			n = int(calls.Load())
			runs++
			if err != nil && serr != nil {
				t.Errorf("at call %d: no run is done: %v, %v", at, err, serr)
			}
			wantNames(t, k.dir, "f")
			if got := read(t, k.path("f")); got != body && got != other {
				t.Errorf("%+v, then at call %d %+v, changes %v, stopped %v: %d bytes of no version, errors %v, %v", first, at, second, changes, stopped, len(got), err, serr)
			}
			k.Close()
		}
	}
	t.Logf("%d runs", runs)
}

// TestSwept removes the part of an attempt just before the rename, because another attempt has completed the file. The
// first attempt must then find that file.
func TestSwept(t *testing.T) {
	for _, o := range []Options{{}, {Existing: Skip}, {Existing: Overwrite}} {
		k, commits := newKit(t, map[string]string{"/f": body}), 0
		o.Commit = func(Result) error {
			if commits++; commits == 1 {
				return errors.Join(os.Remove(k.path("f~w.ftpfetch.part")), os.WriteFile(k.path("f"), []byte(body), 0o600))
			}
			return nil
		}
		o.Attempt = "w"
		_, err := File(t.Context(), k.c, k.url("/f"), k.path("f"), &o)
		if errors.Is(err, fs.ErrExist) != (o.Existing != Skip && o.Existing != Overwrite) || read(t, k.path("f")) != body {
			t.Errorf("%+v: %v", o, err)
		}
		wantNames(t, k.dir, "f")
	}
}

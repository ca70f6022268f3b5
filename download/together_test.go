package download

import (
	"context"
	"errors"
	"flag"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"example.com/ftpfetch/internal/disk"
	"example.com/ftpfetch/internal/rules/night"
)

var togetherRounds = flag.Int("together.rounds", night.Or(4, 40), "rounds of TestTogether")

// TestTogether starts runs of all kinds at once on one name, from several states. One whole file must come out, a run
// may fail only with a clear refusal, and nothing may be left over.
func TestTogether(t *testing.T) {
	kinds := []Options{
		{}, {Segments: 4}, {Continue: true}, {Newer: true}, {Overwrite: true}, {Skip: true}, {NoResume: true}, {Sum: sum(t, "sha256:"+sha256Of(threeMiB))},
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

// clear reports whether err is a refusal that says what is in the way.
func clear(err error) bool {
	return errors.Is(err, fs.ErrExist) || errors.Is(err, ErrResume) ||
		errors.Is(err, ErrLocal) && strings.Contains(err.Error(), "another run writes it: wait for its end")
}

// checkTogether checks that there is one whole file, or the earlier files if no run could use them.
func (k *kit) checkTogether(text string, errs []error) {
	k.Helper()
	all := namesIn(k.T, k.dir)
	if !slices.Equal(all, []string{"f"}) || read(k.T, k.path("f")) != text {
		k.Errorf("there is %q, errors %v", all, errs)
	}
}

// TestWithoutLocks starts a second run at every call on the disk of a first where there are no locks, with the same or
// another version of the file, which may also be cut. The name belongs to one whole version, and nothing else is left.
func TestWithoutLocks(t *testing.T) {
	other := noise(len(body), 2)
	runs := 0
	t.Cleanup(func() { disk.Fault = nil })
	for i := range 16 {
		first, second := Options{Overwrite: i&1 > 0}, Options{Overwrite: i&2 > 0}
		changes, stopped := i&4 > 0, i&8 > 0
		for at, n := 1, 1; at <= n; at += *matrixEvery/4 + 1 {
			k := newKit(t, map[string]string{"/f": body})
			var serr error
			n = 0
			onCall(t, func(call, _ string) error {
				if n++; n == at {
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
			})
			_, err := k.get("/f", first)
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
